"""The Play tab on real sessions of a real daemon: keys, controls, views, replay, and what goes wrong."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from mosaic.gui.models.form.schema_fields import ENVIRONMENT_SETTINGS
from mosaic.gui.models.play.llm_endpoint import LlmEndpoint
from mosaic.gui.tabs.play import PlayTab
from mosaic.gui.widgets.play.play_status import PlayStatus
from mosaic.rpc.client import Client
from mosaic.rpc.play_socket import PlaySocket
from mosaic.spec.run_record import RunRecord

from ...play import chat_server
from ..conftest import Show, Shown

Key = Qt.Key
pytestmark = pytest.mark.usefixtures("no_session_left", "own_actors")


@pytest.fixture
def shown(show: Show, trained: RunRecord) -> Shown:
    return show()


def opened(shown: Shown) -> PlayTab:
    tab = shown.window.tabs["Play"]
    assert isinstance(tab, PlayTab)
    shown.until(lambda: tab.play.offer.actors, "actors")
    shown.window.bench.bring_up("Play")
    return tab


def begun(shown: Shown, env_id: str, actor: str, *, speed: str = "1×") -> PlayTab:
    """The tab, with a session of this in it, and its first picture."""
    tab = opened(shown)
    tab.play.choose_environment(env_id)
    tab.play.choose_actor(actor)
    tab.setup.show_offer()
    tab.setup.speed.choose(speed)
    shown.until(tab.start.isEnabled, "the run whose policy plays to be listed")
    tab.start.click()
    shown.until(lambda: t(tab) >= 0 and tab.play.session is not None and tab.play.session.record.env_id == env_id)
    shown.until(lambda: tab.board.painted >= 0, "a picture")
    tab.board.setFocus()
    return tab


def t(tab: PlayTab) -> int:
    return int(tab.play.session.state.get("t", -1)) if tab.play.session is not None else -1


BOTTOM, COLUMNS = 3, 12
"""Of the cliff: where one begins, and how wide it is."""


def row_and_column(tab: PlayTab) -> tuple[int, int]:
    """In CliffWalking."""
    assert tab.play.session is not None
    [at] = tab.play.session.state["observation"]["numbers"]
    return divmod(int(at), COLUMNS)


def status(tab: PlayTab) -> str:
    return tab.play.session.status if tab.play.session is not None else ""


def test_keys_play_and_are_shown_and_can_be_changed(shown: Shown) -> None:
    tab = begun(shown, "CliffWalking-v1", "human")
    shown.until(lambda: status(tab) == "waiting")
    # On the session's machine no key goes through the daemon.
    assert tab.play.session is not None
    assert isinstance(tab.play.session._play, PlaySocket)
    assert set(tab.keys.buttons) == {"Up", "Right", "Down", "Left"}
    painted = tab.board.painted
    QTest.keyClick(tab.board, Key.Key_Up)
    shown.until(lambda: t(tab) >= 1, "the step")
    shown.until(lambda: tab.board.painted > painted, "its picture")
    # On a slow machine the key is up late, and a key that stays down acts again: each time one row up.
    shown.until(lambda: row_and_column(tab) == (BOTTOM - t(tab), 0) and status(tab) == "waiting", "the key to be up")
    up = t(tab)
    # Another key for the same action.
    tab.keys.buttons["Right"].click()
    QTest.keyClick(tab.keys.buttons["Right"], Key.Key_L)
    shown.until(lambda: "L" in tab.keys.buttons, "the new key")
    tab.board.setFocus()
    QTest.keyClick(tab.board, Key.Key_Right)
    QTest.keyClick(tab.board, Key.Key_L)
    shown.until(lambda: t(tab) > up, "a step by the new key")
    assert row_and_column(tab) == (BOTTOM - up, t(tab) - up)
    # The grid shows the same state.
    tab.show_view("Grid")
    shown.until(lambda: tab.grid.isVisible())
    row, column = row_and_column(tab)
    assert tab.grid.accessibleDescription() == f"agent in row {row + 1}, column {column + 1}"
    # It is remembered.
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")
    tab.start.click()
    shown.until(lambda: t(tab) == 0 and "L" in tab.keys.buttons, "the keys of the last time")


def test_a_trained_policy_appears_by_itself_and_a_person_takes_over(
    shown: Shown, trained: RunRecord, client: Client
) -> None:
    word = f"policy:{trained.run_id}"
    tab = opened(shown)
    tab.play.choose_environment("CartPole-v1")
    worker = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 512, "extras": {"save_model": False}}
    document = {"environment": {"env_id": "CartPole-v1"}, "artifacts": {}, "metadata": {"worker": {"config": worker}}}
    [without] = client.submit(document)
    assert client.wait(without.run_id)[0].state == "finished"
    begun(shown, "CartPole-v1", word, speed="¼×")
    shown.until(lambda: (run := shown.studio.runs.get(without.run_id)) is not None and run.state == "finished")
    assert not [choice.word for choice in tab.play.choices(tab.play.seating.seats[0]) if without.run_id in choice.word]
    words = [tab.setup.one.actor.itemData(at) for at in range(tab.setup.one.actor.count())]
    assert word in words
    shown.until(lambda: t(tab) > 3)
    assert tab.take_over.text() == "Take over"
    tab.take_over.click()
    shown.until(lambda: status(tab) == "waiting", "the person's turn")
    before = t(tab)
    QTest.keyClick(tab.board, Key.Key_Left)
    shown.until(lambda: t(tab) > before)
    assert tab.take_over.text() == "Hand back"
    tab.take_over.click()
    shown.until(lambda: t(tab) > before + 3)
    tab.explain.click()
    shown.until(lambda: tab.overlay.isVisible() and tab.overlay.value.text().startswith("value "), "over the picture")
    assert tab.overlay.bars.line_count == 6, "two probabilities and four numbers"
    tab.explain.click()
    assert not tab.overlay.isVisible()
    tab.show_view("Raw")
    shown.until(lambda: "value" in tab.raw.text.toPlainText())
    assert tab.play.session is not None
    assert len(tab.play.session.state["last"]["probabilities"]) == 2


def test_what_is_typed_stays_while_runs_move_on(shown: Shown, client: Client) -> None:
    tab = opened(shown)
    tab.play.choose_environment("CartPole-v1")
    field = tab.setup.environment
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, "lake 8x8 toy")
    assert field.offers()[1].text == "FrozenLake8x8-v1", "words in any order, that of the family too"
    changes: list[object] = []
    shown.studio.runs_changed.connect(lambda: changes.append(1))
    run = client.train("ppo", env_id="CartPole-v1", total_timesteps=2_000)[0]
    shown.until(lambda: (found := shown.studio.runs.get(run.run_id)) and found.state == "finished", "its end")
    assert changes
    assert field.text() == "lake 8x8 toy"
    assert field.completer_.popup().isVisible()
    QTest.keyClick(field.completer_.popup(), Key.Key_Return)
    assert tab.play.env_id == field.text() == "FrozenLake8x8-v1"
    # The list of actors is not made anew while it is open, and what is typed behind an actor stays.
    tab.play.choose_environment("CartPole-v1")
    tab.play.choose_actor("llm")
    tab.setup.one.argument.setText("half a na")
    tab.setup.one.actor.showPopup()
    before = tab.setup.one.actor.count()
    shown.studio.runs_changed.emit()
    assert tab.setup.one.argument.text() == "half a na"
    assert tab.setup.one.actor.count() == before
    tab.setup.one.actor.hidePopup()


def test_pause_step_reset_and_stop(shown: Shown) -> None:
    tab = begun(shown, "Acrobot-v1", "random")
    shown.until(lambda: t(tab) > 2)
    assert not tab.keys.isVisible(), "the actor needs no keys"
    tab.pause.click()
    shown.until(lambda: status(tab) == "paused")
    before = t(tab)
    tab.step.click()
    shown.until(lambda: t(tab) == before + 1)
    tab.reset.click()
    shown.until(lambda: t(tab) == 0)
    assert tab.pause.toolTip() == "Continue"
    tab.pause.click()
    shown.until(lambda: t(tab) > 2)
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")
    assert not tab.stop.isEnabled()
    assert tab.board.isVisible(), "the last picture stays"


def test_a_session_that_was_ended_from_elsewhere_says_so(shown: Shown, client: Client) -> None:
    tab = begun(shown, "Acrobot-v1", "random")
    assert tab.play.session is not None
    client.cancel(tab.play.session.record.run_id)
    shown.until(lambda: tab.play.session is not None and tab.play.session.over, "the end")
    assert tab.reason.text() == "ended by the user"
    assert tab.reason.isVisible()


def test_an_episode_is_replayed_and_scrubbed(shown: Shown) -> None:
    tab = begun(shown, "CartPole-v1", "random", speed="max")
    shown.until(lambda: int((tab.play.session.state if tab.play.session else {}).get("episode", 0)) > 2)
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")
    tab.show_view("Replay")
    shown.until(lambda: tab.episodes.tree.topLevelItemCount() > 2, "episodes")
    tab.episodes.tree.setCurrentItem(tab.episodes.tree.topLevelItem(1))
    tab.episodes.replay.click()
    shown.until(lambda: tab.replay_bar.isVisible() and tab.slider.maximum() > 5, "the replay")
    tab.slider.setValue(5)
    shown.until(lambda: t(tab) == 5)
    tab.slider.setValue(2)
    shown.until(lambda: t(tab) == 2)
    tab.slider.setValue(tab.slider.maximum())
    shown.until(lambda: "the same, bit for bit" in tab.where.text(), "the verdict")


def test_an_actor_that_does_not_fit_or_fails_says_why(shown: Shown, tmp_path: Path) -> None:
    tab = opened(shown)
    tab.play.choose_environment("ALE/Pong-v5")
    misfits = {choice.word: choice.misfit for choice in tab.play.choices(tab.play.seating.seats[0])}
    assert misfits["bdi"] == "BDI agent knows discrete and vector and composite observations, not pixels"
    tab.play.choose_environment("CartPole-v1")
    tab.play.choose_actor("scripted")
    tab.setup.show_offer()
    assert not tab.start.isEnabled()
    assert "FILE.py" in tab.start.toolTip()
    # What can do without an argument can be started without one.
    tab.play.choose_actor("llm")
    tab.setup.show_offer()
    assert tab.setup.one.argument.isVisibleTo(tab)
    assert tab.start.isEnabled()
    tab.play.choose_actor("scripted")
    tab.setup.show_offer()
    script = tmp_path / "tired.py"
    script.write_text("def select_action(view):\n    if view.step == 3: raise ValueError('too tired')\n    return 0\n")
    tab.setup.one.argument.setText(str(script))
    tab.setup.one.argument.editingFinished.emit()
    assert tab.start.isEnabled()
    tab.start.click()
    shown.until(lambda: status(tab) == "paused", "the trouble")
    assert "too tired" in tab.reason.text()
    assert tab.reason.isVisible()
    # Who takes over from one who failed goes on at once, where it was.
    tab.take_over.click()
    shown.until(lambda: status(tab) == "waiting", "the person's turn")
    assert not tab.reason.isVisible() or "too tired" not in tab.reason.text()
    QTest.keyClick(tab.board, Key.Key_Left)
    shown.until(lambda: t(tab) >= 4)
    # A session that cannot begin says so too.
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")
    script.write_text("def select_action(view:\n")
    tab.start.click()
    shown.until(lambda: "line 1" in tab.reason.text(), "the reason")


def test_an_environment_that_hangs_freezes_nothing(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "asleep.py"
    script.write_text("import time\ndef select_action(view):\n    time.sleep(1000)\n")
    tab = opened(shown)
    tab.play.choose_environment("CartPole-v1")
    tab.play.choose_actor(f"scripted:{script}")
    tab.setup.show_offer()
    tab.start.click()
    shown.until(lambda: status(tab) == "running", "a session that waits for its actor")
    tab.show_view("Raw")
    tab.show_view("Video")
    tab.pause.click()
    shown.until(lambda: status(tab) == "paused")
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")


def test_the_picture_is_the_environments_own(shown: Shown) -> None:
    tab = begun(shown, "CartPole-v1", "human")
    picture = tab.board.grab().toImage()
    colours = {QColor(picture.pixel(x, picture.height() // 2)).name() for x in range(0, picture.width(), 3)}
    assert "#ffffff" in colours, "the sky of CartPole"


def test_the_mission_is_read_in_every_view(shown: Shown) -> None:
    tab = begun(shown, "MiniGrid-Empty-5x5-v0", "random")
    said = "Mission: get to the green goal square"
    for view in ("Video", "Grid", "Raw"):
        tab.show_view(view)
        shown.until(lambda: tab.mission.isVisible() and tab.mission.text() == said, f"the mission in {view}")
    tab.show_view("Video")
    picture = tab.play.session.picture() if tab.play.session is not None else None
    assert picture is not None
    assert picture.head.line.endswith("get to the green goal square"), "terminals read it too"
    tab.setup.speed.choose("max")
    for _ in range(2):
        tab.reset.click()
    shown.until(lambda: int(tab.play.session.state.get("episode", 0)) > 2 if tab.play.session else False)
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")
    tab.show_view("Replay")
    assert not tab.mission.isVisible(), "the list is of many episodes"
    shown.until(lambda: len(tab.episodes.shown) > 1, "the recordings")
    tab.recordings.paired_replay.open(tab.episodes.shown[:2])
    both = tab.recordings.both
    shown.until(lambda: [half.mission.text() for half in both.halves] == [said, said], "the mission of both")
    # An environment that says none has no line for it.
    begun(shown, "CartPole-v1", "random")
    assert not tab.mission.isVisible()


def test_a_language_model_is_asked_where_the_fields_say_and_its_key_is_kept_nowhere(
    shown: Shown, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret-key-5551234"
    monkeypatch.setenv("KEY_OF_MINE", key)
    tab = opened(shown)
    tab.play.choose_environment("CliffWalking-v1")
    assert not tab.endpoint.isVisibleTo(tab)
    tab.play.choose_actor("llm:test")
    assert tab.endpoint.isVisibleTo(tab)

    def type_into(field: QLineEdit, text: str) -> None:
        field.setText(text)
        field.editingFinished.emit()

    # A key in the wrong field is neither taken nor written.
    for field, complaint in ((tab.endpoint.address, "not an http or https"), (tab.endpoint.variable, "no variable")):
        type_into(field, key)
        assert not tab.start.isEnabled()
        assert complaint in tab.start.toolTip()
        type_into(field, "")
    with chat_server.serving() as server:
        type_into(tab.endpoint.address, server.url)
        type_into(tab.endpoint.variable, "KEY_OF_MINE")
        assert tab.endpoint.key.text() == "key found"
        tab.setup.speed.choose("max")
        tab.start.click()
        shown.until(lambda: t(tab) > 3, "its steps")
        tab.stop.click()
        shown.until(lambda: status(tab) == "ended")
    assert {headers["Authorization"] for headers in server.headers} == {f"Bearer {key}"}
    holding = [path for path in client.home.root.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert holding == []
    # Both are there the next time.
    again = LlmEndpoint(QSettings(str(client.home.root / "gui.ini"), QSettings.Format.IniFormat))
    assert (again.address, again.variable) == (server.url, "KEY_OF_MINE")


def test_settings_of_the_environment_are_typed_in_a_window_and_played_with(shown: Shown, client: Client) -> None:
    tab = opened(shown)
    tab.play.choose_environment("FrozenLake-v1")
    tab.play.choose_actor("random")
    tab.setup.settings.click()
    dialog = tab.setup.settings.dialog
    assert dialog is not None
    rows = dialog.rows
    assert {f"{ENVIRONMENT_SETTINGS}.map_name", f"{ENVIRONMENT_SETTINGS}.is_slippery"} <= rows.keys()
    tab.play.environment.type(f"{ENVIRONMENT_SETTINGS}.success_rate", "7")
    assert tab.play.environment_problem == "Success rate: must be at most 1"
    tab.play.environment.reset(f"{ENVIRONMENT_SETTINGS}.success_rate")
    tab.play.environment.type(f"{ENVIRONMENT_SETTINGS}.map_name", '"8x8"')
    assert tab.setup.settings.accessibleName() == "Settings of the environment, 1 changed"
    dialog.done_button.click()
    tab.setup.speed.choose("max")
    tab.start.click()
    shown.until(lambda: tab.play.session is not None and tab.play.session.record.env_id == "FrozenLake-v1")
    assert tab.play.session is not None
    run_id = tab.play.session.record.run_id
    config = json.loads(b"".join(client.read_artifact(run_id, "config.json")))
    assert config["environment"]["settings"] == {"map_name": "8x8"}
    tab.play.choose_environment("ALE/Breakout-v5")
    assert f"{ENVIRONMENT_SETTINGS}.repeat_action_probability" in dialog.rows
    tab.play.choose_environment("FrozenLake-v1")
    assert tab.play.environment.values == {"map_name": "8x8"}


def test_in_a_narrow_window_the_reason_goes_before_the_settings(application: QApplication) -> None:
    status = PlayStatus(str)
    state: dict[str, object] = {"episode": 1, "t": 3, "returns": {"agent": 0.0}, "last": {"actor": "human"}}
    status.resize(560, 40)
    status.show()
    status.show_state("waiting", {**state, "env_settings": "map_name=8x8, is_slippery=false"})
    assert status.hud.text("settings")
    status.say("Click the picture: it waits for a key.")
    assert not status.hud.text("settings")
    application.processEvents()
    assert status.reason.width() >= 150
    status.resize(1000, 40)
    application.processEvents()
    assert status.hud.text("settings")
    status.close()


def test_settings_begin_with_those_that_the_chosen_policy_was_trained_with(shown: Shown) -> None:
    tab = opened(shown)
    play, slippery = tab.play, f"{ENVIRONMENT_SETTINGS}.is_slippery"
    play.choose_environment("FrozenLake-v1")
    play._take_trained(play._trained_in, {"is_slippery": False})  # pyright: ignore[reportPrivateUsage]
    assert (play.environment.fields[slippery].value, play.environment.values) == (False, {})
    play.environment.type(slippery, "true")
    assert play.environment.values == {"is_slippery": True}
    play.choose_actor("policy:nothing")
    assert play.environment.fields[slippery].setting.default is True
