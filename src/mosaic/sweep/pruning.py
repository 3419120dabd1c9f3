"""When a trial that does badly is stopped: successive halving, median or Hyperband, over environment steps.

All of them compare a trial with what others had reached at the same step, from our own file alone, so that a
controller that was killed decides as the one before it would have. A trial is stopped, never shortened: its schedules
follow total_timesteps, which stays.

halving: at a quarter and at half of the steps only the best third goes on of all that ever came, once five others did
(asynchronous successive halving, arXiv:1810.05934). As proposals get better, more of them are among the best third, and
come through: a search that learns from few whole trials settles where single seeds were lucky. median: at 40, 60 and
80 % of the steps a trial stops that is worse than the median of the trials which came through, once five have.
hyperband: only the best third at 1/27, 1/9 and 1/3 of the steps; a trial's bracket, which its number decides, says from
which of these on, or never. Trial 0, the default settings, is what the others are compared with: it is never stopped.
"""

import statistics
from collections.abc import Iterable, Sequence

from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState, Trial, sort_key

MEDIAN_AT = (0.4, 0.6, 0.8)
HALVING_AT = (0.25, 0.5)
FEWEST = 5
"""Others that a trial is compared with, at least, by median and halving."""
NEARLY_DONE = 0.9
"""Share of the steps from which a trial goes on to its end: a value is worth more than the last tenth of the steps."""
ETA = 3
"""One in so many goes on."""
HALVINGS = 3


def rungs(plan: SweepPlan) -> list[int]:
    """Steps of a run at which it is looked at, ascending."""
    total = plan.total_timesteps
    if plan.prune in ("median", "halving"):
        steps = [int(total * share) for share in (MEDIAN_AT if plan.prune == "median" else HALVING_AT)]
    elif plan.prune == "hyperband":
        steps = [total // ETA**power for power in range(HALVINGS, 0, -1)]
    else:
        steps = []
    return sorted({step for step in steps if 0 < step < total})


def is_watched(plan: SweepPlan, trial: Trial) -> bool:
    """Whether a trial's values on the way are of any use."""
    is_open = trial.state == "running" and trial.prune_step is None
    return plan.prune != "none" and is_open and not trial.confirmed and not trial.is_reopened


def saves_steps(plan: SweepPlan, global_step: int) -> bool:
    """Whether stopping a run now leaves out enough of it; a short run may be nearly done when it is looked at."""
    return global_step < NEARLY_DONE * plan.total_timesteps


def stop_at(state: SweepState, trial: Trial) -> int | None:
    """The step at which this trial has lost; None if it goes on."""
    if trial.number == 0 or trial.prune_step is not None:
        return None
    steps = rungs(state.plan)
    reports = trial.reports
    for index, step in enumerate(steps):
        if step not in reports:
            continue
        others = [one.reports[step] for one in state.trials if one is not trial and step in one.reports]
        if state.plan.prune == "hyperband":
            if index >= bracket(trial.number, len(steps)) and _is_below_best_third(reports[step], others, state.plan):
                return step
        elif state.plan.prune == "halving":
            if len(others) >= FEWEST and _is_below_best_third(reports[step], others, state.plan):
                return step
        elif _is_below_median(reports[step], _came_through(state.trials, step, trial), state.plan):
            return step
    return None


def bracket(number: int, count: int) -> int:
    """Index of the first rung at which a trial can be stopped; `count` is never. Early rungs have more trials."""
    cycle = [at for at in range(count + 1) for _ in range(count + 1 - at)]
    # A step that shares no divisor with the length of the cycle mixes the brackets.
    return cycle[(number * 7) % len(cycle)] if cycle else 0


def _came_through(trials: Iterable[Trial], step: int, own: Trial) -> list[float]:
    return [one.reports[step] for one in trials if one is not own and one.state == "finished" and step in one.reports]


def _is_below_median(value: float, others: Sequence[float], plan: SweepPlan) -> bool:
    return len(others) >= FEWEST and sort_key(value, plan.goal) > sort_key(statistics.median(others), plan.goal)


def _is_below_best_third(value: float, others: Sequence[float], plan: SweepPlan) -> bool:
    every = sorted(sort_key(one, plan.goal) for one in (*others, value))
    return len(every) >= ETA and sort_key(value, plan.goal) > every[len(every) // ETA - 1]
