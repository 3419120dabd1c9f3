"""What an exporter gets of the processor: whether it waits for it, and more of it once its run has ended."""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from mosaic.log import get_logger
from mosaic.operating_system import higher_session_priority, raise_priority, waited_s

MILD_NICE = 10
"""How much an exporter gives way whose run has ended: nothing of its own run is slowed down any more."""
LOOK_S = 5.0
STARVED = 0.5
"""It says that it waits where it has waited for more than this share of the time."""

log = get_logger()


@dataclass
class Waiting:
    """Whether a thread waits for the processor, judged from one look to the next."""

    thread: int
    at: float = 0.0
    waited: float | None = None

    def look(self, now: float, waited: float | None) -> bool:
        """`waited` are the seconds in all for which the thread could have run and did not; None if it is not known."""
        before, self.waited = self.waited, waited
        passed, self.at = now - self.at, now
        return before is not None and waited is not None and passed > 0 and (waited - before) / passed > STARVED


class ProcessorShare:
    """A thread that looks every few seconds; `tell` hears when the thread that made it begins or ends to wait."""

    def __init__(self, tell: Callable[[bool], object], has_ended: Callable[[], bool]) -> None:
        self._tell, self._has_ended = tell, has_ended
        self._waiting = Waiting(threading.get_native_id())
        self._over = threading.Event()
        self._is_mild = os.nice(0) <= MILD_NICE
        self._thread = threading.Thread(target=self._watch, name="processor-share", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        told = False
        while not self._over.wait(LOOK_S):
            if not self._is_mild and self._has_ended():
                self._is_mild = True
                give_way_less()
            waits = self._waiting.look(time.monotonic(), waited_s(self._waiting.thread))
            if waits != told:
                told = waits
                self._tell(waits)


def give_way_less() -> None:
    """Also of the programs that it has started. Linux may refuse the one and allow the other, so both are tried."""
    with suppress(OSError):
        higher_session_priority(MILD_NICE)
    try:
        raise_priority(MILD_NICE)
    except PermissionError:
        log.info("priority.kept", reason="this user may not raise it; the session's share of the processor was raised")
    else:
        log.info("priority.raised", nice=MILD_NICE)
