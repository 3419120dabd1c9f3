"""The console sink: upstream's lines, so that people's log parsers keep working."""

import sys
from collections.abc import Sequence

from mosaic.spec.events import CheckpointSaved, Episode, EvalBatch, Event, PolicySaved, RunStarted, Scalars, Warned


class Console:
    """A sink that prints what CleanRL prints; a quiet one without the lines that come with the steps."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._left_out = (Episode, Scalars) if quiet else ()

    def write(self, events: Sequence[Event]) -> None:
        shown = (event for event in events if not isinstance(event.body, self._left_out))
        lines = [line for event in shown if (line := _line(event)) is not None]
        if lines:
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()

    def close(self) -> None:
        sys.stdout.flush()


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
            return f"eval batch {batch.batch} | episodes={batch.episodes} avg={float(batch.mean):.1f}"
        case Warned(message=message):
            return f"warning: {message}"
        case _:
            return None
