"""Naming a run on the command line: its id, the beginning or the end of it, its label, @last or @last-1."""

import re
import time
from collections.abc import Sequence

from mosaic.cli import wording
from mosaic.cli.screen import waiting
from mosaic.errors import RunNotFound
from mosaic.near_names import near_names
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

_LAST = re.compile(r"@last(?:-(\d{1,6}))?")
LOOK_AGAIN_S = 0.3
NEAR_AMONG = 200
"""Newest runs among which a mistyped label is looked for."""


def pick(client: Client, word: str) -> RunRecord:
    """The one run that a word means, or RunNotFound with what it could have meant."""
    while True:
        # Asked before: what is not found after the index was whole is not there.
        indexing = wording.indexing(client.health())
        try:
            return _pick(client, word)
        except RunNotFound:
            if not indexing:
                raise
        with waiting(f"{word} is not on the list yet; {indexing} …"):
            time.sleep(LOOK_AGAIN_S)


def _pick(client: Client, word: str) -> RunRecord:
    if match := _LAST.fullmatch(word):
        return _last(client, word, before=int(match[1] or 0))
    # The daemon looks for the word anywhere in id, label and more; what it finds is narrowed here.
    found = client.list(text=word) if word else []
    wanted = word.upper()
    by_id = [run for run in found if run.run_id.startswith(wanted) or run.run_id.endswith(wanted)]
    by_label = [run for run in found if run.label == word] or [run for run in found if run.label.upper() == wanted]
    matches = by_id or by_label
    if len(matches) == 1:
        return matches[0]
    if matches:
        near = [f"{run.run_id} ({run.label})" for run in matches[:3]]
        raise RunNotFound(word, near, hint=f"{len(matches)} runs answer to it: more letters of the id make it unique")
    labels = {run.label: run.run_id for run in client.list(limit=NEAR_AMONG)}
    near = [f"{labels[label]} ({label})" for label in near_names(word, labels)]
    raise RunNotFound(word, near)


def pick_all(client: Client, words: Sequence[str]) -> list[RunRecord]:
    """Each run once, in the order given; nothing is done to any of them unless all are known."""
    return list({run.run_id: run for run in (pick(client, word) for word in words)}.values())


def _last(client: Client, word: str, *, before: int) -> RunRecord:
    runs = client.list(limit=before + 1)
    if len(runs) <= before:
        there = f"there are {len(runs)}" if runs else "there is none yet; 'mosaic train ppo' makes one"
        raise RunNotFound(word, hint=f"of the runs of this home, {there}")
    return runs[before]


def short(run_id: str) -> str:
    """The end of an id, which is random and so unique sooner than its beginning, which is the time."""
    return run_id[-8:]
