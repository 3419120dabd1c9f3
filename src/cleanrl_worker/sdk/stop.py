"""Asked to stop: SIGTERM and Ctrl-C end a run in good order at its next step boundary, a second one ends it at once."""

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
