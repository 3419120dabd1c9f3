"""Settings of an environment in the train form: fields made from its schema, in the document, gone with the id."""

import json
import shlex

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mosaic.cli.train.train import document_of, parse
from mosaic.errors import ConfigError, Problem
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.form import catalogue_model as catalogues
from mosaic.gui.models.form import environment_fields
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.form_documents import command_line
from mosaic.gui.models.form.form_sections import OF_ENVIRONMENT
from mosaic.gui.models.form.run_settings import ENV_ID, PARAMS
from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.spec import environment_flags

MAP = f"{ENVIRONMENT_SETTINGS}.map_name"
SLIPPERY = f"{ENVIRONMENT_SETTINGS}.is_slippery"
WRAPPERS = f"{ENVIRONMENT_SETTINGS}.wrappers"
GRAVITY = f"{ENVIRONMENT_SETTINGS}.gravity"
CONTINUOUS = f"{ENVIRONMENT_SETTINGS}.continuous"


@pytest.fixture(scope="module")
def content(client):
    return catalogues.ask(client)


@pytest.fixture
def form(application, content, daemon_home):
    catalogue = CatalogueModel(DaemonLink(daemon_home))
    made = TrainForm(catalogue)
    made.catalogue_ = catalogue  # kept alive
    catalogue.take(content)
    made.type(ENV_ID, "FrozenLake-v1")
    return made


def test_an_environment_has_a_field_for_each_of_its_settings(form):
    assert form.fields[MAP].setting.choices == ("4x4", "8x8")
    assert form.fields[SLIPPERY].setting.kind == "switch"
    assert form.fields[SLIPPERY].setting.flag == "--env.is_slippery"
    assert form.fields[f"{ENVIRONMENT_SETTINGS}.success_rate"].setting.bounds == "at least 0, at most 1"
    [section] = [section for section in form.sections if section.title == OF_ENVIRONMENT]
    assert {MAP, SLIPPERY} <= set(section.paths)
    assert form.document()["environment"] == {"env_id": "FrozenLake-v1", "settings": {}}


def test_only_what_is_changed_is_in_the_document(form):
    form.type(SLIPPERY, "false")
    form.type(MAP, '"8x8"')
    settings = {"map_name": "8x8", "is_slippery": False}
    assert form.document()["environment"]["settings"] == settings
    form.reset(MAP)
    assert form.document()["environment"]["settings"] == {"is_slippery": False}


def test_a_value_out_of_bounds_is_refused_at_its_field(form):
    form.type(f"{ENVIRONMENT_SETTINGS}.success_rate", "2")
    with pytest.raises(ConfigError):
        form.document()
    assert form.fields[f"{ENVIRONMENT_SETTINGS}.success_rate"].problem == "must be at most 1"


def test_wrappers_are_lines_of_a_field_checked_as_they_are_typed(form):
    assert form.fields[WRAPPERS].setting.flag == "--wrap"
    form.type(WRAPPERS, "TimeLimit:20\nFrameStackObservation:4\n")
    assert form.document()["environment"]["settings"] == {
        "wrappers": [
            {"name": "TimeLimit", "arguments": {"max_episode_steps": 20}},
            {"name": "FrameStackObservation", "arguments": {"stack_size": 4}},
        ]
    }
    words = command_line(form)
    assert "--wrap=TimeLimit:max_episode_steps=20 --wrap=FrameStackObservation:stack_size=4" in words
    for text, said in (
        ("TimLimit:3", "did you mean TimeLimit?"),
        ("TimeLimit", "needs max_episode_steps"),
        ("TimeLimit:none", "must be a whole number"),
    ):
        form.type(WRAPPERS, text)
        assert said in form.fields[WRAPPERS].problem
    form.type(WRAPPERS, "")
    assert form.document()["environment"]["settings"] == {}


def test_wrappers_of_a_policy_keep_its_moments_until_they_are_changed(content):
    trained = [{"name": "NormalizeObservation", "arguments": {}, "moments": {"mean": [1], "var": [1], "count": 2}}]
    schema = content.environments["CartPole-v1"].settings
    fields = environment_fields.fields_of(schema, {"wrappers": trained})
    assert fields[WRAPPERS].text == "NormalizeObservation"
    assert environment_fields.values_of(fields) == {}
    fields[WRAPPERS].type("")
    assert environment_fields.values_of(fields) == {"wrappers": []}
    fields[WRAPPERS].type("NormalizeObservation")
    assert environment_fields.values_of(fields) == {}


def test_another_environment_has_other_fields_and_the_first_gets_its_own_back(form):
    form.type(SLIPPERY, "false")
    form.type(f"{PARAMS}.learning_rate", "1e-5")
    form.type(ENV_ID, "LunarLander-v3")
    assert SLIPPERY not in form.fields
    assert form.fields[GRAVITY].text == "-10"
    assert form.fields[f"{PARAMS}.learning_rate"].text == "1e-5"
    form.type(ENV_ID, "FrozenLake-v1")
    assert form.fields[SLIPPERY].text == "false"


def test_another_algorithm_keeps_the_settings(form):
    form.type(SLIPPERY, "false")
    form.use("dqn")
    assert form.env_id == "FrozenLake-v1"
    assert form.document()["environment"]["settings"] == {"is_slippery": False}


def test_a_setting_that_changes_the_actions_changes_what_is_said_of_the_fit(form):
    form.type(ENV_ID, "LunarLander-v3")
    assert form.fields[ENV_ID].hint == ""
    form.type(CONTINUOUS, "true")
    assert "ppo needs discrete or multi_discrete actions" in form.fields[ENV_ID].hint
    form.type(CONTINUOUS, "false")
    assert form.fields[ENV_ID].hint == ""


def test_a_wrapper_that_does_not_fit_is_told_at_the_environment(form):
    form.type(WRAPPERS, "RescaleAction:-1,1")
    assert form.fields[ENV_ID].hint == "RescaleAction needs continuous actions, FrozenLake-v1 has Discrete(4)"
    form.type(WRAPPERS, "TimeLimit:9")
    assert form.fields[ENV_ID].hint == ""


def test_an_environment_that_only_a_worker_knows_has_one_field_of_json(form):
    form.type(ENV_ID, "mine:Mine-v0")
    form.type(ENVIRONMENT_SETTINGS, '{"speed": 3}')
    assert form.document()["environment"]["settings"] == {"speed": 3}
    form.type(ENVIRONMENT_SETTINGS, "[1]")
    assert "must be a JSON object" in form.fields[ENVIRONMENT_SETTINGS].problem


def test_a_document_is_filled_in_and_what_has_no_field_is_told(form):
    form.type(SLIPPERY, "false")
    stored = form.stored()
    form.reset_all()
    assert form.fill(stored) == []
    assert form.fields[SLIPPERY].text == "false"
    stored["environment"]["settings"]["no_such"] = 1
    assert form.fill(stored) == [f"{ENVIRONMENT_SETTINGS}.no_such"]


def test_a_document_of_an_earlier_version_has_no_settings(form):
    stored = form.stored()
    del stored["environment"]["settings"]
    assert form.fill(stored) == []
    assert form.document()["environment"]["settings"] == {}


def test_what_the_daemon_refuses_is_shown_at_the_field(form):
    form.refuse([Problem("--env.map_name", "must be one of 4x4, 8x8"), Problem("env.is_slippery", "no")])
    assert form.fields[MAP].problem == "must be one of 4x4, 8x8"
    assert form.fields[SLIPPERY].problem == "no"
    assert form.problems == []


def test_the_command_line_makes_the_same_document(form, client):
    form.type(SLIPPERY, "false")
    form.type(MAP, '"8x8"')
    form.type(f"{ENVIRONMENT_SETTINGS}.reward_schedule", "[2, -1, 0]")
    words = shlex.split(command_line(form))
    assert "--env.is_slippery=false" in words
    rest, given = environment_flags.take(words[3:], what="train")
    settings, flags, _ = parse(client, "ppo", rest)
    made = given.settings(client.environment("FrozenLake-v1").settings, env_id="FrozenLake-v1", what="train")
    document = document_of("ppo", settings, flags, made)
    assert document.environment.settings == form.document()["environment"]["settings"]


@pytest.fixture
def no_last_run(daemon_home):
    """Neither for this test nor, when its window is closed, for those after it."""
    last = daemon_home.root / "gui" / "last-run.json"
    last.unlink(missing_ok=True)
    yield
    last.unlink(missing_ok=True)


def test_the_window_shows_them_and_starts_a_run_with_them(no_last_run, show, client):
    shown = show(None)
    panel = shown.window.form
    shown.until(lambda: ENV_ID in panel.view.rows, "the form")
    picker = panel.view.rows[ENV_ID]
    panel.form.type(ENV_ID, "FrozenLake-v1")
    assert panel.view.rows[ENV_ID] is picker, "the line that is typed into stays"
    panel.view.reveal(MAP)
    assert MAP in panel.view.rows
    panel.form.type(MAP, '"8x8"')
    panel.form.type("metadata.worker.config.total_timesteps", "512")
    before = {run.run_id for run in client.list()}
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: {run.run_id for run in client.list()} - before, "the run")
    [run_id] = {run.run_id for run in client.list()} - before
    client.wait(run_id)
    config = json.loads(b"".join(client.read_artifact(run_id, "config.json")))
    assert config["environment"]["settings"] == {"map_name": "8x8"}
