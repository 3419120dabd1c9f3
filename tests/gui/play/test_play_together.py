"""The Play tab with several: seats of a game, copies in lock-step, two replays side by side, a script, a gamepad."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.tabs.play import PlayTab
from mosaic.spec import episode_file
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord

from ..conftest import Show, Shown

Key = Qt.Key
VIRTUAL_PAD = Path(__file__).with_name("virtual_pad.py")
pytestmark = pytest.mark.usefixtures("no_session_left", "own_actors")


@pytest.fixture
def shown(show: Show, trained: RunRecord) -> Shown:
    return show()


@pytest.fixture
def tab(shown: Shown) -> PlayTab:
    tab = shown.window.tabs["Play"]
    assert isinstance(tab, PlayTab)
    shown.until(lambda: tab.play.offer.actors, "actors")
    shown.window.bench.bring_up("Play")
    return tab


@pytest.fixture
def begin(shown: Shown, tab: PlayTab) -> Callable[..., None]:
    """`begin(env_id, seat=actor, …)`: a session of these, with its first picture."""

    def start(env_id: str, **actors: str) -> None:
        tab.play.choose_environment(env_id)
        for seat, actor in actors.items():
            tab.play.choose_actor(actor, seat)
        assert tab.start.isEnabled(), tab.start.toolTip()
        before, tab.board.painted = tab.play.session, -1
        tab.start.click()
        shown.until(lambda: tab.play.session is not before and "t" in state(tab), "the session")
        shown.until(lambda: tab.board.painted >= 0, "a picture")
        tab.board.setFocus()

    return start


def state(tab: PlayTab) -> dict[str, object]:
    return dict(tab.play.session.state) if tab.play.session is not None else {}


def status(tab: PlayTab) -> str:
    return tab.play.session.status if tab.play.session is not None else ""


def finish(shown: Shown, tab: PlayTab) -> None:
    tab.stop.click()
    shown.until(lambda: status(tab) == "ended")


def test_settings_that_change_the_number_of_seats_change_the_cards(shown: Shown, tab: PlayTab) -> None:
    tab.play.choose_environment("mpe/simple_spread-v3")
    assert list(tab.seats.cards) == ["agent_0", "agent_1", "agent_2"]
    [path] = [path for path in tab.play.environment.fields if path.endswith(".N")]
    tab.play.environment.type(path, "2")
    shown.until(lambda: list(tab.seats.cards) == ["agent_0", "agent_1"], "two seats")
    assert tab.start.isEnabled(), tab.start.toolTip()
    tab.play.environment.type(path, "-1")
    shown.until(lambda: tab.play.environment_problem, "the reason")
    assert not tab.start.isEnabled()
    tab.play.environment.reset(path)
    shown.until(lambda: list(tab.seats.cards) == ["agent_0", "agent_1", "agent_2"], "as it was")
    assert tab.start.isEnabled(), tab.start.toolTip()


def test_each_seat_has_its_actor_and_a_person_plays_one_of_them(
    shown: Shown, tab: PlayTab, begin: Callable[..., None]
) -> None:
    begin("classic/tictactoe-v3", player_1="human", player_2="random")
    assert list(tab.seats.cards) == ["player_1", "player_2"]
    shown.until(lambda: status(tab) == "waiting")
    assert tab.hud.text("turn") == "turn player_1"
    assert tab.seats.cards["player_1"].property("turn")
    QTest.keyClick(tab.board, Key.Key_5)
    shown.until(lambda: state(tab)["t"] == 2, "the move and the answer")
    # A square that is taken is refused and asked for again; nothing pauses.
    QTest.keyClick(tab.board, Key.Key_5)
    shown.until(lambda: "do not allow 'middle'" in tab.reason.text(), "the refusal")
    assert status(tab) == "waiting"
    assert state(tab)["t"] == 2
    # The rest of the game, by clicks into the picture.
    place = tab.board.picture_place
    for cell in (0, 1, 2, 3, 5, 6, 7, 8):
        if state(tab)["over"] or int(str(state(tab)["episode"])) > 1:
            break
        before = state(tab)["t"], tab.reason.text()
        row, column = divmod(cell, 3)
        at = QPoint(
            place.left() + (2 * column + 1) * place.width() // 6, place.top() + (2 * row + 1) * place.height() // 6
        )
        QTest.mouseClick(tab.board, Qt.MouseButton.LeftButton, pos=at)
        shown.until(lambda before=before: (state(tab)["t"], tab.reason.text()) != before or bool(state(tab)["over"]))
        shown.until(lambda: status(tab) in ("waiting", "over"))
    shown.until(lambda: bool(tab.seats.cards["player_1"].result.text()), "the result of the game")
    words = {card.result.text() for card in tab.seats.cards.values()}
    assert words in ({"1 won, 0 drawn, 0 lost", "0 won, 0 drawn, 1 lost"}, {"0 won, 1 drawn, 0 lost"})
    finish(shown, tab)
    assert tab.play.session is not None
    recorded = episode_file.read(RunDir(Path(tab.play.session.record.run_dir)).episode(1))
    assert recorded.head.seats == {"player_1": "human", "player_2": "random"}
    assert {step.seat: step.actor for step in recorded.steps} == recorded.head.seats


def test_one_key_is_one_move_and_choices_are_remembered(shown: Shown, tab: PlayTab, begin: Callable[..., None]) -> None:
    begin("classic/connect_four-v3", player_0="human", player_1="human")
    QTest.keyPress(tab.board, Key.Key_3)
    shown.until(lambda: state(tab)["t"] == 1 and state(tab)["turn"] == "player_1", "one move")
    # The key of the first player is still down: the next one is the second player's, and only that.
    QTest.keyPress(tab.board, Key.Key_4)
    shown.until(lambda: state(tab)["t"] == 2)
    assert state(tab)["last"]["action"] == 3  # type: ignore[index]
    QTest.keyRelease(tab.board, Key.Key_3)
    QTest.keyRelease(tab.board, Key.Key_4)
    # Another actor takes a seat in the middle of the game.
    tab.play.choose_actor("random", "player_1")
    QTest.keyClick(tab.board, Key.Key_1)
    shown.until(lambda: state(tab)["t"] == 4, "the answer of the new one")
    finish(shown, tab)
    tab.play.choose_environment("classic/tictactoe-v3")
    tab.play.choose_environment("classic/connect_four-v3")
    assert tab.play.seating.at("player_0") == "human"
    assert tab.play.seating.at("player_1") == "random"
    # A seat that asks for more than its actor can do says so.
    tab.play.choose_actor("scripted", "player_1")
    assert tab.start.toolTip() == "player_1: fill in FILE.py"


def test_copies_step_together_and_two_episodes_are_replayed_side_by_side(
    shown: Shown, tab: PlayTab, begin: Callable[..., None], tmp_path: Path
) -> None:
    left, right = tmp_path / "left.py", tmp_path / "right.py"
    left.write_text("def select_action(view):\n    return 0\n")
    right.write_text("def select_action(view):\n    return 0 if view.step < 3 else 1\n")
    tab.play.choose_environment("CartPole-v1")
    tab.play.choose_actor(f"scripted:{left}")
    tab.setup.beside.click()
    tab.setup.speed.choose("¼×")
    begin("CartPole-v1", copy_2=f"scripted:{right}")
    tab.pause.click()
    shown.until(lambda: status(tab) == "paused")
    tab.reset.click()
    shown.until(lambda: state(tab)["lengths"] == {"copy_1": 0, "copy_2": 0}, "both at the beginning")
    for steps in (1, 2):
        tab.step.click()
        shown.until(lambda steps=steps: state(tab)["lengths"] == {"copy_1": steps, "copy_2": steps}, "a step of both")
    picture = tab.play.session.picture() if tab.play.session is not None else None
    assert picture is not None
    assert len(picture.head.tiles) == 2
    # Each has its steps and its curve; the pole still stands for both.
    course = [(0, 0.0), (1, 1.0), (2, 2.0)]
    assert dict(tab.side.curves.curves) == {"copy_1": course, "copy_2": course}
    assert tab.side.chart.isVisible()
    assert tab.side.chart.accessibleDescription() == "copy_1: 2 after 2 steps; copy_2: 2 after 2 steps"
    # Whole episodes that ended before the pause have a mean behind it.
    assert [card.result.text().partition("  ·  ")[0] for card in tab.seats.cards.values()] == ["step 2", "step 2"]
    tab.reset.click()
    shown.until(lambda: dict(tab.side.curves.curves) == {"copy_1": [(0, 0.0)], "copy_2": [(0, 0.0)]}, "a new episode")
    finish(shown, tab)
    # Another environment keeps them side by side, and has them when it is chosen again.
    tab.play.choose_environment("Acrobot-v1")
    assert tab.play.seating.actors == {"copy_1": f"scripted:{left}", "copy_2": f"scripted:{right}"}
    assert list(tab.seats.cards) == ["copy_1", "copy_2"]
    tab.play.choose_environment("classic/tictactoe-v3")
    assert not tab.play.seating.is_lockstep, "a game for two has seats of its own"
    tab.play.choose_environment("CartPole-v1")
    assert list(tab.play.seating.actors) == ["copy_1", "copy_2"]
    # Both alone, and then beside each other.
    tab.play.remove_copy("copy_2")
    tab.setup.speed.choose("max")
    for script in (left, right):
        begin("CartPole-v1", agent_0=f"scripted:{script}")
        shown.until(lambda: int(str(state(tab)["episode"])) > 1)
        finish(shown, tab)
    tab.show_view("Replay")
    tree = tab.episodes.tree
    shown.until(lambda: len([each for each in tab.episodes.shown if each.seed == 1 and "agent_0" in each.seats]) == 2)
    for at, each in enumerate(tab.episodes.shown):
        tree.topLevelItem(at).setSelected(each.seed == 1 and "agent_0" in each.seats)
    tab.episodes.beside.click()
    paired_replay, view = tab.recordings.paired_replay, tab.recordings.both
    shown.until(
        lambda: len(paired_replay.sessions) == 2 and all(half.board.painted >= 0 for half in view.halves),
        "two pictures",
    )
    assert "differ at step 4: the actions differ: 0 and 1" in view.difference.text()
    view.go_there.click()
    shown.until(lambda: [session.state["t"] for session in paired_replay.sessions] == [4, 4])
    view.speed.choose("max")
    view.play.click()
    shown.until(lambda: not paired_replay.playing, "the end of both")
    lengths = [len(each.steps) for each in paired_replay.recorded]
    assert [session.state["t"] for session in paired_replay.sessions] == lengths
    assert all("as recorded" in half.verdict.text() for half in view.halves)
    view.back.click()
    shown.until(lambda: paired_replay.arrived and paired_replay.target == max(lengths) - 1)
    out = tmp_path / "both.gif"
    told: list[Notice] = []
    shown.studio.noticed.connect(told.append)
    tab.recordings.film.save([each.name for each in paired_replay.recorded], str(out), speed=1.0)
    shown.until(lambda: tab.recordings.film.said, "the film")
    assert out.read_bytes().startswith(b"GIF8"), tab.recordings.film.said
    assert [notice.kind for notice in told if "frames" in notice.message] == ["info"], "success is not a warning"


def test_a_script_is_played_unattended_and_its_mistakes_are_said(shown: Shown, tab: PlayTab, tmp_path: Path) -> None:
    tab.show_view("Compare")
    script = tmp_path / "plan.toml"
    script.write_text('environment = ["CartPole-v1"]\n')
    tab.compare.file.setText(str(script))
    tab.compare.start.click()
    shown.until(lambda: "did you mean environments?" in tab.compare.problem.text(), "what is wrong")
    (tmp_path / "push.py").write_text("def select_action(view):\n    return view.step % 2\n")
    script.write_text(
        'environments = ["CartPole-v1"]\nepisodes = 5\n[actors]\nchance = "random"\npush = "scripted:push.py"\n'
    )
    tab.compare.start.click()
    shown.until(lambda: tab.compare.tree.isVisible(), "the table", timeout_s=300)
    group = tab.compare.tree.topLevelItem(0)
    texts = [[group.child(at).text(column) for column in range(6)] for at in range(group.childCount())]
    assert group.text(0) == "CartPole-v1"
    assert [line[:2] for line in texts] == [["   chance", "5"], ["   push", "5"]]
    assert texts[1][4].startswith("+")
    assert tab.compare.tree.headerItem().text(4) == "more than chance [95 %]"


def last_discrete(tab: PlayTab) -> object:
    found = state(tab)["last"]
    return found["action"] if isinstance(found, dict) else None


def test_a_gamepad_plays_is_shown_and_can_be_remapped(shown: Shown, tab: PlayTab, begin: Callable[..., None]) -> None:
    assert tab.keys.pad.text() == "No gamepad found."
    tab.gamepad.read_by(sys.executable, str(VIRTUAL_PAD))
    begin("Pendulum-v1", agent_0="human")
    shown.until(lambda: tab.gamepad.names, "the gamepad")
    assert "Controller" in tab.keys.pad.text()
    assert "Stick X" in tab.keys.buttons

    def do(**what: object) -> None:
        tab.gamepad.write(json.dumps(what).encode() + b"\n")

    def last() -> float:
        found = state(tab)["last"]
        assert isinstance(found, dict)
        return float(found["action"][0]) if found["action"] is not None else 0.0

    do(axis=[0, -0.5])
    shown.until(lambda: last() == pytest.approx(-1.0, abs=0.05), "half a push to the left")
    # Another stick for the same: click, then push it.
    tab.keys.buttons["Stick X"].click()
    do(axis=[0, 0.0])
    do(axis=[2, 0.9])
    shown.until(lambda: "Stick 2 X" in tab.keys.buttons, "the new stick")
    do(axis=[2, 0.8])
    shown.until(lambda: last() == pytest.approx(1.6, abs=0.05), "the new stick at work")
    do(axis=[2, 0.0])
    shown.until(lambda: last() == 0.0, "a stick that is let go")
    finish(shown, tab)
    # Discrete actions: its cross, and the stick as a cross.
    begin("CliffWalking-v1", agent_0="human")
    shown.until(lambda: status(tab) == "waiting" and bool(tab.gamepad.names))
    do(button=[11, 1])
    shown.until(lambda: state(tab)["t"] >= 1)  # a button that stays down acts again
    do(button=[11, 0])
    do(axis=[0, 1.0])
    shown.until(lambda: last_discrete(tab) == 1, "a step to the right")
    do(axis=[0, 0.0])
    do(detach=True)
    shown.until(lambda: tab.keys.pad.text() == "No gamepad found.", "that it is gone")
