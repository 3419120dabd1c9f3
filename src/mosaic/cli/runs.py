"""`mosaic runs`: the runs of this home, newest last, read from their directories."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from ulid import ULID

from mosaic import config
from mosaic.spec import manifest
from mosaic.spec.course import Course, state_of
from mosaic.spec.events import decode_spool
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs


@dataclass(frozen=True, kw_only=True)
class RunsFlags:
    """List the runs of this home."""

    json: bool = False
    """One JSON object a line."""


def main(argv: Sequence[str]) -> int:
    flags = config.from_flags(RunsFlags, argv, prog="mosaic runs")
    home = Home.resolve()
    rows = [row_of(run) for run in all_runs(home) if run.manifest.exists()]
    if flags.json:
        for row in rows:
            print(json.dumps(row))
        return 0
    if not rows:
        print(f"no runs in {home.runs} yet; 'mosaic train ppo' makes one")
        return 0
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("run", "kind", "algorithm", "environment", "seed", "state", "steps", "return", "started"):
        table.add_column(name, justify="right" if name in ("seed", "steps", "return") else "left", no_wrap=True)
    for row in rows:
        mean = "–" if row["mean_return"] is None else f"{row['mean_return']:.1f}"
        started = datetime.fromisoformat(row["started"]).astimezone().strftime("%Y-%m-%d %H:%M")
        table.add_row(
            row["run"],
            row["kind"],
            row["algo"],
            row["env_id"],
            str(row["seed"]),
            row["state"],
            f"{row['global_step']:,}",
            mean,
            started,
        )
    # Piped, there is no width to fit into: whole lines, for grep and awk.
    Console(width=None if sys.stdout.isatty() else 200).print(table)
    return 0


def row_of(run_dir: RunDir) -> dict[str, Any]:
    """What the directory tells of a run."""
    found = manifest.read(run_dir)
    course = Course()
    with run_dir.events.open("rb") as file:
        for event in decode_spool(file):
            course.take(event)
    return {
        "run": run_dir.run_id,
        "kind": found.mode,
        "algo": found.algo,
        "env_id": found.env_id,
        "seed": found.seed,
        "state": state_of(run_dir, course).value,
        "global_step": course.global_step,
        "mean_return": course.mean_return,
        "started": datetime.fromtimestamp(ULID.from_str(run_dir.run_id).timestamp, UTC).isoformat(),
    }
