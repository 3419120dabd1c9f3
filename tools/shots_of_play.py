"""Scenes of the Play tab for the screenshots: real sessions, brought to a moment worth a picture."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from mosaic.gui.tabs.play import PlayTab
from mosaic.rpc.trainer_pb2 import RecordedEpisode

Until = Callable[[Callable[[], bool]], None]
Scene = Callable[[PlayTab, Until, str], None]
MOVES = "4353642"
"""Columns of a game of connect four, by both players in turn."""


def alone(tab: PlayTab, until: Until, _: str) -> None:
    """A person keeps the pole up for a while, by the keys that are shown."""
    start(tab, until, "CartPole-v1", agent_0="human")
    for at in range(12):
        QTest.keyClick(tab.board, Qt.Key.Key_Left if at % 2 else Qt.Key.Key_Right)
        until(lambda at=at: int(state(tab)["t"]) > at)


def seats(tab: PlayTab, until: Until, _: str) -> None:
    """Two at one board."""
    start(tab, until, "classic/connect_four-v3", player_0="human", player_1="human")
    for at, column in enumerate(MOVES):
        QTest.keyClick(tab.board, Qt.Key(ord(column)))
        until(lambda at=at: int(state(tab)["t"]) > at)
    tab.play.choose_actor("random", "player_1")
    until(lambda: state(tab)["turn"] == "player_0")


def lockstep(tab: PlayTab, until: Until, policy: str) -> None:
    """A policy beside chance, from the same seed."""
    tab.play.choose_environment("CartPole-v1")
    tab.play.choose_actor(f"policy:{policy}")
    tab.play.add_copy()
    start(tab, until, "CartPole-v1")
    until(lambda: int(state(tab)["lengths"]["copy_1"]) > 60)
    tab.pause.click()
    until(lambda: state(tab)["status"] == "paused")
    tab.play.remove_copy("copy_2")
    tab.play.add_copy()


def replay(tab: PlayTab, until: Until, policy: str) -> None:
    """Two episodes from the same seed, where they differ first."""
    tab.play.remove_copy("copy_2")
    tab.setup.speed.choose("4×")
    for actor in (f"policy:{policy}", "random"):
        start(tab, until, "CartPole-v1", agent_0=actor)
        until(lambda: int(state(tab)["episode"]) > 1)
        tab.stop.click()
        until(lambda: tab.play.session is not None and tab.play.session.over)
    tab.show_view("Replay")
    until(lambda: len(firsts(tab)) == 2)
    tab.recordings.paired_replay.open(firsts(tab))
    paired_replay = tab.recordings.paired_replay
    until(
        lambda: len(paired_replay.sessions) == 2 and all(half.board.painted >= 0 for half in tab.recordings.both.halves)
    )
    paired_replay.go_to(18)
    until(lambda: paired_replay.arrived)


SCENES: Mapping[str, Scene] = {"play": alone, "seats": seats, "lockstep": lockstep, "replay": replay}


def firsts(tab: PlayTab) -> list[RecordedEpisode]:
    """The first episode of each of the last two sessions."""
    found = [each for each in tab.episodes.shown if each.seed == 1 and list(each.seats) == ["agent_0"]]
    return [*found[:2]][::-1] if len({each.run_id for each in found[:2]}) == 2 else []


def start(tab: PlayTab, until: Until, env_id: str, **actors: str) -> None:
    tab.play.choose_environment(env_id)
    for seat, actor in actors.items():
        tab.play.choose_actor(actor, seat)
    before, tab.board.painted = tab.play.session, -1
    tab.start.click()
    until(lambda: tab.play.session is not before and "t" in state(tab) and tab.board.painted >= 0)
    tab.board.setFocus()


def state(tab: PlayTab) -> Mapping[str, Any]:
    return tab.play.session.state if tab.play.session is not None else {}
