"""The recorder: takes events from the learner without ever making it wait, and hands them in order to the sinks."""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol

from mosaic.spec.events import Event, EventBody

FLUSH_INTERVAL_S = 0.25
"""What kill -9 can lose: at most this much of the newest events."""


class Sink(Protocol):
    """Where events go: the spool, TensorBoard, the terminal, the daemon."""

    def write(self, events: Sequence[Event]) -> None: ...

    def close(self) -> None: ...


class Recorder:
    """One thread that numbers the events and writes them to every sink, four times a second."""

    def __init__(self, sinks: Sequence[Sink], *, last_seq: int, beat: Callable[[], EventBody | None]) -> None:
        self._sinks = sinks
        self._seq = last_seq
        self._beat = beat
        self._queue: deque[tuple[float, EventBody]] = deque()
        self._closing = threading.Event()
        self.error: Exception | None = None
        """What a sink failed with: the learner looks at it and ends the run, instead of training unrecorded."""
        self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
        self._thread.start()

    def emit(self, body: EventBody) -> None:
        # deque.append is atomic: no lock that the learner could wait for.
        self._queue.append((time.time(), body))

    def close(self) -> None:
        """Write what is left; after this every event is on disk."""
        self._closing.set()
        self._thread.join()
        for sink in self._sinks:
            sink.close()

    def _work(self) -> None:
        try:
            while not self._closing.wait(FLUSH_INTERVAL_S):
                beat = self._beat()
                if beat is not None:
                    self.emit(beat)
                self._flush()
            self._flush()
        except Exception as error:  # A border: the thread's only way to say that the disk is full is this field.
            self.error = error

    def _flush(self) -> None:
        events: list[Event] = []
        while self._queue:
            moment, body = self._queue.popleft()
            self._seq += 1
            events.append(Event(self._seq, moment, body))
        if events:
            for sink in self._sinks:
                sink.write(events)
