"""`monitor.csv` files of Stable-Baselines3: one line an episode, one file an environment.

#{"t_start": 1700000000.0, "env_id": "CartPole-v1"}
r,l,t
21.0,21,0.48          return, length, seconds since t_start
"""

import csv
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from mosaic.intake.found import UNKNOWN, Found, Moment, NotImportable
from mosaic.spec import events
from mosaic.spec.events import Episode

PATTERN = "*monitor.csv"


def monitor_files(folder: Path) -> list[Path]:
    """In the order of their environments: 2.monitor.csv before 10.monitor.csv."""
    found = (path for path in folder.glob(PATTERN) if path.is_file())
    return sorted(found, key=lambda path: (_slot(path), path.name))


def is_there(folder: Path) -> bool:
    return bool(monitor_files(folder))


def identity(folder: Path) -> str:
    """By the first line of the first file, which holds the time."""
    first = monitor_files(folder)[0]
    _head(first)
    with first.open("rb") as file:
        return sha256(b"monitor\0" + file.readline()).hexdigest()


def read(folder: Path) -> Found:
    files = monitor_files(folder)
    remarks: list[str] = []
    episodes: list[tuple[float, int, float, int]] = []
    env_id = ""
    for path in files:
        head = _head(path)
        env_id = env_id or str(head.get("env_id") or "")
        episodes += _episodes(path, float(head["t_start"]), remarks)
    if not episodes:
        raise NotImportable(f"{', '.join(path.name for path in files)}: no episode in it")
    return Found(
        tool="Stable-Baselines3",
        path=folder,
        identity=identity(folder),
        label=folder.name,
        env_id=env_id or UNKNOWN,
        moments=_moments(episodes),
        files={f"imported/{path.name}": path for path in files},
        remarks=remarks,
    )


def _moments(episodes: Sequence[tuple[float, int, float, int]]) -> list[Moment]:
    """The step of an episode's end is what all environments had done by then, as the tool itself counts it."""
    step = 0
    moments: list[Moment] = []
    for time, slot, score, length in sorted(episodes):
        step += length
        body = Episode(global_step=step, slot=slot, episodic_return=events.number(score), episodic_length=length)
        moments.append(Moment(time, body))
    return moments


def _head(path: Path) -> dict[str, Any]:
    with path.open(errors="replace") as file:
        line = file.readline()
    try:
        head = json.loads(line.removeprefix("#")) if line.startswith("#") else None
        float(head["t_start"])  # type: ignore[index]
    except (ValueError, TypeError, KeyError):
        raise NotImportable(f"{path.name} does not begin as a monitor file of Stable-Baselines3 does") from None
    return head  # type: ignore[return-value]


def _episodes(path: Path, began: float, remarks: list[str]) -> list[tuple[float, int, float, int]]:
    found: list[tuple[float, int, float, int]] = []
    bad = 0
    with path.open(newline="", errors="replace") as file:
        file.readline()
        for row in csv.DictReader(file):
            try:
                found.append((began + float(row["t"]), _slot(path), float(row["r"]), max(int(float(row["l"])), 0)))
            except (ValueError, TypeError, KeyError, OverflowError):
                bad += 1
    if bad:
        remarks.append(f"{path.name}: {bad} of its lines are not episodes")
    return found


def _slot(path: Path) -> int:
    number = path.name.partition(".")[0]
    return int(number) if number.isascii() and number.isdigit() else 0
