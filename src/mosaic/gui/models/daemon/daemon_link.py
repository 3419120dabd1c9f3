"""The connection to the daemon: found or started, watched, found again; calls are made off the GUI thread."""

import itertools
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from PySide6.QtCore import Signal

from mosaic.errors import HomeVanished, MosaicError
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.log import get_logger
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonStopped, DaemonUnavailable, bring_back, ensure_daemon, running_address, why_gone
from mosaic.rpc.trainer_pb2 import Health
from mosaic.spec.run_dir import Home

State: TypeAlias = Literal["connecting", "connected", "lost", "stopped", "homeless"]
"""Stopped: told to end by a user, who alone starts it again. Homeless: the home was removed or moved away."""
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
    is_start: bool = False
    """It starts the daemon itself."""
    brings_back: bool = False
    """A daemon that was killed is started for it."""


@dataclass(frozen=True)
class _Answer:
    number: int
    value: Any
    is_good: bool


class DaemonLink(BackgroundWork):
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
        """Why there is no connection, as text for the user."""
        self.health: Health | None = None
        self._certificate = certificate
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self._has_looked = False
        """The window itself starts the daemon once, when it opens."""
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
        certificate = ("--certificate", str(self._certificate)) if self._certificate is not None else ()
        # A verb must not start what a user has stopped, nor begin a new home.
        return (*target, *certificate, *(("--no-start",) if self.state in ("stopped", "homeless") else ()))

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
        *,
        brings_back: bool = False,
    ) -> None:
        """Ask the daemon in another thread; the answer, or the error, comes back in this one.

        For what the user does, a daemon that was killed is started (`brings_back`), not for what the window shows by
        itself. One that was told to stop is not started, nor is a home that is gone begun anew: the call fails, and
        says so.
        """
        number = next(self._numbers)
        self._calls[number] = _Call(ask, done, failed or self.call_failed.emit, brings_back=brings_back)
        self._asked.put(number)

    def start_daemon(
        self, done: Callable[[Health], object], failed: Callable[[MosaicError], object] | None = None
    ) -> None:
        """Also one that was told to stop: the user wants it."""

        def start(client: Client) -> Health:
            if not self.is_remote:
                if not self.home.lock.exists():
                    raise HomeVanished(self.home.root)
                ensure_daemon(self.home)
            return client.health()

        number = next(self._numbers)
        self._calls[number] = _Call(start, done, failed or self.call_failed.emit, is_start=True)
        self._asked.put(number)

    def _make_calls(self) -> None:
        while (number := self._asked.get()) is not None:
            self._post(self._answered, self._ask(number))

    def _ask(self, number: int) -> _Answer:
        try:
            call = self._calls[number]
            return _Answer(
                number, call.ask(self._connected(start=call.brings_back, is_asked=call.is_start)), is_good=True
            )
        except MosaicError as error:
            return _Answer(number, self._truth_of(error), is_good=False)
        except Exception as error:  # The border of the thread: it belongs to the caller.
            log.exception("link.call_failed")
            return _Answer(number, MosaicError(f"an error in the window: {error!r}"), is_good=False)

    def _connected(self, *, start: bool, is_asked: bool = False) -> Client:
        """The client; where the home's daemon was killed, a new one is started if `start`, unless `is_asked` does."""
        with self._connecting:
            if self._client is None:
                start = start or not self._has_looked
                self._client = Client(self.target, home=self.home, start=start, certificate=self._certificate)
            elif start and not is_asked and self._is_gone():
                # Its socket is the same file, so the client that is there finds it.
                bring_back(self.home)
        return self._client

    def _is_gone(self) -> bool:
        """Asked of the kernel too: what was seen last may be a second old, and a killed daemon no longer answers."""
        return not self.is_remote and (self.state in ("lost", "stopped", "homeless") or not running_address(self.home))

    def _watch(self) -> None:
        while not self._stopping.is_set():
            try:
                found: Health | MosaicError = self._connected(start=False).health(timeout_s=ANSWER_S)
            except MosaicError as error:
                found = self._truth_of(error)
            self._has_looked = True
            self._post(self._looked, found)
            self._stopping.wait(LOOK_S)

    def _truth_of(self, error: MosaicError) -> MosaicError:
        """Of a daemon of this machine that was there it can be seen why it does not answer."""
        was_there = isinstance(error, DaemonUnavailable) and self._client is not None and not self.is_remote
        return (why_gone(self.home) if was_there else None) or error

    def _post(self, signal: Any, value: object) -> None:
        if not self._stopping.is_set():
            self.tell(signal, value)

    def _deliver(self, answer: _Answer) -> None:
        call = self._calls.pop(answer.number)
        if not self._stopping.is_set():
            (call.done if answer.is_good else call.failed)(answer.value)

    def _take(self, found: Health | MosaicError) -> None:
        before = self.state
        if isinstance(found, MosaicError):
            self.state, self.problem = _state_of(found), str(found)
            if not isinstance(found, DaemonUnavailable) and before != self.state:
                self.call_failed.emit(found)
        else:
            self.state, self.problem, self.health = "connected", "", found
            self.health_changed.emit()
        if self.state != before:
            self.state_changed.emit()


def _state_of(problem: MosaicError) -> State:
    if isinstance(problem, HomeVanished):
        return "homeless"
    return "stopped" if isinstance(problem, DaemonStopped) else "lost"
