"""What a script's process is asked by signals: SIGTERM ends the script as Ctrl-C would, a second one at once.

A script knows nothing of step boundaries, so the interrupt comes where it is; `except KeyboardInterrupt`, `finally` and
`with` work as they do in a terminal. SIGUSR1 holds it inside the handler until SIGUSR2 lets it go on.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any

from mosaic.spec.processes import caught_signals

HOLD_POLL_S = 0.02


class Stopping:
    def __init__(self) -> None:
        self.asked = False
        """The end was asked for."""
        self.ended = False
        """The script is over: there is nothing left to interrupt."""
        self._held = False
        self._tell: list[Callable[[], None]] = []

    def when_asked(self, tell: Callable[[], None]) -> None:
        """Called in the signal handler, before the script is interrupted."""
        self._tell.append(tell)

    def ask(self) -> None:
        """From another thread: as if another process had sent SIGTERM."""
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)

    @contextmanager
    def listening(self) -> Generator[None]:
        answers = {
            signal.SIGTERM: self._stop,
            signal.SIGINT: self._stop,
            signal.SIGUSR1: self._hold,
            signal.SIGUSR2: self._let_go,
        }
        with caught_signals.answered_by(answers):
            # The script's own processes end by these signals, as they would without us.
            os.register_at_fork(after_in_child=lambda: _forget(answers))
            yield

    def check(self) -> None:
        """At a step of an environment: an interrupt that was lost (raised in a destructor) is raised again."""
        if self.asked and not self.ended:
            raise KeyboardInterrupt

    def _stop(self, number: int, _: Any) -> None:
        caught_signals.answer(number, signal.SIG_DFL)
        self.asked, self._held = True, False
        for tell in self._tell:
            tell()
        if not self.ended:
            raise KeyboardInterrupt

    def _hold(self, _: int, __: Any) -> None:
        self._held = True
        while self._held:
            time.sleep(HOLD_POLL_S)

    def _let_go(self, _: int, __: Any) -> None:
        self._held = False


def _forget(numbers: Iterable[signal.Signals]) -> None:
    for number in numbers:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
