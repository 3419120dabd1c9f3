"""Waiting by polling: at first often, then less and less, because each look takes time from what is waited for."""

import time
from collections.abc import Iterator

FIRST_S = 0.01
LONGEST_S = 0.2


def looks(timeout_s: float, *, longest_s: float = LONGEST_S) -> Iterator[None]:
    """Each turn is one more look; ends when the time is over. The pauses are a tenth of what was waited so far."""
    started = time.monotonic()
    while True:
        yield
        waited_s = time.monotonic() - started
        if waited_s > timeout_s:
            return
        time.sleep(min(max(FIRST_S, 0.1 * waited_s), longest_s))
