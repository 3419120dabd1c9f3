"""The connection to the daemon: found or started, watched, found again; calls are made off the GUI thread."""

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from PySide6.QtCore import Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.beside import Beside
from mosaic.log import get_logger
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec.run_dir import Home

State: TypeAlias = Literal["connecting", "connected", "lost"]
R = TypeVar("R")
CALLERS = 4
"""Calls under way at once: a dry run takes seconds, and what a person does meanwhile must not wait for it."""
LOOK_S = 1.0
ANSWER_S = 3.0
"""A daemon that takes longer to say how it is counts as gone."""

log = get_logger()


@dataclass(frozen=True)
class _Call:
    ask: Callable[[Client], Any]
    done: Callable[[Any], object]
    failed: Callable[[MosaicError], object]


@dataclass(frozen=True)
class _Answer:
    number: int
    value: Any
    is_good: bool


class Link(Beside):
    """One daemon for the life of the window: that of a home, or one at `target`."""

    state_changed = Signal()
    health_changed = Signal()
    call_failed = Signal(object)
    """A MosaicError that the caller left to the window to show."""
    _answered = Signal(object)
    _looked = Signal(object)

    def __init__(self, home: Home, *, target: str | None = None, certificate: Path | None = None) -> None:
        super().__init__()
        self.home = home
        self.target = target
        self.state: State = "connecting"
        self.problem = ""
        """Why there is no connection, for people."""
        self.health: Health | None = None
        self._certificate = certificate
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self._calls: dict[int, _Call] = {}
        """Kept here until they are answered: what a call refers to, a widget perhaps, must be let go in this thread."""
        self._numbers = itertools.count()
        self._asked: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._answered.connect(self._deliver)
        self._looked.connect(self._take)

    @property
    def is_remote(self) -> bool:
        """Whether run directories may be on another machine: then no path of theirs is opened here."""
        return self.target is not None

    @property
    def reach(self) -> Sequence[str]:
        """The words that make the command line talk to the same daemon, beside the home."""
        target = ("--target", self.target) if self.target is not None else ()
        return (*target, *(("--certificate", str(self._certificate)) if self._certificate is not None else ()))

    @property
    def client(self) -> Client | None:
        """For streams in threads of their own; None before the first connection."""
        return self._client

    def start(self) -> None:
        self.run_beside(self._watch, "link")
        for _ in range(CALLERS):
            self.run_beside(self._make_calls, "call")

    def stop(self) -> None:
        """Nothing is delivered any more; a call under way is left behind."""
        self._stopping.set()
        for _ in range(CALLERS):
            self._asked.put(None)
        if self._client is not None:
            self._client.close()

    def call(
        self,
        ask: Callable[[Client], R],
        done: Callable[[R], object] = lambda _: None,
        failed: Callable[[MosaicError], object] | None = None,
    ) -> None:
        """Ask the daemon in another thread; the answer, or the error, comes back in this one.

        A daemon that is gone is started for it: somebody wants something of it.
        """
        number = next(self._numbers)
        self._calls[number] = _Call(ask, done, failed or self.call_failed.emit)
        self._asked.put(number)

    def _make_calls(self) -> None:
        while (number := self._asked.get()) is not None:
            self._post(self._answered, self._ask(number))

    def _ask(self, number: int) -> _Answer:
        try:
            return _Answer(number, self._calls[number].ask(self._connected(start=True)), is_good=True)
        except MosaicError as error:
            return _Answer(number, error, is_good=False)
        except Exception as error:  # The border of the thread: it belongs to whoever asked.
            log.exception("link.call_failed")
            return _Answer(number, MosaicError(f"an error in the window: {error!r}"), is_good=False)

    def _connected(self, *, start: bool) -> Client:
        """The client; where the home's daemon is gone, a new one is started if `start`."""
        with self._connecting:
            if self._client is None:
                self._client = Client(self.target, home=self.home, start=start, certificate=self._certificate)
            elif start and self.state == "lost" and not self.is_remote:
                # Its socket is the same file, so the client that is there finds it.
                Client(home=self.home, start=True).close()
        return self._client

    def _watch(self) -> None:
        first = True
        while not self._stopping.is_set():
            try:
                found: Health | MosaicError = self._connected(start=first).health(timeout_s=ANSWER_S)
            except MosaicError as error:
                found = error
            first = False
            self._post(self._looked, found)
            self._stopping.wait(LOOK_S)

    def _post(self, signal: Any, value: object) -> None:
        if not self._stopping.is_set():
            signal.emit(value)

    def _deliver(self, answer: _Answer) -> None:
        call = self._calls.pop(answer.number)
        if not self._stopping.is_set():
            (call.done if answer.is_good else call.failed)(answer.value)

    def _take(self, found: Health | MosaicError) -> None:
        before = self.state
        if isinstance(found, MosaicError):
            self.state, self.problem = "lost", str(found)
            if not isinstance(found, DaemonUnavailable) and before != "lost":
                self.call_failed.emit(found)
        else:
            self.state, self.problem, self.health = "connected", "", found
            self.health_changed.emit()
        if self.state != before:
            self.state_changed.emit()
