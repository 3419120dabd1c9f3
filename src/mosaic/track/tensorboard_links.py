"""A folder of links to the event files of some runs. TensorBoard looks through it again and again, so that another
selection needs no other TensorBoard."""

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from mosaic.errors import MosaicError, UnsafePath
from mosaic.spec import manifest
from mosaic.spec.run_dir import RunDir

_PLACE = "mosaic-board"


@dataclass(frozen=True)
class BoardRun:
    """A run as TensorBoard is to show it."""

    name: str
    run_dir: str


def make_folder() -> Path:
    """One for this process; those of windows that were killed are removed."""
    base = Path(tempfile.gettempdir()) / f"{_PLACE}-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    for left in base.iterdir():
        pid = left.name.partition("-")[0]
        if pid.isdigit() and not psutil.pid_exists(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base))


def links_of(runs: Sequence[BoardRun]) -> dict[str, Path]:
    """A name for each folder of event files; it may not be there yet."""
    links: dict[str, Path] = {}
    for run in runs:
        for folder in _event_folders(RunDir(Path(run.run_dir))):
            plain = re.sub(r"[^\w.=+ -]+", "-", run.name).strip(" .") or "run"
            name = f"{plain} (eval)" if folder.name == "tensorboard_eval" else plain
            links[_free(name, Path(run.run_dir).name[-6:], links)] = folder
    return links


def _free(name: str, end_of_id: str, taken: Mapping[str, Path]) -> str:
    """Two runs of one name are told apart by the ends of their ids, several folders of one run by numbers."""
    if name not in taken:
        return name
    names = (f"{name} {end_of_id}", *(f"{name} {end_of_id} {number}" for number in range(2, len(taken) + 3)))
    return next(one for one in names if one not in taken)


def lay(folder: Path, links: Mapping[str, Path]) -> bool:
    """Make these links and no others; whether that changed anything."""
    changed = False
    for link in folder.iterdir():
        if links.get(link.name) != link.readlink():
            link.unlink()
            changed = True
    for name, target in links.items():
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(target, target_is_directory=True)
            changed = True
    return changed


def count_written(links: Mapping[str, Path]) -> int:
    """How many of them lead to event files."""
    return sum(any(target.glob("*tfevents*")) for target in links.values())


def _event_folders(run_dir: RunDir) -> Sequence[Path]:
    """What the manifest says; before there is one, where they will be."""
    try:
        artifacts = manifest.read(run_dir).artifacts
    except (FileNotFoundError, MosaicError):
        return [run_dir.tensorboard]
    paths = [artifact.path for artifact in artifacts if artifact.kind == "tensorboard"]
    # One that leads out of the run is not shown; one that is not there yet will be.
    found = [run_dir.root / path for path in paths if not _leads_out(run_dir, path)]
    return found or [run_dir.tensorboard]


def _leads_out(run_dir: RunDir, path: str) -> bool:
    try:
        run_dir.inside(path)
    except UnsafePath:
        return True
    return False
