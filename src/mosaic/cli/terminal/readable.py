"""Numbers, times and states as a person reads them."""

import time
from collections.abc import Sequence
from datetime import datetime

from mosaic.cli.terminal.printing import is_terminal
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

SPARKS = "▁▂▃▄▅▆▇█"
NOT_SENT = {"client_key", "cancel_asked", "resume_from", "gpu_ids", "cpus", "gpus", "epoch", "deleted"}
"""Fields of a record that the daemon keeps to itself."""
COLOUR_OF = {
    RunState.QUEUED: "dim",
    RunState.STARTING: "cyan",
    RunState.RUNNING: "cyan",
    RunState.PAUSED: "yellow",
    RunState.STOPPING: "yellow",
    RunState.FINISHED: "green",
    RunState.FAILED: "red",
    RunState.CANCELLED: "yellow",
    RunState.LOST: "red",
}


def as_json(record: RunRecord) -> dict[str, object]:
    """What `--json` prints of a run."""
    data: dict[str, object] = {name: value for name, value in vars(record).items() if name not in NOT_SENT}
    return data | {"state": record.state.value, "eta_s": record.eta_s}


def indexing(health: pb.Health) -> str:
    """How far the daemon's index is, while it is being built; empty once it is whole."""
    if health.indexed >= health.index_total:
        return ""
    return f"indexing: {health.indexed:,} of {plural(health.index_total, 'run')}"


def duration(seconds: float) -> str:
    """42 s, 3:07, 2:03:07, 3 d 04 h."""
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    if hours >= 24:
        return f"{hours // 24} d {hours % 24:02} h"
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def ago(unix_s: float) -> str:
    """12 s ago, 3 h ago, or the date."""
    past = max(0.0, time.time() - unix_s)
    if past < 60:
        return f"{past:.0f} s ago"
    if past < 3600:
        return f"{past / 60:.0f} min ago"
    return f"{past / 3600:.0f} h ago" if past < 24 * 3600 else moment(unix_s)[:10]


def when(unix_s: float) -> str:
    """As a table has it: how long ago on a terminal, the date in a pipe."""
    return ago(unix_s) if is_terminal() else moment(unix_s)


def moment(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s).astimezone().strftime("%Y-%m-%d %H:%M:%S") if unix_s else ""


def count(number: float) -> str:
    """1,234 up to a million, then 1.23M."""
    for factor, unit in ((1e9, "G"), (1e6, "M")):
        if number >= factor:
            return f"{number / factor:.3g}{unit}"
    return f"{number:,.0f}"


def size(number: int) -> str:
    amount = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024 or unit == "GiB":
            break
        amount /= 1024
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def score(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}" if abs(value) < 1e5 else f"{value:.3g}"


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def sparkline(values: Sequence[float], width: int = 24) -> str:
    """The course of a number in block characters."""
    if not values or width < 1:
        return ""
    picked = [values[at * len(values) // width] for at in range(width)] if len(values) > width else values
    low, span = min(picked), (max(picked) - min(picked)) or 1.0
    return "".join(SPARKS[int((value - low) / span * (len(SPARKS) - 1))] for value in picked)
