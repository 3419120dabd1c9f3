"""What streams wait for; they read what is new from disk at their own pace, so a slow one delays no other."""

import threading


class ChangeSignal:
    """Rings when something changed; a waiter says which ring it heard last, so that none is missed."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._rings = 0
        self._closed = False

    @property
    def rings(self) -> int:
        return self._rings

    @property
    def closed(self) -> bool:
        return self._closed

    def ring(self) -> None:
        with self._condition:
            self._rings += 1
            self._condition.notify_all()

    def wait(self, heard: int, timeout_s: float) -> int:
        """Block until there is a ring after `heard`, at most `timeout_s`; the newest ring."""
        with self._condition:
            self._condition.wait_for(lambda: self._rings != heard or self._closed, timeout_s)
            return self._rings

    def close(self) -> None:
        """Wake every waiter, and let none wait again."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
