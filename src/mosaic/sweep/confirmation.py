"""The second stage: the best settings and the default again with fresh seeds, and what these seeds allow to say.

A trial's own value chose it, and so flatters it; only seeds that chose nothing say what settings are worth.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mosaic.statistics import aggregates, improvement, stratified_bootstrap
from mosaic.statistics.intervals import Interval
from mosaic.sweep.sweep_state import SweepState, Trial, sort_key

EVEN = 0.5
"""The probability of improvement of settings that are as good as the default."""


@dataclass(frozen=True)
class Confirmed:
    """Settings, and their scores with fresh seeds."""

    trial: Trial
    values: Sequence[float]
    failed: int
    """Seeds that gave no score; they are not counted, which flatters the others."""
    iqm: Interval
    improvement: Interval | None
    """Probability that a run scores better than one of the default settings; None for these."""

    @property
    def n(self) -> int:
        return len(self.values)

    def as_json(self) -> dict[str, Any]:
        return {
            "trial": self.trial.number,
            "n": self.n,
            "failed": self.failed,
            "iqm": self.iqm.as_json(),
            "improvement": self.improvement.as_json() if self.improvement is not None else None,
            "values": list(self.values),
        }


def chosen(state: SweepState) -> list[int]:
    """Trials to confirm: the default, if it ended well, and the best of the others."""
    ranking = state.ranking()
    default = [trial.number for trial in state.trials[:1] if trial.value is not None]
    others = [trial.number for trial in ranking if trial.number and trial.params != _default_params(state)]
    return [*default, *others[: state.plan.confirm_best]] if state.plan.confirm_best else []


def results(state: SweepState) -> list[Confirmed]:
    """Of all settings with a score, best first."""
    default = state.trials[0].confirmed_values if state.trials else []
    found = [_result(trial, default, state) for trial in state.trials if trial.confirmed_values]
    return sorted(found, key=lambda one: sort_key(one.iqm.value, state.plan.goal))


def statement(state: SweepState) -> str:
    """What may be said at the end, in plain words."""
    found = results(state)
    if not found:
        return ""
    best = found[0]
    default = next((one for one in found if one.trial.number == 0), None)
    first = f"Trial {best.trial.number}: IQM {best.iqm.text(best.n)} over {_seeds(best.n)}"
    if default is None:
        return f"{first}. The default settings gave no score to compare with."
    if best is default:
        return f"The default settings: IQM {best.iqm.text(best.n)} over {_seeds(best.n)}; no others did better."
    against = f"the default: IQM {default.iqm.text(default.n)} over {_seeds(default.n)}"
    if best.improvement is None:
        return f"{first}; {against}."
    how = best.improvement.text(min(best.n, default.n), ".2f")
    verdict = _verdict(best.improvement)
    beats = f"a run of trial {best.trial.number} beats one of the default with probability {how}{verdict}"
    return f"{first}; {against}; {beats}."


def _verdict(found: Interval) -> str:
    if not found.is_known:
        return ": too few seeds to say more"
    return "" if found.low > EVEN else ", which may be chance"


def _result(trial: Trial, default: Sequence[float], state: SweepState) -> Confirmed:
    values = trial.confirmed_values
    scores = np.array(values, dtype=np.float64)
    iqm = stratified_bootstrap.interval([scores], aggregates.iqm)
    better = None
    if trial.number and default:
        sign = 1.0 if state.plan.goal == "maximize" else -1.0
        better = improvement.probability([sign * scores], [sign * np.array(default, dtype=np.float64)])
    ended = sum(run.end in ("failed", "cancelled") for run in trial.confirmed.values())
    return Confirmed(trial, values, ended, iqm, better)


def _default_params(state: SweepState) -> Any:
    return state.trials[0].params if state.trials else None


def _seeds(n: int) -> str:
    return f"{n} fresh seed{'' if n == 1 else 's'}"
