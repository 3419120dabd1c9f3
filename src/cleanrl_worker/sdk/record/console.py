"""The console sink: upstream's lines, so that users' log parsers keep working."""

import sys
import threading
from collections.abc import Sequence
from queue import SimpleQueue

from mosaic.spec.events import CheckpointSaved, Episode, EvalBatch, Event, PolicySaved, RunStarted, Scalars, Warned


class Console:
    """A sink that prints what CleanRL prints; a quiet one without the lines that come with the steps.

    In a thread of its own: a terminal that stands still (Ctrl-S, a pager) must hold up neither spool nor checkpoints.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._left_out = (Episode, Scalars) if quiet else ()
        self._texts: SimpleQueue[str | None] = SimpleQueue()
        self._error: OSError | None = None
        self._thread = threading.Thread(target=self._work, name="console", daemon=True)
        self._thread.start()

    def write(self, events: Sequence[Event]) -> None:
        if self._error is not None:
            raise self._error
        shown = (event for event in events if not isinstance(event.body, self._left_out))
        lines = [line for event in shown if (line := _line(event)) is not None]
        if lines:
            self._texts.put("\n".join(lines) + "\n")

    def close(self) -> None:
        self._texts.put(None)
        self._thread.join()

    def _work(self) -> None:
        try:
            for text in iter(self._texts.get, None):
                sys.stdout.write(text)
                sys.stdout.flush()
        except OSError as error:
            self._error = error


def _line(event: Event) -> str | None:
    match event.body:
        case Episode(global_step=step, episodic_return=value):
            return f"global_step={step}, episodic_return={value}"
        case Scalars(values=values) if "charts/SPS" in values:
            return f"SPS: {int(float(values['charts/SPS']))}"
        case Scalars(global_step=index, values={"eval/episodic_return": value}):
            return f"eval_episode={index}, episodic_return={value}"
        case PolicySaved(path=path):
            return f"model saved to {path}"
        case CheckpointSaved(path=path):
            return f"checkpoint saved to {path}"
        case RunStarted(resumed_from_step=int(step)):
            return f"resumed from global_step={step}"
        case EvalBatch() as batch:
            low, high = float(batch.minimum), float(batch.maximum)
            means = f"avg={float(batch.mean):.1f} min={low:.1f} max={high:.1f}"
            return f"eval batch {batch.batch} | episodes={batch.episodes} {means}"
        case Warned(message=message):
            return f"warning: {message}"
        case _:
            return None
