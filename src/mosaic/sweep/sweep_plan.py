"""What a sweep is asked to do: the content of `sweep.json`, written once (docs/protocols/sweep-directory.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, Gt, Le, MinLen

from mosaic import config
from mosaic.config import JsonValue
from mosaic.errors import ConfigError, Problem
from mosaic.sweep import race_rounds, wrapper_arguments
from mosaic.sweep.space import OUTSIDE, Dimension, checked, combinations, grid

Method: TypeAlias = Literal["tpe", "random", "grid"]
Prune: TypeAlias = Literal["none", "halving", "median", "hyperband"]
Goal: TypeAlias = Literal["maximize", "minimize"]
Seed: TypeAlias = Annotated[int, Ge(0), Le(2**32 - 1)]
RETURN = "charts/episodic_return"
TRIALS = 60
"""Where the user names no budget; pruned by PRUNE, they take the steps of about 40 whole runs."""
PRUNE: Prune = "halving"
BEST = 5
CONFIRM_SEEDS = tuple(range(101, 111))
MAX_TRIALS = 100_000
FIRST_OWN_SEED = 1001
"""Of trial 0, where trials have seeds of their own."""
MOST_OWN = 1000


@dataclass(frozen=True, kw_only=True)
class SweepPlan:
    """One sweep."""

    v: Literal[1] = 1
    """Version of this format."""
    label: str = ""
    """Name that the user gave it."""
    document: dict[str, JsonValue]
    """The run config of the default settings; each trial changes the settings of the space."""
    space: tuple[Dimension, ...]
    """What is changed."""
    defaults: dict[str, JsonValue]
    """The values of these settings in trial 0."""
    method: Method = "tpe"
    """Who proposes settings."""
    prune: Prune = PRUNE
    """When a trial that does badly is stopped before its end."""
    metric: Annotated[str, MinLen(1)] = RETURN
    """Tag that is judged by the mean of its last 100 points."""
    goal: Goal = "maximize"
    """Whether more of it is better."""
    seeds: tuple[Seed, ...] = (1,)
    """Of each trial, where it has none of its own."""
    own_seeds: Annotated[int, Ge(0), Le(MOST_OWN)] = 0
    """Seeds that each trial has for itself; 0 is `seeds` for all of them."""
    confirm_best: Annotated[int, Ge(0)] = BEST
    """Settings that are tried again with fresh seeds at the end, beside the default; 0 means no confirmation."""
    confirm_seeds: tuple[Seed, ...] = CONFIRM_SEEDS
    """Seeds that no trial has used."""
    race: bool = True
    """Settings that fall behind in the confirmation get no further seeds; the winner and the default have them all."""
    trials: Annotated[int, Ge(1), Le(MAX_TRIALS)] | None = None
    """At most so many, the default settings among them."""
    runs: Annotated[int, Ge(1)] | None = None
    """At most so many runs in all, the confirmation among them."""
    steps: Annotated[int, Ge(1)] | None = None
    """At most so many environment steps in all, the confirmation among them."""
    hours: Annotated[float, Gt(0)] | None = None
    """At most so long on the clock, without pauses; a confirmation that has begun goes on to its end."""
    parallel: Annotated[int, Ge(0)] = 0
    """Runs at a time; 0 is as many as the daemon has slots for."""
    priority: int = 0
    """Of its runs in the queue."""
    proposal_seed: Seed = 0
    """Of the proposals."""
    created_at: float = 0.0
    """Unix seconds."""
    client_key: str = ""
    """Of its submit: a second one with the same key makes no second sweep."""
    notes: tuple[str, ...] = ()
    """What was left out or changed of a file that the sweep was made from."""

    @property
    def worker(self) -> dict[str, Any]:
        metadata: Any = self.document["metadata"]
        return metadata["worker"]["config"]

    @property
    def algo(self) -> str:
        return str(self.worker.get("algo", ""))

    @property
    def env_id(self) -> str:
        return str(self.worker.get("env_id", ""))

    @property
    def total_timesteps(self) -> int:
        return int(self.worker.get("total_timesteps", 0))

    @property
    def value_title(self) -> str:
        """What the value of a trial is; of several seeds, their number belongs to their mean."""
        return "value" if self.seeds_each < 2 else f"value (mean, n = {self.seeds_each})"

    @property
    def of_seeds(self) -> str:
        """What follows such a value on a line of text."""
        return "" if self.seeds_each < 2 else f" (n = {self.seeds_each})"

    @property
    def seeds_each(self) -> int:
        """How many runs a trial takes."""
        return self.own_seeds or len(self.seeds)

    def seeds_of(self, trial: int) -> Sequence[int]:
        """If all trials had one seed, the search would find settings that suit it: those that keep a lucky start."""
        first = FIRST_OWN_SEED + trial * self.own_seeds
        return range(first, first + self.own_seeds) if self.own_seeds else self.seeds

    @property
    def trial_steps(self) -> int:
        """Environment steps of a trial that is not pruned."""
        return self.total_timesteps * self.seeds_each

    @property
    def confirm_runs(self) -> int:
        """At most; fewer where fewer trials end well."""
        if not self.confirm_best:
            return 0
        best, seeds = self.confirm_best, len(self.confirm_seeds)
        return seeds + (race_rounds.runs(race_rounds.rounds(best, seeds)) if self.race else best * seeds)

    @property
    def confirm_steps(self) -> int:
        return self.confirm_runs * self.total_timesteps

    @property
    def most_trials(self) -> int:
        """By every limit that can be counted before the first trial."""
        limits = [MAX_TRIALS if self.trials is None else self.trials]
        if self.runs is not None:
            limits.append((self.runs - self.confirm_runs) // max(1, self.seeds_each))
        if (there := combinations(self.space)) is not None:
            # The default settings, which may be one of them or not, come on top.
            limits.append(there + 1)
        return min(limits)


def parse(data: object, *, what: str = "sweep") -> SweepPlan:
    """ConfigError with everything that is wrong with it."""
    plan = config.from_json(SweepPlan, data, what=what)
    if problems := [*problems_of(plan)]:
        raise ConfigError(problems, what=what)
    return plan


def problems_of(plan: SweepPlan) -> Iterator[Problem]:
    """What contradicts itself, in the words of the command line."""
    space_problems = [*_space_problems(plan.space)]
    missing = wrapper_arguments.problems_of(plan.document, [one.name for one in plan.space])
    space_problems += [Problem("--space", why) for why in missing]
    yield from space_problems
    if not plan.seeds_each:
        yield Problem("--seeds", "names no seed")
    for flag, seeds in (("--seeds", plan.seeds), ("--confirm-seeds", plan.confirm_seeds)):
        if len(set(seeds)) < len(seeds):
            yield Problem(flag, "names a seed twice")
    if plan.confirm_best and not plan.confirm_seeds:
        yield Problem("--confirm-seeds", "names no seed; --confirm 0 leaves the confirmation out")
    if plan.confirm_best and not plan.own_seeds and (shared := sorted({*plan.seeds} & {*plan.confirm_seeds})):
        stand = "stands" if len(shared) == 1 else "stand"
        yield Problem(
            "--confirm-seeds",
            f"{', '.join(map(str, shared[:5]))} {stand} in --seeds too; the settings were chosen by these seeds, so"
            " they confirm nothing: name seeds that no trial has used",
        )
    if plan.confirm_best and plan.own_seeds and not space_problems:
        own = range(FIRST_OWN_SEED, FIRST_OWN_SEED + max(1, plan.most_trials) * plan.own_seeds)
        if shared := sorted({*plan.confirm_seeds}.intersection(own)):
            of_trials = f"{own[0]:,} to {own[-1]:,} are the trials' own seeds, so they confirm nothing"
            yield Problem("--confirm-seeds", f"{', '.join(map(str, shared[:5]))}: {of_trials}; name others")
    yield from _budget_problems(plan)
    if plan.method == "grid" and not space_problems:
        try:
            grid(plan.space).__iter__().__next__()
        except ConfigError as error:
            yield from error.problems
        except StopIteration:
            return


def _space_problems(space: Sequence[Dimension]) -> Iterator[Problem]:
    """What is wrong without a look at any schema: a client of a user may have made the plan."""
    if not space:
        yield Problem("--space", "is empty: a sweep changes one setting at least")
    names = [one.name for one in space]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem("--space", f"{name} is named twice")
    for one in space:
        if one.name in OUTSIDE:
            yield Problem("--space", f"{one.name} {OUTSIDE[one.name]}")
            continue
        try:
            checked(one, {})
        except ValueError as error:
            yield Problem("--space", f"{one.name}: {error}")


def _budget_problems(plan: SweepPlan) -> Iterator[Problem]:
    trial = plan.trial_steps
    on_top = (
        f"the confirmation takes {plan.confirm_runs} runs of {plan.total_timesteps:,} steps; --confirm and"
        " --confirm-seeds make it smaller, --confirm 0 leaves it out"
    )
    if plan.trials is not None and plan.trials < 2:
        yield Problem("--trials", "1 is the default settings alone; a sweep takes 2 at least")
    if plan.runs is not None:
        left = plan.runs - plan.confirm_runs
        if plan.runs < plan.seeds_each:
            yield Problem("--runs", f"{plan.runs} is less than one trial, which takes {plan.seeds_each}")
        elif left < 2 * plan.seeds_each:
            yield Problem("--runs", f"{plan.runs} leaves no room for two trials: {on_top}")
    if plan.steps is not None:
        if plan.steps < trial:
            yield Problem("--steps", f"{plan.steps:,} is less than one trial, which takes {trial:,}")
        elif plan.steps - plan.confirm_steps < 2 * trial:
            yield Problem("--steps", f"{plan.steps:,} leaves no room for two trials: {on_top}")
