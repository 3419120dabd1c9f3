"""Errors that come back at every look, logged now and then: a full disk stays full, and the log may lie on it."""

import sqlite3
import time
from collections.abc import Callable

from mosaic.log import get_logger

INTERVAL_S = 30.0

log = get_logger()


class RepeatedErrors:
    """Logs an error at once, the same error again no sooner than `INTERVAL_S` later, with how often it came between."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, int]] = {}
        """When each was logged last, and how often it has come since."""

    def tell(self, event: str, error: Exception, **context: str) -> None:
        key = f"{event} {context} {error!r}"
        now = self._clock()
        at, repeated = self._told.get(key, (now - INTERVAL_S, 0))
        if now - at < INTERVAL_S:
            self._told[key] = (at, repeated + 1)
            return
        # Those that have not come back are forgotten, so that this does not grow.
        self._told = {known: told for known, told in self._told.items() if now - told[0] < 2 * INTERVAL_S}
        self._told[key] = (now, 0)
        expected = isinstance(error, (OSError, sqlite3.OperationalError))
        more: dict[str, str | int] = {**context, "repeated": repeated} if repeated else {**context}
        log.error(event, error=str(error), exc_info=None if expected else error, **more)
