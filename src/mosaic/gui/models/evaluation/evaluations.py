"""What the selected evaluations have measured: statistics and comparisons, computed outside of the GUI thread."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from PySide6.QtCore import QTimer, Signal

from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, number
from mosaic.spec import return_statistics as statistics
from mosaic.spec.return_statistics import Interval, Paired

RETURNS, MEANS = "eval/episodic_return", "eval/mean_return"
SEEDS = 2**32
SHORTEST_PAUSE_MS = 200
PAUSES = 4
"""Times as long as the last computation took."""


@dataclass(frozen=True, eq=False)
class Played:
    """One evaluation as far as it is: a return for each episode, in the order of their seeds."""

    run_id: str
    name: str
    colour: int
    env_id: str
    seed: int
    returns: Column
    batches: int

    @property
    def key(self) -> tuple[object, ...]:
        """What tells whether there is something new: returns only grow."""
        return self.run_id, self.name, self.colour, len(self.returns), self.batches

    def by_seed(self) -> dict[int, float]:
        return {(self.seed + place) % SEEDS: value for place, value in enumerate(self.returns.tolist())}


@dataclass(frozen=True)
class Assessed:
    """What is shown of it."""

    played: Played
    mean: float
    std: float
    median: float
    iqm: Interval
    pair: Paired | None = None
    """Against the reference; None for the reference itself, and where `why_not` says why."""
    why_not: str = ""

    @property
    def line(self) -> str:
        """The last batch in words; batches are of equal size."""
        played = self.played
        if not played.batches:
            return ""
        last = played.returns[-(len(played.returns) // played.batches) :]
        spread = f"{number(float(last.mean()))} ± {number(float(last.std()))}"
        ends = f"min {number(float(last.min()))}, max {number(float(last.max()))}"
        return f"batch {played.batches} · {len(last)} episodes · return {spread} · {ends}"


class Evaluations(BackgroundWork):
    """Of the runs that are selected those that evaluate; the first one is what others are compared with."""

    changed = Signal()
    _made = Signal(object)

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self.assessed: Sequence[Assessed] = ()
        self._studio = studio
        self._wanted: tuple[object, ...] = ()
        self._is_busy = self._is_seen = False
        self._began_s = 0.0
        self._pause = QTimer(self, singleShot=True)
        """A repeating evaluation has something new all the time: computing may take a part of it, not all."""
        self._pause.timeout.connect(self.look)
        self._made.connect(self._take)
        studio.selection_changed.connect(self.look)
        studio.runs_changed.connect(self.look)
        studio.opened_changed.connect(self._hear)

    def watch(self, seen: bool) -> None:
        """Whether the page is visible; nothing is computed otherwise."""
        self._is_seen = seen
        self.look()

    def look(self) -> None:
        """See what there is, and compute if it is something new."""
        if not self._is_seen or self._is_busy:
            return
        played = self._played()
        wanted = tuple(one.key for one in played)
        others = {one.run_id for one in played} != {one.played.run_id for one in self.assessed}
        if wanted == self._wanted or (self._pause.isActive() and not others):
            return
        self._wanted = wanted
        if not played:
            self._show(())
            return
        self._is_busy, self._began_s = True, time.monotonic()
        self.run_beside(partial(self._compute, played), "evaluations")

    def _hear(self, _run_id: str) -> None:
        self.look()

    def _played(self) -> list[Played]:
        found: list[Played] = []
        for run_id in self._studio.selected:
            record, series = self._studio.runs.get(run_id), self._studio.curves.get(run_id, RETURNS)
            if record is None or record.kind != "policy_eval" or series is None or not len(series):
                continue
            means = self._studio.curves.get(run_id, MEANS)
            colour = self._studio.colour_of(run_id)
            values, batches = series.values, 0 if means is None else len(means)
            found.append(Played(run_id, name_of(record), colour, record.env_id, record.seed, values, batches))
        return found

    def _compute(self, played: Sequence[Played]) -> None:
        self.tell(self._made, assess(played))

    def _take(self, assessed: Sequence[Assessed]) -> None:
        self._is_busy = False
        self._pause.start(max(SHORTEST_PAUSE_MS, round(PAUSES * 1000 * (time.monotonic() - self._began_s))))
        selected = set(self._studio.selected)
        self._show([one for one in assessed if one.played.run_id in selected])
        self.look()

    def _show(self, assessed: Sequence[Assessed]) -> None:
        self.assessed = assessed
        self.changed.emit()


def assess(played: Sequence[Played]) -> list[Assessed]:
    """Statistics of each, and what it returns more than the first on the same episodes."""
    made: list[Assessed] = []
    reference = played[0]
    for one in played:
        pair, why_not = None, ""
        if one is not reference:
            pair, why_not = _compared(one, reference)
        values = one.returns
        with np.errstate(invalid="ignore"):
            made.append(
                Assessed(
                    one,
                    float(values.mean()),
                    float(values.std()),
                    float(np.median(values)),
                    statistics.iqm(values),
                    pair,
                    why_not,
                )
            )
    return made


def _compared(one: Played, reference: Played) -> tuple[Paired | None, str]:
    if one.env_id != reference.env_id:
        return None, f"plays {one.env_id}, not {reference.env_id}"
    pair = statistics.paired(one.by_seed(), reference.by_seed())
    return pair, "" if pair else "no episode in common: evaluate both with the same seed"
