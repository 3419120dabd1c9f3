"""`mosaic metrics RUN`: the numbers that a run logged, as a table, CSV or JSON."""

import csv
import sys
from collections.abc import Mapping, Sequence

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import columns, print_json, table
from mosaic.near_names import no_such
from mosaic.rpc.client import Series
from mosaic.rpc.find_run import TRAINING

TABLE_POINTS = 400


def main(argv: Sequence[str]) -> int:
    words = parser("metrics", "The numbers that a run logged.", json=True, runs="RUN")
    words.add_argument("--tags", default="", help="only these tags, separated by commas: charts/SPS,losses/value_loss")
    words.number("--points", low=0, default=0, metavar="N", help="at most N points of each tag, with its extremes")
    words.add_argument("--csv", action="store_true", help="print CSV: tag,step,value,time")
    flags = words.parse_args(argv)
    if flags.csv and flags.json:
        words.error("--csv and --json exclude each other")
    wanted = [tag for tag in str(flags.tags).split(",") if tag]
    plain = not flags.csv and not flags.json
    with connect() as client:
        run = pick(client, flags.run, TRAINING)
        found = client.metrics(run.run_id, tags=wanted, points=flags.points or (TABLE_POINTS if plain else 0))
        if unknown := [tag for tag in wanted if tag not in found]:
            known = client.tags(run.run_id)
            advice = no_such(unknown[0], known) if known else "it has logged nothing yet"
            raise BadArguments(f"run {run.run_id} logged no '{unknown[0]}'; {advice}")
    if flags.csv:
        _write_csv(found)
    elif flags.json:
        for series in found.values():
            print_json(vars(series))
    elif found:
        _print_table(found)
    else:
        print("no metrics yet")
    return 0


def _write_csv(found: Mapping[str, Series]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("tag", "step", "value", "time"))
    for series in found.values():
        for step, value, time in zip(series.steps, series.values, series.times, strict=True):
            writer.writerow((series.tag, step, repr(value), f"{time:.3f}"))


def _print_table(found: Mapping[str, Series]) -> None:
    tag_width = max(map(len, found))
    spark = max(0, min(32, columns() - tag_width - 50))
    rows = [
        (
            series.tag,
            _number(series.values[-1]),
            _number(min(series.values)),
            _number(max(series.values)),
            f"{series.total:,}",
            readable.sparkline([value for value in series.values if value == value], spark),
        )
        for series in found.values()
    ]
    print("\n".join(table(("tag", "last", "lowest", "highest", "points", ""), rows, right=_RIGHT)))


_RIGHT = ("last", "lowest", "highest", "points")


def _number(value: float) -> str:
    return f"{value:.5g}"
