"""What `mosaic stats` knows of groups: in each environment, over all environments, and compared with the first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mosaic.cli.statistics.run_scores import NoScore, ScoredGroup
from mosaic.statistics import aggregates, improvement, sample_efficiency, stratified_bootstrap
from mosaic.statistics.enough_seeds import remark
from mosaic.statistics.intervals import Column, Interval, fewest, of_mean, of_mean_over_tasks
from mosaic.statistics.reference_scores import Reference
from mosaic.statistics.seeds_needed import SeedsNeeded, seeds_needed


@dataclass(frozen=True)
class Line:
    """One group in one environment."""

    group: ScoredGroup
    iqm: Interval
    mean: Interval
    improvement: Interval | None
    """Probability that a run scores more than one of the first group; None for the first, and where that has no run."""
    needed: SeedsNeeded | None
    area: Interval | None
    """Mean return during training."""
    reached: Sequence[float] = ()
    """Steps to the threshold, of the runs that reached it."""

    @property
    def n(self) -> int:
        return len(self.group.runs)


@dataclass(frozen=True)
class Overall:
    """One group over all environments, in normalised scores."""

    name: str
    tasks: Sequence[Column]
    iqm: Interval
    median: Interval
    mean: Interval
    gap: Interval
    improvement: Interval | None
    """Over the first group."""

    @property
    def n(self) -> int:
        """Runs of the environment that has the fewest."""
        return fewest(self.tasks)


@dataclass(frozen=True)
class Statistics:
    lines: Sequence[Line]
    overall: Sequence[Overall] = ()
    environments: Sequence[str] = ()
    """Those of `overall`, in the order of their tasks."""
    threshold: float | None = None
    references: Mapping[str, Reference] = field(default_factory=dict[str, Reference])

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(line.group.name for line in self.lines))

    def first_in(self, env_id: str) -> Line | None:
        """What the others are compared with there; None where the first group has no run."""
        return next(
            (line for line in self.lines if (line.group.name, line.group.env_id) == (self.names[0], env_id)), None
        )


def statistics_of(
    groups: Sequence[ScoredGroup],
    *,
    threshold: float | None = None,
    references: Mapping[str, Reference] | None = None,
) -> Statistics:
    """Over all environments too, if references to normalise with are given."""
    first = groups[0].name
    lines = [_line(group, _of(groups, first, group.env_id), threshold) for group in groups]
    if references is None:
        return Statistics(lines, threshold=threshold)
    names = list(dict.fromkeys(group.name for group in groups))
    every = dict.fromkeys(group.env_id for group in groups)
    shared = sorted(env_id for env_id in every if all(_of(groups, name, env_id) for name in names))
    if not shared:
        raise NoScore("the groups have no environment in common, so nothing can be said over all of them")
    tasks = {
        name: [references[env_id].normalised(_known(groups, name, env_id).scores) for env_id in shared]
        for name in names
    }
    overall = [_overall(name, tasks[name], tasks[first] if name != first else None) for name in names]
    return Statistics(lines, overall, shared, threshold, {env_id: references[env_id] for env_id in shared})


def _line(group: ScoredGroup, first: ScoredGroup | None, threshold: float | None) -> Line:
    scores = group.scores
    against = None if first is None or first is group else first
    areas = reached = None
    if group.is_training:
        end = group.end
        areas = of_mean([sample_efficiency.area_under(run.steps, run.returns, end) for run in group.runs])
        if threshold is not None:
            found = [sample_efficiency.steps_to(run.steps, run.returns, threshold) for run in group.runs]
            reached = [steps for steps in found if steps is not None]
    return Line(
        group,
        iqm=stratified_bootstrap.interval([scores], aggregates.iqm),
        mean=of_mean(scores),
        improvement=improvement.probability([scores], [against.scores]) if against else None,
        needed=seeds_needed(scores, against.scores) if against else None,
        area=areas,
        reached=reached or (),
    )


def _overall(name: str, tasks: Sequence[Column], first: Sequence[Column] | None) -> Overall:
    gaps = [np.maximum(1.0 - task, 0.0) for task in tasks]
    return Overall(
        name,
        tasks,
        iqm=stratified_bootstrap.interval(tasks, aggregates.iqm),
        median=stratified_bootstrap.interval(tasks, aggregates.median),
        mean=of_mean_over_tasks(tasks),
        gap=of_mean_over_tasks(gaps).within(0.0, np.inf),
        improvement=None if first is None else improvement.probability(tasks, first),
    )


def _of(groups: Sequence[ScoredGroup], name: str, env_id: str) -> ScoredGroup | None:
    return next((group for group in groups if (group.name, group.env_id) == (name, env_id)), None)


def _known(groups: Sequence[ScoredGroup], name: str, env_id: str) -> ScoredGroup:
    found = _of(groups, name, env_id)
    assert found is not None, "it is in the environments that all groups share"
    return found


def as_json(found: Statistics) -> list[dict[str, Any]]:
    """An object for each line, and for each group over all environments."""
    first = found.names[0]
    objects = [_line_json(line, first, found.threshold) for line in found.lines]
    return objects + [_overall_json(one, found, first) for one in found.overall]


def _line_json(line: Line, first: str, threshold: float | None) -> dict[str, Any]:
    group, needed = line.group, line.needed
    steps = np.array(line.reached)
    return {
        "kind": "scores",
        "group": group.name,
        "env_id": group.env_id,
        "of": "training" if group.is_training else "evaluation",
        "n": line.n,
        "remark": remark(line.n),
        "runs": [run.record.run_id for run in group.runs],
        "seeds": [run.record.seed for run in group.runs],
        "scores": group.scores.tolist(),
        "left_out": list(group.left_out),
        "iqm": line.iqm.as_json(),
        "mean": line.mean.as_json(),
        "median": float(np.median(group.scores)),
        "std": float(group.scores.std(ddof=1)) if line.n > 1 else None,
        "minimum": float(group.scores.min()),
        "maximum": float(group.scores.max()),
        "steps": group.end if group.is_training else None,
        "area": line.area.as_json() if line.area else None,
        "threshold": threshold,
        "reached": len(line.reached) if threshold is not None and group.is_training else None,
        "median_steps_to_threshold": float(np.median(steps)) if len(steps) else None,
        "compared_with": first if line.improvement else None,
        "probability_of_improvement": line.improvement.as_json() if line.improvement else None,
        "effect": None if needed is None or not np.isfinite(needed.effect) else needed.effect,
        "seeds_needed": needed.each if needed else None,
    }


def _overall_json(one: Overall, found: Statistics, first: str) -> dict[str, Any]:
    return {
        "kind": "overall",
        "group": one.name,
        "environments": list(found.environments),
        "n": one.n,
        "remark": remark(one.n),
        "iqm": one.iqm.as_json(),
        "median": one.median.as_json(),
        "mean": one.mean.as_json(),
        "optimality_gap": one.gap.as_json(),
        "compared_with": first if one.improvement else None,
        "probability_of_improvement": one.improvement.as_json() if one.improvement else None,
        "references": {env_id: vars(reference) for env_id, reference in found.references.items()},
    }
