"""Doing one thing to several runs: every run is tried, and the worst exit code is the command's."""

import argparse
from collections.abc import Callable, Sequence

from mosaic.cli import wording
from mosaic.cli.pick import ANY, Need, pick_all
from mosaic.cli.screen import note, print_json
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonUnavailable
from mosaic.spec.run_record import RunRecord


def for_each(
    client: Client,
    flags: argparse.Namespace,
    action: Callable[[RunRecord], tuple[RunRecord, str]],
    need: Need = ANY,
) -> int:
    """Apply `action` to `flags.runs`; it gives the run as it is afterwards and a sentence about it."""
    return apply(pick_all(client, flags.runs, need), action, json=flags.json)


def apply(runs: Sequence[RunRecord], action: Callable[[RunRecord], tuple[RunRecord, str]], *, json: bool) -> int:
    worst = 0
    for run in runs:
        try:
            after, sentence = action(run)
        except DaemonUnavailable:
            raise
        except MosaicError as error:
            note(f"error: {error.sentence}")
            worst = max(worst, error.exit_code)
            continue
        if json:
            print_json(wording.as_json(after))
        else:
            print(f"{run.run_id}  {sentence}")
    return worst
