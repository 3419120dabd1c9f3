"""What the GUI thread waits for, by counting the calls that wait rather than by a clock: the same on every machine.

A call waits if it asks the daemon, waits for another thread, sleeps, connects a socket, opens a database or runs a
program to its end. `Waiting.calls` has those that were made in this thread while `watching`, each with where from.
"""

import contextlib
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

AUDITED = ("time.sleep", "socket.connect", "socket.getaddrinfo", "sqlite3.connect", "os.system")
"""Events that Python itself tells (sys.addaudithook)."""
WAITING_METHODS: tuple[tuple[type[Any], str], ...] = (
    (threading.Condition, "wait"),  # of an Event, a Future and a Queue too
    (threading.Thread, "join"),
    (subprocess.Popen, "wait"),
    (subprocess.Popen, "communicate"),
    (grpc.UnaryUnaryMultiCallable, "__call__"),
    (grpc.UnaryUnaryMultiCallable, "with_call"),
)

ALLOWED = {
    ("viewer.py", "close"),  # of the thread that renews a lease: it has nothing to do but to end
    ("threading.py", "start"),  # returns when the thread has begun
    ("background_work.py", "_let_go"),  # of a thread that has said that it is at its end
}
"""File and function of waits for what is happening already."""


class Waiting:
    """The calls that waited, while it was watched."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.is_watched = False
        self._thread = threading.get_ident()

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        before, self.is_watched = self.is_watched, True
        try:
            yield
        finally:
            self.is_watched = before

    def note(self, what: str) -> None:
        if self.is_watched and threading.get_ident() == self._thread:
            stack = traceback.extract_stack()[::-1]
            if not any((Path(frame.filename).name, frame.name) in ALLOWED for frame in stack):
                ours = (f"{frame.filename}:{frame.lineno}" for frame in stack if "/mosaic/" in frame.filename)
                self.calls.append(" < ".join([what, *ours]))


_current: Waiting | None = None


def _audit(event: str, _args: object) -> None:
    if _current is not None and event in AUDITED:
        _current.note(event)


_is_audited = False


@contextlib.contextmanager
def noting_waits(patch: pytest.MonkeyPatch) -> Iterator[Waiting]:
    """Whatever waits in this thread is written down; it still waits."""
    global _current, _is_audited
    waiting = Waiting()
    for owner, name in WAITING_METHODS:
        for kind in {owner, *_kinds(owner)}:
            if name in vars(kind):
                patch.setattr(kind, name, _noted(getattr(kind, name), f"{kind.__name__}.{name}", waiting))
    if not _is_audited:  # An audit hook stays for the life of the process.
        sys.addaudithook(_audit)
        _is_audited = True
    _current = waiting
    try:
        yield waiting
    finally:
        _current = None


def _kinds(owner: type[Any]) -> Iterator[type[Any]]:
    for kind in owner.__subclasses__():
        yield kind
        yield from _kinds(kind)


def _noted(call: Callable[..., Any], name: str, waiting: Waiting) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        waiting.note(name)
        return call(*args, **kwargs)

    return noted
