"""A sweep as an Optuna journal, which optuna-dashboard and Optuna's own functions open.

Values stand there as users know them (0.99, not the distance to one), so powers of two and discounts have plain ranges.
"""

from datetime import datetime
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from mosaic.spec.catalogue import extras
from mosaic.sweep.space import Dimension
from mosaic.sweep.sweep_state import SweepState, Trial


class NotExported(MosaicError):
    """The journal cannot be written."""

    exit_code = 2


def write_journal(state: SweepState, path: Path, *, name: str) -> int:
    """The number of trials written."""
    extras.SWEEP.require("the export of an Optuna journal")
    import optuna
    from optuna.storages.journal import JournalFileBackend

    if path.exists():
        raise NotExported(f"{path} is there already; name another file")
    if not path.absolute().parent.is_dir():
        raise NotExported(f"{path.absolute().parent} is not a folder; make it first")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(path)))
    study = optuna.create_study(storage=storage, study_name=name, direction=state.plan.goal)
    study.set_user_attr("algorithm", state.plan.algo)
    study.set_user_attr("environment", state.plan.env_id)
    study.set_user_attr("metric", state.plan.metric)
    known = {one.name: _distribution(one, state) for one in state.plan.space}
    for trial in state.trials:
        study.add_trial(_frozen(trial, known))
    return len(state.trials)


def _distribution(one: Dimension, state: SweepState) -> Any:
    """Wide enough for the default settings, which may lie outside the space."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    tried = list(dict.fromkeys(trial.params.get(one.name) for trial in state.trials))
    numbers = [value for value in tried if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if one.choices or len(numbers) < len(tried):
        return CategoricalDistribution(tuple(dict.fromkeys((*one.choices, *tried))))
    low, high = min([one.low, *numbers]), max([one.high, *numbers])
    is_log = one.scale in ("log", "power_of_two") and low > 0
    if one.whole:
        return IntDistribution(int(low), int(high), log=is_log)
    return FloatDistribution(low, high, log=is_log)


def _frozen(trial: Trial, known: dict[str, Any]) -> Any:
    from optuna.trial import FrozenTrial, TrialState

    state = {"finished": TrialState.COMPLETE, "pruned": TrialState.PRUNED, "running": TrialState.RUNNING}.get(
        trial.state, TrialState.FAIL
    )
    # Optuna's times are local and without a zone.
    began = datetime.fromtimestamp(trial.asked_at)  # noqa: DTZ006
    ended = datetime.fromtimestamp(max(trial.ended_at, trial.asked_at))  # noqa: DTZ006
    runs = {f"run of seed {run.seed}": run.run_id for run in (*trial.runs.values(), *trial.confirmed.values())}
    confirmed = {"confirmed": trial.confirmed_values} if trial.confirmed_values else {}
    return FrozenTrial(
        number=trial.number,
        trial_id=-1,
        state=state,
        value=trial.value if state is TrialState.COMPLETE else None,
        datetime_start=began,
        datetime_complete=ended if state.is_finished() else None,
        params={name: trial.params.get(name) for name in known},
        distributions=known,
        user_attrs={**runs, **confirmed, **({"reason": trial.reason} if trial.reason else {})},
        system_attrs={},
        intermediate_values=trial.reports,
    )
