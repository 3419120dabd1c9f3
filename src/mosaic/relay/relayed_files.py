"""Which files of a run travel between a node and the daemon, and how each of them does.

grow     only ever appended to while a worker lives: sent as it grows, a line at a time where it has lines
whole    written anew and renamed: sent as a whole, written aside, compared with its digest, renamed
folder   a checkpoint: its files are sent aside, the folder is renamed when all of them are there
None     stays where it is: what the daemon decides (`run.json`), locks, sockets, exports, temporary names
"""

import os
import stat
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias

How: TypeAlias = Literal["grow", "whole", "folder"]

LINES = ("events.jsonl", "histograms.jsonl")
"""Grow by whole lines; a kill may leave a part of one, which the next attempt cuts off."""
_GROWING = ("logs", "tensorboard", "tensorboard_eval")
"""Folders whose files grow."""
_OF_THE_DAEMON = ("run.json", "run.json.damaged", "worker.lock", "play.sock", "wandb", "trackio", "mlflow", "imported")
_LOGS = "cleanrl."
"""What logs of the worker begin with; other logs are those of exporters."""
NOT_BROUGHT = ("videos", "worker.json")
"""What a worker does not need to go on, or what tells of the process before it."""


def how_of(path: str) -> How | None:
    """How a file travels, by its name relative to the run directory; None if it does not."""
    parts = PurePosixPath(path).parts
    if not parts or path != "/".join(parts) or any(part.startswith(".") for part in parts) or parts[0] == "/":
        return None
    if parts[0] in _OF_THE_DAEMON or (parts[0] == "logs" and not parts[-1].startswith(_LOGS)):
        return None
    if parts[0] == "checkpoints":
        return "folder" if len(parts) > 2 else None
    return "grow" if path in LINES or parts[0] in _GROWING else "whole"


def folder_of(path: str) -> str:
    """The checkpoint that a `folder` file belongs to."""
    return "/".join(PurePosixPath(path).parts[:2])


def is_folder(path: str) -> bool:
    """Whether this names a checkpoint."""
    parts = PurePosixPath(path).parts
    return len(parts) == 2 and parts[0] == "checkpoints" and how_of(f"{path}/x") == "folder"


def is_brought(path: str) -> bool:
    """Whether a worker needs the file to go on from where the run is."""
    return how_of(path) is not None and PurePosixPath(path).parts[0] not in NOT_BROUGHT


def paths(root: Path) -> list[str]:
    """Every file below a run directory that travels, sorted; links, pipes and sockets do not."""
    return [name for name in plain_files(root) if how_of(name) is not None]


def plain_files(root: Path, folder: str = "") -> list[str]:
    """Names, relative to `root`, of the plain files in one of its folders, sorted; those that vanish are left out."""

    def tell(error: OSError) -> None:
        # What cannot be listed for any other reason must not look as if it were gone.
        if not isinstance(error, (FileNotFoundError, NotADirectoryError)):
            raise error

    found: list[str] = []
    for place, _, names in os.walk(root / folder, onerror=tell):
        for name in names:
            path = Path(place, name)
            try:
                is_plain = stat.S_ISREG(path.lstat().st_mode)
            except FileNotFoundError:
                continue
            if is_plain:
                found.append(path.relative_to(root).as_posix())
    return sorted(found)
