"""The form is there with the first paint, without a daemon; a dry run of it is followed and can be ended."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.form import catalogue_model
from mosaic.gui.models.form.notes import NOTE
from mosaic.gui.models.form.run_settings import ENV_ID, PARAMS, WORKER
from mosaic.spec.catalogue.shipped_catalogue import Holding

STEPS = f"{WORKER}.total_timesteps"


@pytest.fixture
def opened(application, home):
    """A window whose link was never started: no daemon has answered, and none will."""
    made = app.open_window(application, home, DaemonLink(home))
    yield made
    made.window.close()
    made.window.deleteLater()


def test_the_form_is_there_before_the_daemon_was_asked(opened, home):
    panel = opened.window.form
    assert panel.form.algo == "ppo"
    assert panel._pages.currentWidget() is panel.view
    assert f"{PARAMS}.learning_rate" in panel.form.fields
    assert "Pendulum-v1" in [
        env_id
        for family in panel.train_actions.catalogue.search("pend", "sac_continuous_action")
        for env_id, _ in family.environments
    ]
    assert not panel.train_actions.catalogue.is_whole
    assert not home.lock.exists()


def test_another_machine_is_asked_what_it_has(application, home):
    made = app.open_window(application, home, DaemonLink(home, target="127.0.0.1:1"))
    assert made.window.form.form.fields == {}
    made.window.close()
    made.window.deleteLater()


def test_sources_that_were_changed_are_waited_for(application, home, monkeypatch):
    monkeypatch.setattr(
        catalogue_model.shipped_catalogue, "holding", lambda: Holding({"families": []}, ("algorithms",))
    )
    made = app.open_window(application, home, DaemonLink(home))
    assert made.window.form.form.fields == {}
    made.window.close()
    made.window.deleteLater()


def test_the_answer_of_the_daemon_changes_nothing_in_the_form(show, monkeypatch):
    rebuilt = []
    shown = show()
    panel = shown.window.form
    panel.form.rebuilt.connect(lambda: rebuilt.append(1))
    shown.until(lambda: panel.train_actions.catalogue.is_whole, "the daemon's answer")
    assert rebuilt == []


def test_what_the_daemon_refuses_stands_at_its_field_in_the_words_of_the_command_line(show, client):
    shown = show()
    panel = shown.window.form
    before = len(client.list())
    panel.form.type(ENV_ID, "Pendulum-v1")
    panel.form.type(STEPS, "100")
    QTest.mouseClick(panel.start, Qt.MouseButton.LeftButton)
    shown.until(lambda: panel.form.fields[ENV_ID].problem, "the refusal")
    assert panel.form.fields[ENV_ID].problem.startswith(
        "ppo needs discrete or multi_discrete actions, Pendulum-v1 has Box(-2.0, 2.0, (1,), float32):"
        " use crossq_continuous_action, ddpg_continuous_action, "
    )
    assert panel.form.fields[STEPS].problem.startswith(
        "is 100, less than the 512 steps of one rollout (--num-envs × --num-steps)"
    )
    assert panel.form.problems == []
    assert len(client.list()) == before


def test_a_dry_run_is_followed_and_can_be_ended(show):
    shown = show()
    panel = shown.window.form
    panel.form.type(ENV_ID, "never_there:Never-v0")
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    assert panel.dry_run.text() == " Cancel"
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    shown.until(lambda: not panel.train_actions.is_trying, "its end")
    assert panel.dry_run.text() == " Dry run"
    assert "cancelled; nothing was made" in panel.said.text()
    assert shown.studio.notes.index(0).data(NOTE).outcome == "failed"


def test_what_the_worker_does_is_said_above_the_buttons(show):
    shown = show()
    panel = shown.window.form
    said = []
    panel.train_actions.said.connect(lambda text, _: said.append(text))
    QTest.mouseClick(panel.dry_run, Qt.MouseButton.LeftButton)
    shown.until(lambda: not panel.train_actions.is_trying, "its end")
    assert said[0] == "Dry run: making CartPole-v1 and stepping it once …"
    assert said[-1].startswith("Dry run: ok after")
