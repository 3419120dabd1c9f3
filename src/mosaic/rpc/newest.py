"""The newest message of a stream: what came while its reader was busy is dropped, not queued."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_NOTHING: Any = object()


class Newest(Generic[T]):
    """Takes a stream's messages in a thread of its own and keeps one; ends, or raises, as the stream does."""

    def __init__(self, messages: Iterator[T], cancel: Callable[[], object]) -> None:
        self._messages = messages
        self._cancel = cancel
        self._changed = threading.Condition()
        self._newest: T = _NOTHING
        self._error: Exception | None = None
        self._over = False
        self._stopped = False
        self._thread = threading.Thread(target=self._take, name="newest", daemon=True)
        self._thread.start()

    def __iter__(self) -> "Newest[T]":
        return self

    def __next__(self) -> T:
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._newest is not _NOTHING)
            message, self._newest = self._newest, _NOTHING
        if message is not _NOTHING and not self._stopped:
            return message
        error, self._error = self._error, None
        if error is not None and not self._stopped:
            raise error
        raise StopIteration

    def stop(self) -> None:
        """End the stream, from any thread and without waiting; its reader gets its end."""
        self._stopped = True
        self._cancel()

    def close(self) -> None:
        self.stop()
        self._thread.join()

    def _take(self) -> None:
        try:
            for message in self._messages:
                with self._changed:
                    self._newest = message
                    self._changed.notify()
        except Exception as error:  # A border: it belongs to the reader, in the other thread.
            self._error = error
        with self._changed:
            self._over = True
            self._changed.notify_all()
