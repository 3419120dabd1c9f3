"""What a worker is asked by signals: SIGTERM and Ctrl-C end it in good order at its next step boundary, a second one
ends it at once; SIGUSR1 holds it there, SIGUSR2 lets it go on."""

import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager


@contextmanager
def on_stop_signal(ask: Callable[[], None]) -> Generator[None]:
    def stop(number: int, _: object) -> None:
        ask()
        signal.signal(number, signal.SIG_DFL)

    previous = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


@contextmanager
def on_hold_signals(hold: Callable[[], None], let_go: Callable[[], None]) -> Generator[None]:
    answers = {signal.SIGUSR1: hold, signal.SIGUSR2: let_go}

    def answer(number: int, _: object) -> None:
        answers[signal.Signals(number)]()

    previous = {number: signal.signal(number, answer) for number in answers}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
