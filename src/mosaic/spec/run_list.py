"""Which runs a home holds: the folders of `runs/` that are named by a run id."""

import os

from mosaic.errors import UnsafePath
from mosaic.spec.run_dir import Home, RunDir, checked_run_id


def all_runs(home: Home) -> list[RunDir]:
    """Runs of a home, oldest first: a ULID begins with the time it was made."""
    return [home.run(name) for name in sorted(run_ids(home))]


def run_ids(home: Home) -> list[str]:
    """In no order; anything else that lies there is left out."""
    try:
        with os.scandir(home.runs) as entries:
            return [entry.name for entry in entries if _is_run_id(entry.name) and entry.is_dir()]
    except FileNotFoundError:
        return []


def _is_run_id(name: str) -> bool:
    try:
        checked_run_id(name)
    except UnsafePath:
        return False
    return True
