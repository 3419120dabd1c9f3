"""What a worker is asked by signals: SIGTERM and Ctrl-C end it in good order at its next step boundary, a second one
ends it at once; SIGUSR1 holds it there, SIGUSR2 lets it go on."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager

from mosaic.spec.processes import caught_signals


@contextmanager
def on_stop_signal(ask: Callable[[], None]) -> Generator[None]:
    def stop(number: int, _: object) -> None:
        ask()
        caught_signals.answer(number, signal.SIG_DFL)

    previous = {number: caught_signals.answer(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            caught_signals.answer(number, handler)


@contextmanager
def on_hold_signals(hold: Callable[[], None], let_go: Callable[[], None]) -> Generator[None]:
    answers = {signal.SIGUSR1: hold, signal.SIGUSR2: let_go}

    def answer(number: int, _: object) -> None:
        answers[signal.Signals(number)]()

    previous = {number: caught_signals.answer(number, answer) for number in answers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            caught_signals.answer(number, handler)
