"""What a person does with runs from the window: each against the real daemon, with its question and its notice."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QInputDialog, QMessageBox

from mosaic.gui.models.palette_commands import Command, fitting
from mosaic.gui.models.runs.failure_advice import advice_on
from mosaic.gui.models.runs.run_actions import ACTIONS
from mosaic.gui.widgets.command_palette import COMMAND
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import KILLED_FROM_OUTSIDE, RunState

from ..conftest import Show, Shown

EVER = 10**9
CANCEL, DELETE, RESUME = "End run…", "Delete…", "Resume from the newest checkpoint"


@pytest.fixture
def endless(client: Client) -> Callable[[], str]:
    def start() -> str:
        return client.train("ppo", env_id="resting:Resting-v0", total_timesteps=EVER, label="endless")[0].run_id

    return start


def select(shown: Shown, run_id: str) -> None:
    shown.until(lambda: shown.studio.runs.get(run_id), "the run in the list")
    shown.studio.select([run_id])


def state(shown: Shown, run_id: str) -> str:
    record = shown.studio.runs.get(run_id)
    return record.state if record else "gone"


def press(shown: Shown, title: str) -> None:
    shown.window.menus.on_runs[title][1].trigger()


def question(shown: Shown) -> QMessageBox:
    return next(box for box in shown.window.findChildren(QMessageBox) if box.isVisible())


def answer(shown: Shown, text: str) -> None:
    next(button for button in question(shown).buttons() if button.text() == text).click()


def can(shown: Shown) -> set[str]:
    return {title for title, (_, shown_action) in shown.window.menus.on_runs.items() if shown_action.isEnabled()}


def test_a_run_is_paused_continued_cancelled_resumed_and_deleted(show: Show, endless: Callable[[], str]) -> None:
    run_id = endless()
    shown = show()
    select(shown, run_id)
    shown.until(lambda: state(shown, run_id) == "running", "running")
    assert can(shown) == {"Pause", CANCEL}
    press(shown, "Pause")
    shown.until(lambda: state(shown, run_id) == "paused", "paused")
    assert can(shown) == {"Continue", CANCEL}
    press(shown, "Continue")
    shown.until(lambda: state(shown, run_id) == "running", "running again")
    press(shown, CANCEL)
    answer(shown, "Keep running")
    press(shown, CANCEL)
    assert "checkpoint" in question(shown).informativeText()
    assert state(shown, run_id) == "running"
    answer(shown, "End run")
    shown.until(lambda: state(shown, run_id) == "cancelled", "cancelled")
    assert can(shown) == {RESUME, DELETE}
    press(shown, RESUME)
    shown.until(lambda: state(shown, run_id) == "running", "resumed")
    press(shown, CANCEL)
    answer(shown, "End run")
    shown.until(lambda: state(shown, run_id) == "cancelled", "cancelled again")
    # By its key, in the list alone.
    shown.window.activateWindow()
    shown.window.runs.view.setFocus()
    QTest.keyClick(shown.window.runs.view, Qt.Key.Key_Delete)
    answer(shown, "Delete run")
    shown.until(lambda: state(shown, run_id) == "gone", "deleted")


def test_a_refusal_is_told(show: Show, client: Client, trained: RunRecord) -> None:
    shown = show()
    select(shown, trained.run_id)
    notices: list[str] = []
    shown.studio.noticed.connect(lambda notice: notices.append(notice.message))
    shown.window.actions_on_runs.resume(trained.run_id, 12_345_678)
    shown.until(lambda: notices, "the daemon's answer")
    assert "12345678" in notices[0].replace(",", "")


def test_a_run_is_renamed_and_annotated(show: Show, client: Client) -> None:
    [run] = client.train("ppo", env_id="CartPole-v1", total_timesteps=600)
    shown = show()
    select(shown, run.run_id)
    for title, text in (("Rename…", "a better name"), ("Edit notes…", "two\nlines")):
        action = next(a for a in shown.window.menus.commands() if a.title == title)
        action.do()
        dialog = shown.window.findChild(QInputDialog)
        assert dialog is not None
        dialog.setTextValue(text)
        dialog.accept()
        shown.until(lambda: not shown.window.findChildren(QInputDialog), "the dialog to close")
    shown.until(lambda: (r := shown.studio.record()) and (r.label, r.notes) == ("a better name", "two\nlines"))


def test_the_palette_goes_to_a_run_and_does_what_is_typed(show: Show, trained: RunRecord) -> None:
    shown = show()
    select(shown, trained.run_id)
    palette = shown.window.menus.open_palette()
    QTest.keyClicks(palette.typed, "copyrunid")
    QTest.keyClick(palette.typed, Qt.Key.Key_Return)
    assert QGuiApplication.clipboard().text() == trained.run_id
    shown.studio.select([])
    palette = shown.window.menus.open_palette()
    reasons = {command.title: command.reason for command in shown.window.menus.commands()}
    assert reasons["Pause"] == reasons["Rename…"] == "no run is selected"
    palette.typed.setText("ppo cartpole")
    QTest.keyClick(palette.typed, Qt.Key.Key_Down)
    QTest.keyClick(palette.typed, Qt.Key.Key_Up)
    QTest.keyClick(palette.typed, Qt.Key.Key_Return)
    shown.until(lambda: shown.studio.selected, "a run to be selected")


def test_what_cannot_be_done_is_offered_with_its_reason_and_does_nothing(show: Show, trained: RunRecord) -> None:
    shown = show()
    select(shown, trained.run_id)
    shown.until(lambda: shown.studio.current == trained.run_id)
    palette = shown.window.menus.open_palette()
    QTest.keyClicks(palette.typed, "cancel")
    model = palette.list.model()
    found = [model.index(row, 0).data(COMMAND) for row in range(model.rowCount())]
    assert all(command.reason for command in found[[bool(command.reason) for command in found].index(True) :])
    command = next(command for command in found if command.title == CANCEL)
    palette.list.setCurrentIndex(model.index(found.index(command), 0))
    assert (command.title, command.reason.partition(";")[0]) == (
        "End run…",
        "only a run that is queued, starting, running or paused",
    )
    assert command.reason.endswith("is finished")
    QTest.keyClick(palette.typed, Qt.Key.Key_Return)
    assert palette.isVisible()
    assert not shown.window.findChildren(QMessageBox)
    QTest.keyClick(palette.typed, Qt.Key.Key_Escape)
    shown.until(lambda: not shown.window.findChildren(type(palette)), "the palette to close")


def test_the_answers_of_a_question_say_what_they_do() -> None:
    def runs(*states: RunState) -> list[RunRecord]:
        return [RunRecord(run_id=str(place) * 26, state=state) for place, state in enumerate(states)]

    end = next(action for action in ACTIONS if action.title == CANCEL)
    delete = next(action for action in ACTIONS if action.title == DELETE)
    assert end.answers_for(runs(RunState.RUNNING)) == ("End run", "Keep running")
    assert end.answers_for(runs(RunState.QUEUED)) == ("End run", "Keep queued")
    assert end.answers_for(runs(RunState.PAUSED)) == ("End run", "Keep paused")
    assert end.answers_for(runs(RunState.RUNNING, RunState.PAUSED)) == ("End 2 runs", "Keep running")
    assert delete.answers_for(runs(RunState.FAILED, RunState.LOST)) == ("Delete 2 runs", "Keep them")
    asked = [action for action in ACTIONS if action.question]
    assert all(all(action.answers) for action in asked)


def test_the_best_match_comes_first() -> None:
    commands = [Command(title, lambda: None) for title in ("Copy path", "Pause", "Command palette…", "Reset layout")]
    assert fitting(commands, "pa")[0].title == "Pause"
    assert [found.title for found in fitting(commands, "reset")] == ["Reset layout"]
    assert fitting(commands, "xyz") == []
    assert fitting(commands, "") == commands
    # What was typed as it stands, even if it cannot be done now, before letters that are scattered over a name.
    pause = Command("Pause", lambda: None, reason="only a run that is running")
    scattered = Command("ddpg Pendulum s1", lambda: None, detail="a continuous action, finished", group="Go to")
    assert [found.title for found in fitting([scattered, pause], "pause")] == ["Pause", "ddpg Pendulum s1"]


def test_every_bad_end_gets_its_advice() -> None:
    def ended(state: RunState, exit_code: int | None = None) -> RunRecord:
        return RunRecord(run_id="0" * 26, state=state, exit_code=exit_code)

    assert "learning rate" in advice_on(ended(RunState.FAILED, 5))
    assert "Install" in advice_on(ended(RunState.FAILED, 3))
    assert "memory" in advice_on(ended(RunState.FAILED, -9))
    not_for_memory = replace(ended(RunState.FAILED, -9), reason=KILLED_FROM_OUTSIDE)
    assert "memory" not in advice_on(not_for_memory)
    assert "Resume" in advice_on(not_for_memory)
    assert "stderr" in advice_on(ended(RunState.FAILED, 1))
    assert advice_on(ended(RunState.LOST))
    for kind, place in (("play", "Play tab"), ("policy_eval", "Load policy")):
        said = advice_on(RunRecord(run_id="0" * 26, state=RunState.FAILED, exit_code=2, kind=kind))
        assert place in said
        assert "lone" not in said, "a session is not cloned"
    assert advice_on(ended(RunState.CANCELLED))
    assert not advice_on(ended(RunState.FINISHED, 0))
    assert not advice_on(ended(RunState.RUNNING))


def test_no_two_actions_share_their_keys(show: Show) -> None:
    shown = show()
    keys = [command.detail for command in shown.window.menus.commands() if command.group != "Go to" and command.detail]
    keys += [action.keys for action in ACTIONS if action.keys and action.keys not in keys]
    keys += [shown.window.form.start.shortcut().toString(), shown.window.form.dry_run.shortcut().toString()]
    assert len(keys) == len(set(keys))
