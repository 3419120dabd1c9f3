"""Between our trials and Optuna's: distributions of a space, values in Optuna's units, and whole trials.

Optuna searches a power of two by its exponent and a discount by its distance to one, on a logarithmic scale. Default
settings may lie outside the space: a number counts as the limit that is nearest, another value leaves the trial out.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic.sweep.space import Dimension, Params, Value
from mosaic.sweep.sweep_state import Trial

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial

Distributions = Mapping[str, "BaseDistribution"]


def distributions(space: Sequence[Dimension]) -> "dict[str, BaseDistribution]":
    return {one.name: _distribution(one) for one in space}


def _distribution(one: Dimension) -> "BaseDistribution":
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if one.choices:
        return CategoricalDistribution(one.choices)
    if one.scale == "power_of_two":
        return IntDistribution(*one.exponents)
    if one.scale == "logit":
        return FloatDistribution(1 - one.high, 1 - one.low, log=True)
    is_log = one.scale == "log"
    if one.whole:
        return IntDistribution(int(one.low), int(one.high), log=is_log)
    return FloatDistribution(one.low, one.high, log=is_log)


def to_value(one: Dimension, given: Any) -> Value:
    """What Optuna proposes, as the setting's own value."""
    if one.choices:
        return given
    if one.scale == "power_of_two":
        return 2 ** int(given)
    return one.rounded(1 - given if one.scale == "logit" else given)


def from_value(one: Dimension, value: Value) -> Any:
    """A setting's value in Optuna's units; None where it has none."""
    near = one.nearest(value)
    if one.choices or near is None or isinstance(near, str):
        return near
    if one.scale == "power_of_two":
        first, last = one.exponents
        return min(max(round(near).bit_length() - 1, first), last)
    if one.scale == "logit":
        return min(max(1 - near, 1 - one.high), 1 - one.low)
    return int(near) if one.whole else float(near)


def params_of(trial: Trial, space: Sequence[Dimension]) -> dict[str, Any] | None:
    """All of them in Optuna's units; None if one of them has no place in the space."""
    made: dict[str, Any] = {}
    for one in space:
        value = trial.params.get(one.name)
        if one.choices and not one.contains(value):
            return None
        found = from_value(one, value)
        if found is None and not one.choices:
            return None
        made[one.name] = found
    return made


def frozen_trial(trial: Trial, space: Sequence[Dimension], known: Distributions) -> "FrozenTrial | None":
    """A trial as Optuna knows it: running, complete, pruned with its values on the way, or failed."""
    from optuna.trial import TrialState, create_trial

    if (params := params_of(trial, space)) is None:
        return None
    state = {
        "running": TrialState.RUNNING,
        "finished": TrialState.COMPLETE,
        "pruned": TrialState.PRUNED,
        "failed": TrialState.FAIL,
    }[trial.state]
    return create_trial(
        state=state,
        value=trial.value if state is TrialState.COMPLETE else None,
        params=params,
        distributions=dict(known),
        intermediate_values=trial.reports,
    )


def is_within(params: Params, space: Sequence[Dimension]) -> bool:
    """Whether settings are one of the combinations of a space that can be counted."""
    return all(params.get(one.name) in (one.values or ()) for one in space)
