"""The recorder: takes events from the learner without ever making it wait, and hands them in order to the sinks."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Protocol

from cleanrl_worker.sdk.record.spool import Spool
from mosaic.errors import HomeUnusable
from mosaic.spec.events import Event, EventBody, RunCompleted, RunFailed, Warned

HEARTBEAT_S = 1.0
FLUSH_INTERVAL_S = 0.25
"""What kill -9 can lose: at most this much of the newest events."""


class Pulse:
    """How fast the steps go on, once a second."""

    def __init__(self, step: int = 0) -> None:
        self._at, self._step = time.monotonic(), step

    def steps_per_s(self, step: int) -> float | None:
        """None if it was asked less than a second ago."""
        elapsed_s = time.monotonic() - self._at
        if elapsed_s < HEARTBEAT_S:
            return None
        rate = (step - self._step) / elapsed_s
        self._at, self._step = self._at + elapsed_s, step
        return round(max(rate, 0.0), 1)


class Sink(Protocol):
    """Where events go beside the spool: TensorBoard, the terminal."""

    def write(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


class EventRecorder:
    """One thread that numbers the events and writes them to the spool and its mirrors, four times a second.

    The spool is the record: if it cannot be written, the learner finds the reason in `error` and ends the run instead
    of training unrecorded. A mirror that cannot be written (a closed terminal, another disk) is left with a warning.
    """

    def __init__(self, spool: Spool, mirrors: Sequence[Sink], *, beat: Callable[[], EventBody | None]) -> None:
        self._spool = spool
        self._mirrors = list(mirrors)
        self._seq = spool.last_seq
        self._beat = beat
        self._queue: deque[tuple[float, EventBody]] = deque()
        self._ended = False
        self._writing = threading.Lock()
        self._closing = threading.Event()
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def emit(self, body: EventBody, *, at: float | None = None) -> None:
        """Take an event of now, or of another moment."""
        # deque.append is atomic: no lock that the learner could wait for.
        self._queue.append((time.time() if at is None else at, body))

    def flush(self) -> None:
        """Put what was emitted so far on disk. Not for the learner's thread: this waits."""
        with self._writing:
            self._write()
            self._spool.sync()

    def close(self) -> None:
        """Write what is left; after this every event is on disk, or `error` says why not."""
        self._closing.set()
        self._thread.join()
        try:
            self._spool.close()
        except OSError as error:
            self.error = self.error or _unwritable(error)
        for mirror in tuple(self._mirrors):
            self._attempt(mirror, mirror.close)

    def _work(self) -> None:
        try:
            while not self._closing.wait(FLUSH_INTERVAL_S):
                beat = self._beat()
                with self._writing:
                    self._write(beat)
            with self._writing:
                self._write()
                self._write()  # What the first one had to say of a mirror.
        except Exception as error:  # A border: the thread's only way to say that the disk is full is this field.
            self.error = error

    def _write(self, beat: EventBody | None = None) -> None:
        if self.error is not None:
            raise self.error  # What follows a torn line or a gap is lost to every reader.
        events: list[Event] = []
        while self._queue:
            events.append(self._numbered(*self._queue.popleft()))
        # The run may have ended since its heart was asked: nothing beats after that.
        if beat is not None and not self._ended:
            events.append(self._numbered(time.time(), beat))
        if not events:
            return
        try:
            self._spool.write(events)
        except OSError as error:
            self.error = _unwritable(error)
            raise self.error from error
        except Exception as error:
            self.error = error
            raise
        for mirror in tuple(self._mirrors):
            self._attempt(mirror, lambda mirror=mirror: mirror.write(events))

    def _numbered(self, moment: float, body: EventBody) -> Event:
        self._seq += 1
        self._ended = self._ended or isinstance(body, RunCompleted | RunFailed)
        return Event(self._seq, moment, body)

    def _attempt(self, mirror: Sink, action: Callable[[], None]) -> None:
        try:
            action()
        except OSError as error:
            self._mirrors.remove(mirror)
            with suppress(OSError):  # The reason is known already.
                mirror.close()
            name = type(mirror).__name__
            self.emit(Warned(message=f"{name} gets no more events: {error}; events.jsonl has them all"))


def _unwritable(error: OSError) -> HomeUnusable:
    return HomeUnusable(
        f"events.jsonl could not be written: {error}; the run ends rather than train unrecorded:"
        " free some disk and resume it"
    )
