"""Feeding an exporter: every event that the curves keep, in order, until the run has ended."""

from collections.abc import Callable

from mosaic.errors import MosaicError
from mosaic.spec.events import Event, RunCompleted, RunStarted
from mosaic.spec.run_dir import RunDir
from mosaic.track import follow_events
from mosaic.track.exporter import Exporter
from mosaic.track.rows import Attempts


class Rewound(Exception):
    """The run was resumed from before what is exported already: rows cannot be taken back, so begin anew."""


def wait_for_begin(run_dir: RunDir) -> None:
    """The settings in config.json are complete once the run has begun."""
    if not any(event is not None for event in follow_events.follow(run_dir)):
        raise MosaicError("the run has written no events")


def feed(run_dir: RunDir, exporter: Exporter, progress: Callable[[Event | None, int], None]) -> RunCompleted | None:
    """Hand over every event; how the last attempt ended. `progress` hears of each, and of moments without one."""
    attempts = Attempts(follow_events.starts(run_dir))
    ending: RunCompleted | None = None
    furthest = 0
    for event in follow_events.follow(run_dir):
        if event is None:
            exporter.flush()
        else:
            cut = attempts.note(event)
            if cut is not None and furthest > cut:
                raise Rewound
            if isinstance(event.body, (RunStarted, RunCompleted)):
                ending = event.body if isinstance(event.body, RunCompleted) else None
            if attempts.keeps(event):
                furthest = max(furthest, getattr(event.body, "global_step", 0))
                exporter.take(event)
        progress(event, exporter.rows)
    return ending
