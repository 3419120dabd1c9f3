"""What a worker is asked by signals: SIGTERM and Ctrl-C end it in good order at its next step boundary, a second one
ends it at once; SIGUSR1 holds it there, SIGUSR2 lets it go on."""

import signal
from collections.abc import Callable
from contextlib import AbstractContextManager

from mosaic.spec.processes import caught_signals


def on_stop_signal(ask: Callable[[], None]) -> AbstractContextManager[None]:
    def stop(number: int, _: object) -> None:
        ask()
        caught_signals.answer(number, signal.SIG_DFL)

    return caught_signals.answered_by({signal.SIGTERM: stop, signal.SIGINT: stop})


def on_hold_signals(hold: Callable[[], None], let_go: Callable[[], None]) -> AbstractContextManager[None]:
    answers = {signal.SIGUSR1: hold, signal.SIGUSR2: let_go}

    def answer(number: int, _: object) -> None:
        answers[signal.Signals(number)]()

    return caught_signals.answered_by(dict.fromkeys(answers, answer))
