"""Messages between the agents of a session, which think in threads of their own: each reads its box when it acts."""

import queue
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

_lock = threading.Lock()
_boxes: dict[tuple[Path, str], "Box"] = {}
"""By session and name."""


class Mailbox(Protocol):
    """By which an agent talks with others."""

    def turn_over(self) -> None: ...
    def send(self, names: Sequence[str], letter: Any) -> None: ...
    def emptied(self) -> list[Any]: ...
    def leave(self) -> None: ...


@runtime_checkable
class Repeatable(Protocol):
    """A mailbox that can give the letters of an episode again."""

    def state(self) -> dict[str, Any]: ...
    def repeat(self, state: Mapping[str, Any]) -> None: ...
    def decided(self) -> None: ...
    def go_on(self, state: Mapping[str, Any]) -> None: ...


class Box:
    """What was sent to one agent in the present episode."""

    def __init__(self, session: Path, name: str) -> None:
        self._session = session
        self._name = name
        self.episode = 0
        self._letters: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def turn_over(self) -> None:
        """The next episode: letters of another one are not for this one, whichever agent began it first."""
        self.episode += 1

    def send(self, names: Sequence[str], letter: Any) -> None:
        """To these agents, or to all others; KeyError names one that is not there."""
        with _lock:
            others = {name: box for (session, name), box in _boxes.items() if session == self._session}
        for name in names or [name for name in others if name != self._name]:
            others[name]._letters.put((self.episode, letter))

    def emptied(self) -> list[Any]:
        found: list[Any] = []
        while not self._letters.empty():
            episode, letter = self._letters.get_nowait()
            if episode == self.episode:
                found.append(letter)
        return found

    def leave(self) -> None:
        with _lock:
            if _boxes.get((self._session, self._name)) is self:
                del _boxes[(self._session, self._name)]


class Alone:
    """The box of an agent that no other one hears: what it says is lost, and it is told nothing."""

    def turn_over(self) -> None:
        """Nothing comes."""

    def send(self, names: Sequence[str], letter: Any) -> None:
        """Nothing arrives."""

    def emptied(self) -> list[Any]:
        return []

    def leave(self) -> None:
        """It has joined nothing."""


def join(session: Path, name: str) -> Box:
    box = Box(session, name)
    with _lock:
        # One who takes a seat in the middle of a session is in the same episode as the others.
        box.episode = max((other.episode for (where, _), other in _boxes.items() if where == session), default=0)
        _boxes[(session, name)] = box
    return box
