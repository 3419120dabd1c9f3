"""Which settings of a confirmation get further seeds: decided from the values that the file has, round by round.

A line of the file says who runs in a round. What a round decides follows from the lines before it, so that a controller
that was killed between two rounds decides as the one before it would have.
"""

from collections.abc import Sequence

import numpy as np

from mosaic.statistics import aggregates
from mosaic.sweep import race
from mosaic.sweep.race import Asked
from mosaic.sweep.sweep_plan import Goal
from mosaic.sweep.sweep_state import SweepState, Trial, sort_key


def due(state: SweepState) -> list[Asked]:
    """What is to be asked for now, in a confirmation; no further round while one has runs that are not over."""
    racing = race.racers(state)
    if not racing:
        return []
    seeds = state.plan.confirm_seeds
    made: list[Asked] = []
    default = state.trials[0]
    if default.value is not None and len(default.confirmed) < len(seeds):
        made.append(([0], [*seeds]))
    left = race.still_in(state)
    ran = len(left[0].confirmed)
    further = next((one for one in race.rounds_of(state.plan, len(racing)) if one.seeds > ran), None)
    if further is not None and not any(_is_open(trial) for trial in left):
        best = ranked(left, racing, state.plan.goal)[: further.settings]
        made.append((sorted(trial.number for trial in best), [*seeds[ran : further.seeds]]))
    return made


def ranked(trials: Sequence[Trial], among: Sequence[Trial], goal: Goal) -> list[Trial]:
    """Best first by IQM; a seed that failed counts as the worst score that any of `among` has."""
    every = [value for trial in among for value in trial.confirmed_values]
    worst = max(every, key=lambda value: sort_key(value, goal), default=0.0)

    def key(trial: Trial) -> float:
        counted = np.array([*trial.confirmed_values, *[worst] * trial.failed_seeds], dtype=np.float64)
        return sort_key(float(aggregates.iqm([counted])), goal)

    return sorted(trials, key=key)


def _is_open(trial: Trial) -> bool:
    return any(run.end in ("open", "stopped") for run in trial.confirmed.values())
