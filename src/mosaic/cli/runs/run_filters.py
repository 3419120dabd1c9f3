"""The flags by which verbs narrow down the list of runs."""

import argparse
from collections.abc import Sequence

from mosaic.cli.daemon.connection import Parser
from mosaic.cli.runs.run_by_name import pick_all
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import LEARNING
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

STATES = [state.value for state in RunState]
KINDS = ("train", "policy_eval", "play")
LISTED_KINDS = LEARNING.kinds
"""Without sessions of play and replay, which are many and short."""
EVERY_KIND = "all"


def add_filters(words: Parser, *, limit: int) -> None:
    words.add_argument(
        "--state", action="append", default=[], choices=STATES, help="only runs in this state; may be repeated"
    )
    words.add_argument(
        "--kind",
        action="append",
        default=[],
        choices=(*KINDS, EVERY_KIND),
        help=f"only runs of this kind; may be repeated (default: {' and '.join(LISTED_KINDS)})",
    )
    words.add_argument("--text", default="", help="only runs whose label, algorithm, environment or id contains this")
    words.add_argument("--limit", type=int, default=limit, metavar="N", help=f"at most N; 0 is all (default {limit})")


def check_filters(words: Parser, flags: argparse.Namespace) -> None:
    if flags.limit < 0:
        words.error(f"--limit: must not be negative (got {flags.limit})")


def kinds_of(flags: argparse.Namespace) -> Sequence[str]:
    """Kinds that the flags leave; empty is all."""
    return () if EVERY_KIND in flags.kind else flags.kind or LISTED_KINDS


def listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that the flags leave, newest first."""
    return client.list(states=flags.state, kinds=kinds_of(flags), text=flags.text, limit=flags.limit)


def named_or_listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that are named; without a name, those that the flags leave."""
    return pick_all(client, flags.runs, LEARNING) if flags.runs else listed(client, flags)
