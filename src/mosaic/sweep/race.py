"""The race of a confirmation, as the file of a sweep tells it: who is in which round, and how much is still to come.

The default settings are what the winner is compared with: they are in no round, and have all fresh seeds. The daemon
reads this file too, so that nothing here needs numpy; what a round decides is in `race_decision`.
"""

from collections.abc import Sequence

from mosaic.sweep import race_rounds
from mosaic.sweep.race_rounds import Round
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState, Trial

Asked = tuple[list[int], list[int]]
"""Trials, and the fresh seeds that each of them is to have."""


def rounds_of(plan: SweepPlan, settings: int) -> list[Round]:
    seeds = len(plan.confirm_seeds)
    return race_rounds.rounds(settings, seeds) if plan.race else [Round(settings, seeds)]


def first(plan: SweepPlan, numbers: Sequence[int]) -> Asked:
    return [*numbers], [*plan.confirm_seeds[: rounds_of(plan, len(numbers))[0].seeds]]


def planned_runs(state: SweepState) -> int:
    """Of the whole confirmation, once its settings are chosen; those of rounds that are still to come among them."""
    racing = racers(state)
    asked = sum(len(trial.confirmed) for trial in state.trials)
    if not racing:
        return asked
    default = len(state.plan.confirm_seeds) if state.trials[0].value is not None else 0
    return max(asked, race_rounds.runs(rounds_of(state.plan, len(racing))) + default)


def racers(state: SweepState) -> list[Trial]:
    return [trial for trial in state.trials[1:] if trial.confirmed]


def still_in(state: SweepState) -> list[Trial]:
    """Those that no round has left behind."""
    racing = racers(state)
    most = max((len(trial.confirmed) for trial in racing), default=0)
    return [trial for trial in racing if len(trial.confirmed) == most]
