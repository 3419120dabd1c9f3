"""In which order runs are listed, and under which headings."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal, TypeAlias

from mosaic.gui.models.wording import name_of
from mosaic.spec.run_record import PINNED, RunRecord
from mosaic.spec.states import LIVE, RunState

Sort: TypeAlias = Literal["newest", "name", "return", "state"]
Grouping: TypeAlias = Literal["none", "environment", "algorithm", "seeds"]

SORTS: Mapping[Sort, str] = {"newest": "Newest first", "name": "Name", "return": "Highest return", "state": "State"}
GROUPINGS: Mapping[Grouping, str] = {
    "none": "No groups",
    "environment": "Environment",
    "algorithm": "Algorithm",
    "seeds": "Seed group",
}
_STATES = (
    RunState.RUNNING,
    RunState.STARTING,
    RunState.STOPPING,
    RunState.PAUSED,
    RunState.QUEUED,
    RunState.FAILED,
    RunState.LOST,
    RunState.CANCELLED,
    RunState.FINISHED,
)
"""What needs attention first."""


@dataclass(frozen=True)
class Group:
    """A heading and what stands under it."""

    key: str
    title: str
    run_ids: tuple[str, ...]
    live: int
    mean_return: float | None
    """Of a group of seeds: over the last returns of `n` of them. None where a mean would mix different things."""
    n: int
    is_collapsed: bool


@dataclass(frozen=True)
class Arranged:
    """The rows of the list: run ids, and keys of groups."""

    rows: list[str]
    groups: dict[str, Group]


class RunOrder:
    """Remembers the name of each run and what each heading says: of ten thousand runs a few have changed since."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[RunRecord, str]] = {}
        """By run id."""
        self._headings: dict[str, tuple[list[RunRecord], Grouping, Group]] = {}

    def arrange(
        self, records: Iterable[RunRecord], *, sort: Sort, grouping: Grouping, collapsed: Collection[str] = ()
    ) -> Arranged:
        """`records` come newest first; the order of groups is that of their first runs."""
        everything = self._sorted(records, sort)
        if pinned := [record for record in everything if PINNED in record.tags]:
            everything = pinned + [record for record in everything if PINNED not in record.tags]
        sessions = [record for record in everything if record.kind != TRAINING]
        ordered = [record for record in everything if record.kind == TRAINING] if sessions else everything
        arranged = self._arrange_runs(ordered, sort, grouping, collapsed)
        if not sessions:
            return arranged
        of_sessions = replace(
            _group(SESSIONS, sessions, "none", is_collapsed=SESSIONS in collapsed), title=SESSIONS_TITLE
        )
        below = () if of_sessions.is_collapsed else of_sessions.run_ids
        return Arranged([*arranged.rows, SESSIONS, *below], {**arranged.groups, SESSIONS: of_sessions})

    def forget(self, is_there: Callable[[str], object]) -> None:
        """Runs that are gone, by their ids."""
        self._names = {run_id: known for run_id, known in self._names.items() if is_there(run_id)}
        self._headings = {
            key: known for key, known in self._headings.items() if any(is_there(run.run_id) for run in known[0])
        }

    def _arrange_runs(
        self, ordered: Sequence[RunRecord], sort: Sort, grouping: Grouping, collapsed: Collection[str]
    ) -> Arranged:
        if grouping == "none":
            return Arranged([record.run_id for record in ordered], {})
        members: dict[str, list[RunRecord]] = {}
        for record in ordered:
            members.setdefault(_key(record, grouping), []).append(record)
        groups = {
            key: self._heading(key, runs, grouping, is_collapsed=key in collapsed)
            for key, runs in members.items()
            if key.startswith(_PREFIX)
        }
        keys = list(members)
        if sort == "name":
            keys.sort(key=lambda key: _natural(groups[key].title) if key in groups else self._name(members[key][0]))
        rows: list[str] = []
        for key in keys:
            if key not in groups:
                rows.append(members[key][0].run_id)
                continue
            rows.append(key)
            if not groups[key].is_collapsed:
                rows += groups[key].run_ids
        return Arranged(rows, groups)

    def _heading(self, key: str, runs: list[RunRecord], grouping: Grouping, *, is_collapsed: bool) -> Group:
        known = self._headings.get(key)
        if known is None or known[1] != grouping or known[0] != runs:
            known = runs, grouping, _group(key, runs, grouping, is_collapsed=is_collapsed)
        elif known[2].is_collapsed != is_collapsed:
            known = runs, grouping, replace(known[2], is_collapsed=is_collapsed)
        self._headings[key] = known
        return known[2]

    def _sorted(self, records: Iterable[RunRecord], sort: Sort) -> list[RunRecord]:
        # Sorting is stable: among equals the newest stays first.
        match sort:
            case "newest":
                return list(records)
            case "name":
                return sorted(records, key=self._name)
            case "return":
                return sorted(records, key=_falling_return)
            case "state":
                return sorted(records, key=lambda record: _STATES.index(record.state))

    def _name(self, record: RunRecord) -> str:
        known = self._names.get(record.run_id)
        if known is None or known[0] is not record:
            known = self._names[record.run_id] = record, _natural(name_of(record))
        return known[1]


TRAINING = "train"
"""Kind of a run that trains; all others are sessions and stand under a heading of their own, last."""
SESSIONS, SESSIONS_TITLE = "group:sessions", "Play and evaluation"
_PREFIX = "group:"
"""No run id begins with it."""
_DIGITS = re.compile(r"\d+")
_SEED = re.compile(r"[\s_,·-]*(?:(?<![A-Za-z0-9])s|seed )\d+$")
"""Of `ppo_cartpole_s1`, `ppo CartPole-v1 s1` and `walker, seed 1`."""


def _key(record: RunRecord, grouping: Grouping) -> str:
    if grouping == "environment":
        return f"{_PREFIX}{record.env_id}"
    if grouping == "algorithm":
        return f"{_PREFIX}{record.algo}"
    # A run that was not submitted over seeds stands by itself.
    return f"{_PREFIX}{record.group}" if record.group else record.run_id


def _group(key: str, runs: list[RunRecord], grouping: Grouping, *, is_collapsed: bool) -> Group:
    title = key.removeprefix(_PREFIX) or "unknown"
    returns: list[float] = []
    if grouping == "seeds":
        title = _SEED.sub("", name_of(runs[0])) or name_of(runs[0])
        returns = [run.last_return for run in runs if run.last_return is not None and math.isfinite(run.last_return)]
    return Group(
        key=key,
        title=title,
        run_ids=tuple(run.run_id for run in runs),
        live=sum(run.state in LIVE for run in runs),
        mean_return=fmean(returns) if returns else None,
        n=len(returns),
        is_collapsed=is_collapsed,
    )


def _natural(name: str) -> str:
    """So that s2 comes before s10."""
    return _DIGITS.sub(_padded, name.lower())


def _padded(digits: re.Match[str]) -> str:
    return digits[0].zfill(9)


def _falling_return(record: RunRecord) -> tuple[bool, float]:
    value = record.last_return
    missing = value is None or math.isnan(value)
    return missing, 0.0 if value is None or missing else -value
