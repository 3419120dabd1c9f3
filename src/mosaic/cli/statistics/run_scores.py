"""What a run is worth: the returns that it logged, and one number of them.

A training counts with the mean return of its last 100 episodes, an evaluation with the mean of all its episodes. A run
that has not finished, has no returns or has returned NaN has no score: leaving it out in silence would leave out the
seeds that failed, so it is refused unless the user says otherwise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.cli.statistics.run_groups import RunGroup
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.spec.return_tags import is_return
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState
from mosaic.statistics.intervals import Column

RETURN = "charts/episodic_return"
EVALUATED = "eval/episodic_return"
LAST = 100
"""Episodes at the end of a training that make its score."""
ALIKE = 0.05
"""Trainings of one environment whose lengths differ by a smaller share are taken to be of one length."""


class NoScore(MosaicError):
    """Runs that cannot be counted."""

    exit_code = 2


@dataclass(frozen=True)
class ScoredRun:
    record: RunRecord
    steps: Column
    returns: Column
    """Of each episode."""
    score: float


@dataclass(frozen=True)
class ScoredGroup:
    """The runs of one group in one environment."""

    name: str
    env_id: str
    runs: Sequence[ScoredRun]
    left_out: Sequence[str] = ()
    """Runs without a score, and why."""

    @property
    def scores(self) -> Column:
        return np.array([run.score for run in self.runs])

    @property
    def is_training(self) -> bool:
        return self.runs[0].record.kind == "train"

    @property
    def end(self) -> float:
        """Steps at which the shortest training ends."""
        return min(float(run.steps[-1]) for run in self.runs)


def scored(
    client: Client, groups: Sequence[RunGroup], *, at: int, last: int, leave_out: bool
) -> tuple[list[ScoredGroup], list[str]]:
    """A group for each environment of each group, and what the user should know of them."""
    series = {run.run_id: _returns(client, run) for group in groups for run in group.runs}
    problems = {
        run.run_id: why for group in groups for run in group.runs if (why := _problem(run, *series[run.run_id], at))
    }
    if problems and not leave_out:
        shown = "\n".join(f"{run_id}: {why}" for run_id, why in list(problems.items())[:10])
        more = f"\nand {len(problems) - 10} more" if len(problems) > 10 else ""
        raise NoScore(f"{_count(problems)} no score:\n{shown}{more}\n--leave-out counts the others, and says so")
    ends, notes = _ends(groups, series, problems, at)
    made: list[ScoredGroup] = []
    for group in groups:
        for env_id in group.environments:
            own = [run for run in group.runs if run.env_id == env_id]
            runs = [
                _scored(run, *series[run.run_id], ends.get(env_id), last) for run in own if run.run_id not in problems
            ]
            left_out = [f"{run.run_id}: {problems[run.run_id]}" for run in own if run.run_id in problems]
            if not runs:
                raise NoScore(f"no run of {group.name} in {env_id} has a score: {'; '.join(left_out)}")
            made.append(ScoredGroup(group.name, env_id, runs, left_out))
    return made, notes + [note for group in made for note in _doubts(group)]


def _returns(client: Client, run: RunRecord) -> tuple[Column, Column]:
    tag = EVALUATED if run.kind == "policy_eval" else RETURN
    found = client.metrics(run.run_id, tags=[tag]).get(tag)
    if found is None and run.kind == "train":
        # Scripts and imported runs log it under names of their own.
        others = [tag for tag in client.tags(run.run_id) if is_return(tag)]
        found = client.metrics(run.run_id, tags=others[:1]).get(others[0]) if others else None
    if found is None:
        return np.empty(0), np.empty(0)
    steps, values = np.array(found.steps, dtype=np.float64), np.array(found.values, dtype=np.float64)
    order = np.argsort(steps, kind="stable")
    return steps[order], values[order]


def _problem(run: RunRecord, steps: Column, returns: Column, at: int) -> str:
    """Why a run has no score; empty if it has one."""
    reaches = at and run.kind == "train" and run.global_step >= at
    if run.state in LIVE and not reaches:
        return f"it is {run.state.value}; 'mosaic follow {run.run_id}' waits for it"
    if run.state is not RunState.FINISHED and not reaches:
        return f"it is {run.state.value}" + (f" ({run.reason})" if run.reason else "")
    if not len(returns):
        return "it has logged no return of an episode"
    if at and run.kind == "train" and steps[0] > at:
        return f"its first episode ended after step {at:,}"
    if at and run.kind == "train" and run.global_step < at:
        return f"it ended at step {run.global_step:,}, before --at {at:,}"
    if wrong := int((~np.isfinite(returns)).sum()):
        return f"{wrong:,} of its {len(returns):,} returns are not finite"
    return ""


def _ends(
    groups: Sequence[RunGroup],
    series: dict[str, tuple[Column, Column]],
    problems: dict[str, str],
    at: int,
) -> tuple[dict[str, float], list[str]]:
    """The step up to which trainings of each environment count, where they are not of one length."""
    lengths: dict[str, list[int]] = {}
    for group in groups:
        for run in group.runs:
            if run.kind == "train" and run.run_id not in problems:
                lengths.setdefault(run.env_id, []).append(run.global_step)
    if at:
        return dict.fromkeys(lengths, float(at)), []
    ends: dict[str, float] = {}
    notes: list[str] = []
    for env_id, found in lengths.items():
        if max(found) > (1 + ALIKE) * min(found):
            firsts = [
                series[run.run_id][0][0]
                for group in groups
                for run in group.runs
                if run.env_id == env_id and run.run_id not in problems
            ]
            if max(firsts) > min(found):
                raise NoScore(
                    f"trainings in {env_id} end between step {min(found):,} and {max(found):,}, and one has no episode"
                    " before the end of another: they cannot be compared"
                )
            ends[env_id] = float(min(found))
            notes.append(
                f"trainings in {env_id} end between step {min(found):,} and {max(found):,}: all count as they were at"
                f" step {min(found):,}; --at chooses another"
            )
    return ends, notes


def _scored(run: RunRecord, steps: Column, returns: Column, end: float | None, last: int) -> ScoredRun:
    if run.kind == "policy_eval":
        return ScoredRun(run, steps, returns, float(returns.mean()))
    if end is not None:
        inside = steps <= end
        steps, returns = steps[inside], returns[inside]
    return ScoredRun(run, steps, returns, float(returns[-last:].mean()))


def _doubts(group: ScoredGroup) -> list[str]:
    """What speaks against taking the runs of a group for independent seeds of one experiment."""
    name, kinds = f"{group.name} in {group.env_id}", {run.record.kind for run in group.runs}
    if len(kinds) > 1:
        raise NoScore(
            f"{name} mixes trainings and evaluations, whose returns are not the same; --evaluations means the latter"
        )
    said: list[str] = []
    seeds = [run.record.seed for run in group.runs]
    twice = sorted({seed for seed in seeds if seeds.count(seed) > 1})
    if twice and group.is_training:
        shown = ", ".join(map(str, twice[:5]))
        said.append(
            f"{name}: seed {shown} occurs more than once; a repeat adds no seed, other settings are another group"
        )
    if group.left_out:
        said.append(f"{name}: {len(group.left_out)} left out ({'; '.join(group.left_out[:3])})")
    return said


def _count(problems: dict[str, str]) -> str:
    return "1 run has" if len(problems) == 1 else f"{len(problems):,} runs have"
