"""Which runs the words of `mosaic stats` mean, and how they are put into groups.

A word is the id of a group (runs of one submit over seeds), or its beginning or end; a run (which stands for its whole
group) as in other verbs; a label, with or without the seed at its end; or an algorithm or environment. What is not an
id means runs of one kind, trainings or evaluations. NAME=WORD,WORD gives a name to the runs of several words.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.runs.run_by_name import LOOK_AGAIN_S, pick
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import waiting
from mosaic.errors import UnknownName
from mosaic.near_names import near_names
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import LEARNING, TRAINING, Need, counted_back
from mosaic.spec.run_record import RunRecord

_SEED = re.compile(r"[ ,_·-]+(s|seed ?)\d+$")
_NAMED = re.compile(r"([^=,@]{1,60})=(.+)")
EVALUATION = Need(kinds=("policy_eval",), noun="evaluation", verb="mosaic evaluate @last")
SHORTEST = 6
"""Letters of an id that name a group."""
BY: Mapping[str, Callable[[RunRecord], str]] = {
    "algo": lambda run: run.algo,
    "env": lambda run: run.env_id,
    "group": lambda run: run.group[-8:] or run.run_id[-8:],
    "label": lambda run: base_label(run),
}
"""What `--by` takes, and what it reads of a run."""


class UnknownGroup(UnknownName):
    kind = "group"
    listing = (
        "a group is its id, a run of it (@last), a label, an algorithm or an environment; 'mosaic runs' lists runs"
    )


@dataclass(frozen=True)
class RunGroup:
    """Runs that differ in their seed, in one environment or in several."""

    name: str
    runs: Sequence[RunRecord]
    is_named: bool = False
    """Whether the user has put it together and given it a name."""

    @property
    def environments(self) -> list[str]:
        return sorted({run.env_id for run in self.runs})


def base_label(run: RunRecord) -> str:
    """The label without its seed."""
    label = run.label.removesuffix(", evaluated")
    return _SEED.sub("", label) or label


def groups_of(client: Client, words: Sequence[str], by: Sequence[str], need: Need = TRAINING) -> list[RunGroup]:
    """A group for each word; or, of all runs that are meant, one for each value of what `by` names."""
    _wait_for_index(client)
    named = [_named(client, word, need) for word in words]
    if not by:
        return _with_names_of_their_own(_each_run_once(named))
    every = {run.run_id: run for group in named for run in group.runs}
    keys = [key for key in by if key != "env"]
    made: dict[str, list[RunRecord]] = {}
    for run in sorted(every.values(), key=lambda run: run.run_id):
        made.setdefault(" · ".join(BY[key](run) for key in keys) or "all", []).append(run)
    return [RunGroup(name, runs) for name, runs in made.items()]


def _each_run_once(groups: Sequence[RunGroup]) -> list[RunGroup]:
    """A group that is named twice is one; groups that share some runs are not independent, and so not compared."""
    once = list({tuple(run.run_id for run in group.runs): group for group in groups}.values())
    holder: dict[str, str] = {}
    for group in once:
        for run in group.runs:
            if (other := holder.setdefault(run.run_id, group.name)) != group.name:
                raise BadArguments(
                    f"mosaic stats: run {run.run_id} is in {other} and in {group.name}; groups that share runs are not"
                    " compared, name groups without common runs"
                )
    return once


def _wait_for_index(client: Client) -> None:
    """A list that is not whole yet would make groups of fewer seeds than there are."""
    while indexing := readable.indexing(client.health()):
        with waiting(f"{indexing} …"):
            time.sleep(LOOK_AGAIN_S)


def _named(client: Client, word: str, need: Need) -> RunGroup:
    match = _NAMED.fullmatch(word)
    name, rest = (match[1], match[2]) if match else ("", word)
    runs = _meant(client, rest, need)
    if not runs and "," in rest:
        parts = [part for part in rest.split(",") if part]
        runs = [run for part in parts for run in _meant(client, part, need) or _nothing(client, part)]
    runs = sorted({run.run_id: run for run in runs or _nothing(client, rest)}.values(), key=lambda run: run.run_id)
    return RunGroup(name or _name_of(rest, runs), runs, is_named=bool(name))


def _meant(client: Client, word: str, need: Need) -> list[RunRecord]:
    if counted_back(word) is not None:
        return _whole(client, pick(client, word, need))
    found = client.list(text=word, kinds=LEARNING.kinds) if word else []
    wanted = word.upper()
    if len(word) >= SHORTEST:
        ends = [run for run in found if run.group and (run.group.startswith(wanted) or run.group.endswith(wanted))]
        if len({run.group for run in ends}) == 1:
            return ends
        own = [run for run in found if run.run_id.startswith(wanted) or run.run_id.endswith(wanted)]
        if len(own) == 1:
            return _whole(client, own[0])
    found = [run for run in found if run.kind in need.kinds]
    labelled = [run for run in found if word.lower() in (run.label.lower(), base_label(run).lower())]
    return labelled or [run for run in found if word.lower() in (run.algo.lower(), run.env_id.lower())]


def _whole(client: Client, run: RunRecord) -> list[RunRecord]:
    """The group of a run; the run alone if it has none."""
    if not run.group:
        return [run]
    return [other for other in client.list(text=run.group, kinds=LEARNING.kinds) if other.group == run.group]


def _nothing(client: Client, word: str) -> list[RunRecord]:
    newest = client.list(kinds=LEARNING.kinds, limit=500)
    known = {name for run in newest for name in (base_label(run), run.algo, run.env_id) if name}
    raise UnknownGroup(word, near_names(word, sorted(known), most=3))


def _name_of(word: str, runs: Sequence[RunRecord]) -> str:
    labels = {base_label(run) for run in runs}
    return labels.pop() if len(labels) == 1 else word


def _with_names_of_their_own(groups: Sequence[RunGroup]) -> list[RunGroup]:
    """Two groups of the same label are told apart by the ends of their ids."""
    names = [group.name for group in groups]
    return [
        group if names.count(group.name) == 1 else RunGroup(f"{group.name} {BY['group'](group.runs[0])}", group.runs)
        for group in groups
    ]
