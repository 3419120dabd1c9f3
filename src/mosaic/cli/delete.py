"""`mosaic delete RUN…`: remove ended runs and their directories, for good."""

import sys
from collections.abc import Sequence

from mosaic.cli.each import apply
from mosaic.cli.pick import pick_all
from mosaic.cli.reach import BadArguments, connect, parser
from mosaic.cli.screen import clean, note
from mosaic.cli.wording import plural
from mosaic.spec.run_record import RunRecord


def main(argv: Sequence[str]) -> int:
    words = parser("delete", "Remove ended runs and all their files. There is no way back.", json=True, runs="…")
    words.add_argument("-y", "--yes", action="store_true", help="do not ask")
    flags = words.parse_args(argv)
    with connect() as client:
        runs = pick_all(client, flags.runs)
        if not flags.yes and not _agreed(runs):
            note("nothing was deleted")
            return 1

        def delete(run: RunRecord) -> tuple[RunRecord, str]:
            client.delete(run.run_id)
            return run, "deleted"

        return apply(runs, delete, json=flags.json)


def _agreed(runs: Sequence[RunRecord]) -> bool:
    if not sys.stdin.isatty():
        raise BadArguments("mosaic delete: there is nobody to ask; give --yes to delete without asking")
    for run in runs:
        note(f"  {run.run_id}  {clean(run.label)}  {run.state}  {plural(run.global_step, 'step')}")
    note(f"Delete {plural(len(runs), 'run')} with all files? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
