"""Which settings are tried next: proposed by Optuna, or read off a grid.

Optuna keeps nothing: its study lives in memory and is built anew from our own file. Its generator is seeded by the
number of the trial, so that a controller that was killed goes on as the one before it would have gone on.
"""

import warnings
from typing import Any, Protocol

from mosaic.spec.catalogue import extras
from mosaic.sweep.optuna_trials import distributions, frozen_trial, is_within, to_value
from mosaic.sweep.space import Params, combinations, grid
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState, Trial

RANDOM_ONE_IN = 3
"""Of the trials of a sweep by TPE so many are drawn at random, as BOHB does it (arXiv:1807.01774): a seed that was
lucky draws TPE to settings that do not hold, and it does not come back from there by itself."""
TRIES = 20
"""Proposals of settings that were tried before, until they come at random; after as many more there are no others."""


class Proposals(Protocol):
    def ask(self, state: SweepState) -> Params | None:
        """Settings for the next trial; None if there are no others."""
        ...


def proposals_of(plan: SweepPlan) -> Proposals:
    return GridProposals() if plan.method == "grid" else OptunaProposals(plan)


def require(plan: SweepPlan) -> None:
    """MissingExtra where the method needs what is not installed."""
    if plan.method != "grid":
        extras.SWEEP.require(f"a sweep by {plan.method}")


class GridProposals:
    """Every combination, in order; the default settings were tried first."""

    def ask(self, state: SweepState) -> Params | None:
        tried = {_key(trial.params) for trial in state.trials}
        return next((params for params in grid(state.plan.space) if _key(params) not in tried), None)


class OptunaProposals:
    """TPE with some trials at random, or all of them at random."""

    def __init__(self, plan: SweepPlan) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        self._plan = plan
        self._optuna: Any = optuna
        self._distributions = distributions(plan.space)
        self._study: Any = optuna.create_study(direction=plan.goal, sampler=self._sampler(0))
        self._ended: set[int] = set()
        """Trials that the study has as they ended."""
        self._running: dict[int, int] = {}
        """Trials that it has as running, and their numbers there."""

    def ask(self, state: SweepState) -> Params | None:
        space, tried = self._plan.space, {_key(trial.params) for trial in state.trials}
        possible = combinations(space)
        if possible is not None and possible <= sum(is_within(trial.params, space) for trial in state.trials):
            return None
        self._learn(state)
        for attempt in range(2 * TRIES):
            # Settings that were tried tell nothing new: the same seed gives the same curve.
            number = len(state.trials)
            at_random = attempt >= TRIES or number % RANDOM_ONE_IN == 0
            self._study.sampler = self._sampler(number * 1_000 + attempt, at_random=at_random)
            asked = self._study.ask(self._distributions)
            params = {one.name: to_value(one, asked.params[one.name]) for one in space}
            # It becomes a trial once our file has it, and then comes back from there.
            self._study.tell(asked, state=self._optuna.trial.TrialState.FAIL)
            if _key(params) not in tried:
                return params
        return None

    def _learn(self, state: SweepState) -> None:
        for trial in state.trials:
            if trial.number in self._ended or (trial.state == "running" and trial.number in self._running):
                continue
            if (before := self._running.pop(trial.number, None)) is not None:
                # Of a trial that has ended, the study keeps the end alone.
                self._study.tell(before, state=self._optuna.trial.TrialState.FAIL)
            self._add(trial)

    def _add(self, trial: Trial) -> None:
        if (frozen := frozen_trial(trial, self._plan.space, self._distributions)) is not None:
            self._study.add_trial(frozen)
            if trial.state == "running":
                self._running[trial.number] = len(self._study.get_trials(deepcopy=False)) - 1
        if trial.state != "running":
            self._ended.add(trial.number)

    def _sampler(self, draw: int, *, at_random: bool = False) -> Any:
        seed = (self._plan.proposal_seed * 1_000_003 + draw) % 2**32
        if self._plan.method == "random" or at_random:
            return self._optuna.samplers.RandomSampler(seed=seed)
        return self._optuna.samplers.TPESampler(seed=seed)


def _key(params: Params) -> str:
    return repr(sorted(params.items()))
