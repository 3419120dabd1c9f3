"""The user's own files that the trials of a sweep run: their digests, so that a change in the meantime is seen."""

import hashlib
from pathlib import Path

from mosaic.rpc.client import Client
from mosaic.scripts.script import is_script
from mosaic.sweep.sweep_plan import SweepPlan
from mosaic.sweep.sweep_state import SweepState


def digests(plan: SweepPlan, client: Client) -> dict[str, str]:
    """By path; empty for an algorithm of this version."""
    place = plan.algo if is_script(plan.algo) else _place(plan.algo, client)
    path = Path(place) if place else None
    if path is None or not path.is_absolute() or not path.is_file():
        return {}
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest()}


def changed(state: SweepState) -> str:
    """The name of a file that is not as it was; empty if all are."""
    for name, digest in state.code.items():
        try:
            now = hashlib.sha256(Path(name).read_bytes()).hexdigest()
        except OSError:
            return name
        if now != digest:
            return name
    return ""


def _place(algo: str, client: Client) -> str:
    found = client.algorithms().get(algo)
    return found.place if found is not None else ""
