"""The watch over the environment: a call that does not come back is reported, and keeps no session from ending."""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

TICK_S = 0.1
LAST_CHANCE_S = 2.0
"""From the wish to end to giving up on a call that hangs."""


class Watchdog:
    """`stalled` is called once for each call that takes longer than it may, `give_up` if the end is asked for then."""

    def __init__(self, stall_s: float, *, stalled: Callable[[str], None], give_up: Callable[[str], None]) -> None:
        self._stall_s = stall_s
        self._stalled = stalled
        self._give_up = give_up
        self._what = ""
        self._entered_at = 0.0
        self._reported = False
        self._end_asked_at: float | None = None
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="watch", daemon=True)
        self._thread.start()

    @contextmanager
    def over(self, what: str) -> Generator[None]:
        """While a call into the environment lasts."""
        self._entered_at, self._reported = time.monotonic(), False
        self._what = what
        try:
            yield
        finally:
            self._what = ""

    def ask_to_end(self) -> None:
        self._end_asked_at = self._end_asked_at or time.monotonic()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._closing.wait(TICK_S):
            what, now = self._what, time.monotonic()
            if not what:
                continue
            lasts_s = now - self._entered_at
            if lasts_s > self._stall_s and not self._reported:
                self._reported = True
                self._stalled(f"{what} has not come back for {lasts_s:.0f} s")
            asked = self._end_asked_at
            if asked is not None and min(now - asked, lasts_s) > LAST_CHANCE_S:
                self._give_up(f"{what} has not come back for {lasts_s:.0f} s; the session was ended without it")
                return
