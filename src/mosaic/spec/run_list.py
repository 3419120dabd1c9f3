"""Which runs a home holds: the folders of `runs/` that are named by a run id."""

import os
from pathlib import Path

from mosaic.spec.run_dir import Home, RunDir, is_run_id


def all_runs(home: Home) -> list[RunDir]:
    """Runs of a home, oldest first: a ULID begins with the time it was made."""
    return [home.run(name) for name in sorted(run_ids(home))]


def run_ids(home: Home) -> list[str]:
    """In no order; anything else that lies there is left out."""
    try:
        with os.scandir(home.runs) as entries:
            return [entry.name for entry in entries if is_run_id(entry.name) and entry.is_dir()]
    except FileNotFoundError:
        return []


def starting_with(home: Home, start: str) -> list[Path]:
    """What else lies among the runs under such a name."""
    # No glob: it takes twenty times as long, and there may be many runs.
    return [home.runs / name for name in os.listdir(home.runs) if name.startswith(start)]  # noqa: PTH208
