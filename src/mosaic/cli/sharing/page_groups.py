"""Runs that stand together on a page: those of one submit over seeds."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.run_table.run_differences import RunFacts

_SEED = re.compile(r"[ ,_·-]+(s|seed ?)\d+$")


@dataclass(frozen=True)
class PageGroup:
    """They make one curve; a run alone does too."""

    name: str
    runs: Sequence[RunFacts]


def groups_of(facts: Sequence[RunFacts]) -> list[PageGroup]:
    """In the order of their first runs."""
    members: dict[str, list[RunFacts]] = {}
    for run in facts:
        members.setdefault(run.record.group or run.record.run_id, []).append(run)
    names = [_name(runs) for runs in members.values()]
    many = Counter(names)
    return [
        # Two groups with one name would be one line in the legend.
        PageGroup(name if many[name] == 1 else f"{name} ({runs[0].record.run_id[-6:]})", runs)
        for name, runs in zip(names, members.values(), strict=True)
    ]


def _name(runs: Sequence[RunFacts]) -> str:
    name = runs[0].record.label or runs[0].record.run_id
    return (_SEED.sub("", name) or name) if len(runs) > 1 else name
