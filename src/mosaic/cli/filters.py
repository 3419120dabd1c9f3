"""The flags by which verbs narrow down the list of runs."""

import argparse
from collections.abc import Sequence

from mosaic.cli.pick import pick_all
from mosaic.cli.reach import Parser
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

STATES = [state.value for state in RunState]


def add_filters(words: Parser, *, limit: int) -> None:
    words.add_argument(
        "--state", action="append", default=[], choices=STATES, help="only runs in this state; may be repeated"
    )
    words.add_argument("--text", default="", help="only runs whose label, algorithm, environment or id contains this")
    words.add_argument(
        "--limit", type=_limit, default=limit, metavar="N", help=f"at most N; 0 is all (default {limit})"
    )


def listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that the flags leave, newest first."""
    return client.list(states=flags.state, text=flags.text, limit=flags.limit)


def named_or_listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that are named; without a name, those that the flags leave."""
    return pick_all(client, flags.runs) if flags.runs else listed(client, flags)


def _limit(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"must not be negative (got {number})")
    return number
