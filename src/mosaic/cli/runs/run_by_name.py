"""Runs that a command line names, also while the daemon still builds its index, and how ids are shown."""

import time
from collections.abc import Sequence

from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import is_terminal, waiting
from mosaic.errors import RunNotFound
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import ANY, Need, find_run
from mosaic.spec.run_record import RunRecord

LOOK_AGAIN_S = 0.3


def pick(client: Client, word: str, need: Need = ANY) -> RunRecord:
    """The one run that a word means, or RunNotFound with what it could have meant."""
    while True:
        # Asked before: what is not found after the index was whole is not there.
        indexing = readable.indexing(client.health())
        try:
            return find_run(client, word, need)
        except RunNotFound:
            if not indexing:
                raise
        with waiting(f"{word} is not on the list yet; {indexing} …"):
            time.sleep(LOOK_AGAIN_S)


def pick_all(client: Client, words: Sequence[str], need: Need = ANY) -> list[RunRecord]:
    """Each run once, in the order given; nothing is done to any of them unless all are known."""
    return list({run.run_id: run for run in (pick(client, word, need) for word in words)}.values())


def shown_id(run_id: str) -> str:
    """As a table has it: short on a terminal, whole in a pipe."""
    return short(run_id) if is_terminal() else run_id


def short(run_id: str) -> str:
    """The end of an id, which is random and so unique sooner than its beginning, which is the time."""
    return run_id[-8:]
