"""Algorithms of users in the form: listed with ours, with the settings that the file has now."""

import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from mosaic.gui.models.form.form_documents import command_line
from mosaic.gui.models.form.run_settings import EXTRAS, PARAMS
from mosaic.scripts.allowed_folders import Allowed

EXAMPLE = Path(__file__).parents[3] / "examples" / "random_search.py"


@pytest.fixture
def file(tmp_path, daemon_home):
    """In an allowed folder, while the test runs."""
    shutil.copy(EXAMPLE, tmp_path)
    made = Allowed(daemon_home)
    made.add(tmp_path)
    yield tmp_path / "random_search.py"
    made.remove(tmp_path)


def test_the_form_has_an_own_algorithm_and_what_was_edited_meanwhile(show, file):
    shown = show()
    panel = shown.window.form
    shown.until(lambda: "random_search" in panel.train_actions.catalogue.algorithms, "the algorithm")
    panel.view.algorithm.browse()
    offers = panel.view.algorithm.offers()
    place = next(place for place, offer in enumerate(offers) if offer.value == "random_search")
    assert offers[place].explanation.startswith("Random search: a linear policy")
    assert offers[place - 1].text == "Your own"
    panel.view.algorithm.completer_.popup().hide()
    panel.form.use("random_search")
    assert panel.form.fields[f"{PARAMS}.noise"].value == 0.5
    # Nothing that ours have is missing.
    assert f"{EXTRAS}.checkpoint_interval_s" in panel.form.fields
    panel.form.type(f"{PARAMS}.num_envs", "2")
    assert command_line(panel.form) == "mosaic train random_search --num-envs=2"

    file.write_text(file.read_text().replace("= 0.5\n", "= 0.25\n"))
    shown.window.isActiveWindow = lambda: True  # the platform of tests has none
    QApplication.sendEvent(shown.window, QEvent(QEvent.Type.ActivationChange))
    shown.until(lambda: panel.form.fields[f"{PARAMS}.noise"].value == 0.25, "the settings of the file as it is now")
    assert panel.form.fields[f"{PARAMS}.num_envs"].value == 2
