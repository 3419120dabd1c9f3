"""Naming a run: its id, the beginning or the end of it, its label, @last or @last-1.

`@last` is the newest run of the kind that is needed: `mosaic metrics @last` behind an evaluation is about the training
before it. A run that is named otherwise may be of any kind.
"""

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mosaic.errors import RunNotFound
from mosaic.near_names import near_names
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE

if TYPE_CHECKING:
    from mosaic.rpc.client import Client

_LAST = re.compile(r"@last(?:-(\d{1,6}))?")
NEAR_AMONG = 200
"""Newest runs among which a mistyped label is looked for."""


@dataclass(frozen=True)
class Need:
    """Which runs are meant."""

    kinds: tuple[str, ...] = ()
    """Empty is any."""
    states: tuple[str, ...] = ()
    """Where any run is in one of these, others do not count; empty is any."""
    noun: str = "run"
    verb: str = "mosaic train ppo"
    """What makes one."""


ANY = Need()
TRAINING = Need(kinds=("train",), noun="training run")
LEARNING = Need(kinds=("train", "policy_eval"))
"""Trainings and evaluations: what writes TensorBoard files."""
SESSION = Need(kinds=("play",), noun="play session", verb="mosaic play CartPole-v1")
LIVING = Need(states=tuple(LIVE))


def find_run(client: "Client", word: str, need: Need = ANY) -> RunRecord:
    """The one run that a word means, or RunNotFound with what it could have meant."""
    if (before := counted_back(word)) is not None:
        return _last(client, word, before, need)
    # The daemon looks for the word anywhere in id, label and more; what it finds is narrowed here.
    found = client.list(text=word) if word else []
    wanted = word.upper()
    # A label that is there letter by letter goes before a piece of an id: a run may be called "a".
    matches = (
        [run for run in found if run.run_id == wanted]
        or [run for run in found if run.label == word]
        or [run for run in found if run.run_id.startswith(wanted) or run.run_id.endswith(wanted)]
        or [run for run in found if run.label.upper() == wanted]
    )
    if len(matches) == 1:
        return matches[0]
    if matches:
        near = [f"{run.run_id} ({run.label})" for run in matches[:3]]
        raise RunNotFound(word, near, hint=f"{len(matches)} runs match: type more letters of the id")
    labels = {run.label: run.run_id for run in client.list(limit=NEAR_AMONG)}
    near = [f"{labels[label]} ({label})" for label in near_names(word, labels)]
    raise RunNotFound(word, near)


def counted_back(word: str) -> int | None:
    """0 for @last, 1 for @last-1; None for a word that is neither."""
    match = _LAST.fullmatch(word)
    return int(match[1] or 0) if match else None


def _last(client: "Client", word: str, before: int, need: Need) -> RunRecord:
    runs = client.list(states=need.states, kinds=need.kinds, limit=before + 1)
    if len(runs) <= before and need.states:
        return _last(client, word, before, replace(need, states=()))
    if len(runs) <= before:
        there = f"there are {len(runs)}" if runs else f"there is none yet; '{need.verb}' makes one"
        raise RunNotFound(word, hint=f"of the {need.noun}s of this home, {there}")
    return runs[before]
