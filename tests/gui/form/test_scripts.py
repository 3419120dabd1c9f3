"""A user's scripts in the form: allowed once, listed as algorithms, with the fields of their own flags."""

import shlex
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog

from mosaic import config
from mosaic.cli.train import train
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.form import catalogue_model as catalogues
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.form_documents import command_line
from mosaic.gui.models.form.run_settings import ENV_ID, EXTRAS, LABEL, PARAMS, WORKER
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.scripts.allowed_folders import Allowed

FOLDER = Path(__file__).parents[2] / "foreign" / "manners"
PPO = str(FOLDER / "ppo.py")
ENVPOOL = str(FOLDER / "ppo_atari_envpool.py")


@pytest.fixture
def allowed(daemon_home):
    """The folder is allowed while the test runs; others expect our own algorithms only."""
    made = Allowed(daemon_home)
    made.add(FOLDER)
    yield made
    if FOLDER in made.folders():
        made.remove(FOLDER)


@pytest.fixture
def form(application, client, daemon_home, allowed):
    catalogue = CatalogueModel(DaemonLink(daemon_home))
    made = TrainForm(catalogue)
    made.catalogue_ = catalogue  # kept alive
    catalogue.take(catalogues.ask(client))
    return made


def test_the_fields_are_those_of_the_scripts_dataclass(form):
    form.use(PPO)
    assert form.fields[f"{PARAMS}.learning_rate"].value == 2.5e-4
    assert form.fields[f"{PARAMS}.wandb_entity"].setting.is_optional
    assert form.fields[f"{WORKER}.total_timesteps"].value == 2048
    assert form.fields[ENV_ID].value == "CartPole-v1"
    assert "ppo.py" in [section.title for section in form.sections]
    # What would do nothing is not offered.
    assert f"{EXTRAS}.checkpoint_interval_s" not in form.fields
    assert f"{EXTRAS}.capture_video" not in form.fields
    assert f"{PARAMS}.capture_video" in form.fields
    document = form.document()
    form.use("ppo")
    assert f"{EXTRAS}.checkpoint_interval_s" in form.fields
    assert form.fill(document) == []
    assert form.document() == document


def test_a_script_with_argparse_gets_a_field_for_its_flags(form):
    form.use(ENVPOOL)
    assert form.fields[f"{WORKER}.total_timesteps"].value == 128
    assert f"{PARAMS}.learning_rate" not in form.fields
    form.type(f"{PARAMS}.script_flags", "--learning-rate 1")
    assert command_line(form) == f"mosaic train --script {ENVPOOL} -- --learning-rate 1"


def test_what_a_script_sees_is_not_known_so_everything_is_offered(form):
    for env_id in ("ALE/Breakout-v5", "CartPole-v1", "Pendulum-v1"):
        assert form.catalogue_.fits(env_id, PPO)
    assert not form.catalogue_.fits("ALE/Breakout-v5", "ppo")


def test_the_command_line_makes_the_same_document(form, daemon_home, monkeypatch):
    monkeypatch.setenv("MOSAIC_HOME", str(daemon_home.root))
    form.use(PPO)
    form.type(LABEL, "a label")
    form.type(f"{PARAMS}.num_envs", "2")
    form.type(f"{PARAMS}.cuda", "false")
    form.type(f"{WORKER}.seed", "7")
    form.type(f"{EXTRAS}.grid_limit", "4")
    words = shlex.split(command_line(form))
    assert words[:4] == ["mosaic", "train", "--script", PPO]
    assert words[words.index("--") + 1 :] == ["--seed=7", "--no-cuda", "--num-envs=2"]
    document, _ = train.document_of_script(words[2:])
    assert config.to_json(document) == form.document()


def test_a_folder_is_allowed_in_the_window_and_its_scripts_are_listed(show, daemon_home):
    made = Allowed(daemon_home)
    shown = show()
    panel = shown.window.form
    shown.until(lambda: panel.train_actions.catalogue.algorithms, "the form")
    picker = panel.view.algorithm
    try:
        panel.tools.allow_scripts()
        dialog = panel.tools.findChild(QFileDialog)
        assert dialog.fileMode() == QFileDialog.FileMode.Directory
        dialog.fileSelected.emit(str(FOLDER))
        dialog.close()
        shown.until(lambda: PPO in panel.train_actions.catalogue.algorithms, "the script")
        assert made.folders() == [FOLDER]
        picker.setFocus()
        picker.browse()
        listed = picker.listed()
        # The heading, and one line for each script.
        assert len(listed[listed.index("Scripts") :]) == 1 + len(list(made.scripts()))
        picker.selectAll()
        QTest.keyClicks(picker, "manner ppo.py")
        assert [offer.value for offer in picker.offers()][1:] == [PPO]
        assert picker.offers()[1].explanation.startswith("PPO in CleanRL's manner")
        QTest.keyClick(picker.completer_.popup(), Qt.Key.Key_Return)
        shown.until(lambda: panel.form.algo == PPO, "its form")
    finally:
        if FOLDER in made.folders():
            made.remove(FOLDER)
