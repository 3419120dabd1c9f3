"""The second stage: the best settings and the default again with fresh seeds, and what these seeds allow to say.

A trial's own value chose it, and so flatters it; only seeds that chose nothing say what settings are worth.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from mosaic.numbers import decimals
from mosaic.statistics import aggregates, improvement, stratified_bootstrap
from mosaic.statistics.intervals import UPPER, Interval
from mosaic.sweep import race, race_decision
from mosaic.sweep.sweep_state import SweepState, Trial

EVEN = 0.5
"""The probability of improvement of settings that are as good as the default."""


@dataclass(frozen=True)
class Confirmed:
    """Settings, and their scores with fresh seeds."""

    trial: Trial
    values: Sequence[float]
    failed: int
    """Seeds that gave no score; they are not counted, which flatters the others."""
    is_dropped: bool
    """It fell behind in the race and got no further seeds, at a moment that was a bad one for it."""
    iqm: Interval
    improvement: Interval | None
    """Probability that a run scores better than one of the default settings; None for these."""
    of_default: int = 0
    """Seeds of the default settings that gave a score."""
    spec: str = ".1f"
    """How the scores are printed."""
    is_surely_better: bool = False
    """Than the default, also as the best of so many: chance alone makes one of five look better than one of one."""

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def seeds_text(self) -> str:
        """As a table has it."""
        failed = f" ({self.failed} failed)" if self.failed else ""
        return f"{self.n}{failed}{', dropped' if self.is_dropped else ''}"

    @property
    def iqm_text(self) -> str:
        return self.iqm.text(self.n, self.spec)

    @property
    def improvement_text(self) -> str:
        """With what its smaller n allows; empty for the default settings."""
        return "" if self.improvement is None else self.improvement.text(min(self.n, self.of_default), ".2f")

    def as_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial.number,
            "n": self.n,
            "failed": self.failed,
            "dropped": self.is_dropped,
            "iqm": self.iqm.as_json(),
            "improvement": self.improvement.as_json() if self.improvement is not None else None,
            "values": list(self.values),
        }


def chosen(state: SweepState) -> list[int]:
    """Trials to confirm beside the default: the best of the others; none where there are no others."""
    others = [trial.number for trial in state.ranking() if trial.number and trial.params != _default_params(state)]
    return others[: state.plan.confirm_best]


def results(state: SweepState) -> list[Confirmed]:
    """Of all settings with a score, best first; behind them those that the race has dropped, the last ones first."""
    default = state.trials[0].confirmed_values if state.trials else []
    tried = [trial for trial in state.trials if trial.confirmed_values]
    candidates = len(race.racers(state))
    spec = f".{decimals([value for trial in tried for value in trial.confirmed_values])}f"
    dropped = {trial.number for trial in race.racers(state)} - {trial.number for trial in race.still_in(state)}
    best_first = race_decision.ranked(tried, tried, state.plan.goal)
    best_first.sort(key=lambda trial: -len(trial.confirmed) if trial.number in dropped else -math.inf)
    return [_result(trial, default, candidates, trial.number in dropped, spec, state) for trial in best_first]


def statement(state: SweepState) -> str:
    """What may be said at the end, in plain words."""
    found = results(state)
    if not found:
        is_over = state.confirming and state.plan.confirm_best and not any(trial.confirmed for trial in state.trials)
        return "There is nothing to confirm: no settings but the default ended well." if is_over else ""
    best, dropped = found[0], _dropped(found)
    default = next((one for one in found if one.trial.number == 0), None)
    first = f"Trial {best.trial.number}: IQM {best.iqm_text} over {_seeds(best)}"
    if default is None:
        return f"{first}. The default settings gave no score to compare with.{dropped}"
    if best is default:
        return f"The default settings: IQM {best.iqm_text} over {_seeds(best)}; no others did better.{dropped}"
    against = f"the default: IQM {default.iqm_text} over {_seeds(default)}"
    if best.improvement is None:
        return f"{first}; {against}.{dropped}"
    verdict = _verdict(best, len(race.racers(state)))
    beats = (
        f"a run of trial {best.trial.number} beats one of the default with probability {best.improvement_text}{verdict}"
    )
    return f"{first}; {against}; {beats}.{dropped}"


def _dropped(found: Sequence[Confirmed]) -> str:
    seeds = sorted(one.n + one.failed for one in found if one.is_dropped)
    if not seeds:
        return ""
    who = "1 other was" if len(seeds) == 1 else f"{len(seeds)} others were"
    # No round has a single seed, so that the word is right.
    return f" {who} dropped after {seeds[0]}{f' to {seeds[-1]}' if seeds[-1] > seeds[0] else ''} seeds."


def _verdict(best: Confirmed, candidates: int) -> str:
    if best.improvement is None or not best.improvement.is_known:
        return ": too few seeds to say more"
    if best.is_surely_better:
        return ""
    return ", which may be chance" + (f": it is the best of {candidates}" if candidates > 1 else "")


def _result(
    trial: Trial, default: Sequence[float], candidates: int, is_dropped: bool, spec: str, state: SweepState
) -> Confirmed:
    values = trial.confirmed_values
    scores = np.array(values, dtype=np.float64)
    iqm = stratified_bootstrap.interval([scores], aggregates.iqm)
    better, is_sure = None, False
    if trial.number and default:
        sign = 1.0 if state.plan.goal == "maximize" else -1.0
        ours, theirs = [sign * scores], [sign * np.array(default, dtype=np.float64)]
        better = improvement.probability(ours, theirs)
        # Bonferroni: each of the candidates could have come out best, those that a round has dropped among them.
        z = NormalDist().inv_cdf(1 - (1 - UPPER) / candidates)
        is_sure = improvement.probability(ours, theirs, z=z).low > EVEN
    return Confirmed(trial, values, trial.failed_seeds, is_dropped, iqm, better, len(default), spec, is_sure)


def _default_params(state: SweepState) -> Any:
    return state.trials[0].params if state.trials else None


def _seeds(one: Confirmed) -> str:
    failed = f" ({one.failed} more failed)" if one.failed else ""
    return f"{one.n} fresh seed{'' if one.n == 1 else 's'}{failed}"
