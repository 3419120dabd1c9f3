"""The flags by which verbs narrow down the list of runs."""

import argparse
from collections.abc import Sequence

from mosaic.cli.daemon.connection import Parser
from mosaic.cli.runs.run_by_name import pick_all
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import LEARNING
from mosaic.spec.run_record import PINNED, RunRecord, is_pinned
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
    words.number("--limit", low=0, default=limit, metavar="N", help=f"at most N; 0 is all (default {limit})")


def kinds_of(flags: argparse.Namespace) -> Sequence[str]:
    """Kinds that the flags leave; empty is all."""
    return () if EVERY_KIND in flags.kind else flags.kind or LISTED_KINDS


def listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that the flags leave, newest first."""
    return client.list(states=flags.state, kinds=kinds_of(flags), text=flags.text, limit=flags.limit)


def pinned_first(client: Client, flags: argparse.Namespace, runs: Sequence[RunRecord]) -> list[RunRecord]:
    """Pinned runs at the top, also those that are too old for the list; no more than the list may have."""
    # The daemon finds the word anywhere in a run.
    named = client.list(states=flags.state, kinds=kinds_of(flags), text=PINNED) if not flags.text else runs
    pinned = [run for run in named if is_pinned(run)]
    found = [*pinned, *(run for run in runs if not is_pinned(run))]
    return found[: max(flags.limit, len(pinned)) if flags.limit else None]


def named_or_listed(client: Client, flags: argparse.Namespace) -> Sequence[RunRecord]:
    """The runs that are named; without a name, those that the flags leave."""
    return pick_all(client, flags.runs, LEARNING) if flags.runs else listed(client, flags)


def add_table_flags(words: Parser) -> None:
    words.add_argument(
        "--filter", metavar="EXPR", help="only runs that fit, as 'algo:ppo lr<1e-3 return>200 tag:paper'"
    )
    words.add_argument(
        "--columns", metavar="A,B", help="columns: settings, metrics (TAG.last, .best, .lowest, .auc), facts of the run"
    )
    words.add_argument("--sort", metavar="COLUMN", help="by this column, lowest first")
    words.add_argument("--reverse", action="store_true", help="with --sort: highest first")
    words.add_argument("--group", metavar="A,B", help="a line for each group of runs that are alike in these columns")

    words.add_argument("--save-view", metavar="NAME", help="keep filter, columns, order and group under a name")


def is_table_asked(flags: argparse.Namespace) -> bool:
    return any((flags.filter is not None, flags.columns, flags.sort, flags.group))


def check_table_flags(words: Parser, flags: argparse.Namespace) -> None:
    if flags.reverse and not flags.sort:
        words.error("--reverse needs --sort COLUMN")
    if flags.save_view is not None and not is_table_asked(flags):
        words.error("--save-view keeps a table: give --filter, --columns, --sort or --group")
    if flags.watch and is_table_asked(flags):
        words.error("--watch redraws the plain list: leave out --filter, --columns, --sort and --group")
