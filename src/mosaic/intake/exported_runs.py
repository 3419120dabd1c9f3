"""Runs of ours that `mosaic export` copied, or that lie in the home of another machine."""

from pathlib import Path

from mosaic.errors import UnsafePath
from mosaic.intake.found import Found, NotImportable
from mosaic.spec import run_record
from mosaic.spec.files import damage_check
from mosaic.spec.run_dir import checked_run_id
from mosaic.spec.states import TERMINAL


def is_there(folder: Path) -> bool:
    return (folder / "run.json").is_file() and (folder / "events.jsonl").is_file()


def identity(folder: Path) -> str:
    """The run's own id, which is in `run.json` whatever the folder is called."""
    run_id = run_record.read_file(folder / "run.json").run_id
    try:
        return checked_run_id(run_id)
    except UnsafePath as error:
        raise NotImportable(f"run.json: {error}") from None


def read(folder: Path) -> Found:
    placed = run_record.read_file(folder / "run.json")
    if placed.state not in TERMINAL:
        raise NotImportable(f"the run is {placed.state} in it; export it again when it has ended")
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    damaged = [finding for finding in damage_check.look_through(folder, {}) if finding.result == "damaged"]
    left_out = [finding.path for finding in damaged if finding.what != "document"]
    return Found(
        tool="MOSAIC",
        path=folder,
        identity=identity(folder),
        label=placed.label,
        algo=placed.algo,
        env_id=placed.env_id,
        seed=placed.seed,
        total_timesteps=placed.total_timesteps,
        files={
            path.relative_to(folder).as_posix(): path
            for path in files
            if not any(path.is_relative_to(bad) for bad in left_out)
        },
        remarks=[f"{finding.problem}; it is left out" for finding in damaged if finding.what != "document"],
    )
