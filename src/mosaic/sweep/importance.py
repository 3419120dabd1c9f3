"""How much each setting of a sweep mattered: PED-ANOVA over its trials, by Optuna."""

import warnings
from collections.abc import Mapping

from mosaic.spec.catalogue import extras
from mosaic.sweep.optuna_trials import distributions, frozen_trial
from mosaic.sweep.sweep_state import SweepState

FEWEST = 8
"""Trials that have ended well, below which nothing is said: the best tenth of fewer is a single trial."""


def why_unknown(state: SweepState) -> str:
    """Why there is no importance; empty if there is."""
    ended = sum(trial.value is not None for trial in state.trials)
    if ended < FEWEST:
        return f"importance takes {FEWEST} trials that have ended, there are {ended}"
    if len({trial.value for trial in state.trials if trial.value is not None}) < 2:
        return "all trials have the same value"
    return "" if extras.SWEEP.is_there else f"importance needs the extra '{extras.SWEEP.name}'"


def importances(state: SweepState) -> Mapping[str, float]:
    """Shares that sum to one, largest first; empty where `why_unknown` says why."""
    if why_unknown(state):
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with warnings.catch_warnings():
        # Few trials: `why_unknown` is the word on that.
        warnings.simplefilter("ignore")
        study = optuna.create_study(direction=state.plan.goal)
        known = distributions(state.plan.space)
        frozen = [frozen_trial(trial, state.plan.space, known) for trial in state.trials if trial.value is not None]
        study.add_trials([one for one in frozen if one is not None])
        return optuna.importance.get_param_importances(study)
