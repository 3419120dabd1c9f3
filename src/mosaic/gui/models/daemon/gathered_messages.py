"""The messages of a stream in lists: what came while its reader was busy comes at once."""

import threading
from collections.abc import Iterator
from typing import Generic, TypeVar

from mosaic.rpc.client import Stream

T = TypeVar("T")
MOST = 1000
"""Messages that wait; the rest waits at the daemon."""


class Gathered(Generic[T]):
    """Takes the messages in a thread of its own; ends, or raises, as the stream does."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream
        self._changed = threading.Condition()
        self._waiting: list[T] = []
        self._error: Exception | None = None
        self._over = False
        self._thread = threading.Thread(target=self._take, name="gathered", daemon=True)

    def __iter__(self) -> Iterator[list[T]]:
        self._thread.start()
        try:
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: self._over or self._waiting)
                    messages, self._waiting = self._waiting, []
                    self._changed.notify_all()
                if messages:
                    yield messages
                elif self._error is not None:
                    raise self._error
                else:
                    return
        finally:
            self._stream.stop()
            with self._changed:
                self._over = True
                self._changed.notify_all()
            self._thread.join()

    def _take(self) -> None:
        try:
            for message in self._stream:
                with self._changed:
                    self._changed.wait_for(lambda: self._over or len(self._waiting) < MOST)
                    self._waiting.append(message)
                    self._changed.notify_all()
        except Exception as error:  # A border: it belongs to the reader, in the other thread.
            self._error = error
        with self._changed:
            self._over = True
            self._changed.notify_all()
