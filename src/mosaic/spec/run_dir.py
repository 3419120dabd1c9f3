"""Every path of a home and of a run; an id that is not a ULID and a path that leaves its run are refused."""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import platformdirs

from mosaic.errors import HomeUnusable, HomeVanished, UnsafePath
from mosaic.spec import ulid
from mosaic.spec.files.files_of_run import look_beneath, open_beneath
from mosaic.spec.files.shared_files import is_temporary
from mosaic.spec.processes import home_claim

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
MARKERS = frozenset({"events.jsonl", "run.json", "analytics.json"})
"""Files by which the folder of a run is known, whatever its name is: it may have been copied and renamed."""
SOURCES = "source"
"""The folder of a run that holds copies of code."""
_LABEL_UNSAFE = re.compile(r"[^A-Za-z0-9._=+-]+")


def new_run_id() -> str:
    """A ULID: unique, and sorted by the time it was made."""
    return ulid.new()


def is_run_id(text: str) -> bool:
    return _ULID.fullmatch(text) is not None


def checked_run_id(text: str) -> str:
    if not is_run_id(text):
        raise UnsafePath(
            f"'{text}' is not a run id; a run id is a ULID of 26 characters such as 01K9CG05J5Y0FFQMT1T920EZK2"
        )
    return text


def is_run_folder(folder: Path) -> bool:
    """Whether this is the directory of a run, of this home or from elsewhere."""
    return is_run_id(folder.name) or any(os.path.lexists(folder / name) for name in MARKERS)


def run_label(env_id: str, algo: str, seed: int, unix_s: int) -> str:
    """CleanRL's run name; `/` and `:` (ALE/Breakout-v5, module:Env-v0) become `-`, so that it is one folder."""
    return f"{_LABEL_UNSAFE.sub('-', env_id)}__{_LABEL_UNSAFE.sub('-', algo)}__{seed}__{unix_s}"


@dataclass(frozen=True)
class PathBelow:
    """An attribute of a home or a run: the path of something in it."""

    relative: str

    def __get__(self, owner: "Home | RunDir", _: type) -> Path:
        return owner.root / self.relative


@dataclass(frozen=True)
class Home:
    """The folder that holds the trainer's index, configs and runs."""

    root: Path

    trainer = PathBelow("trainer")
    index = PathBelow("trainer/index.sqlite")
    lock = PathBelow("trainer/daemon.lock")
    socket = PathBelow("trainer/daemon.sock")
    token = PathBelow("trainer/daemon.token")
    metrics = PathBelow("trainer/metrics")
    """Columns of every run's metrics: a cache, rebuilt from the events."""
    episodes = PathBelow("trainer/episodes.sqlite")
    """The list of recorded episodes: a cache, rebuilt from the recordings."""
    configs = PathBelow("trainer/configs")
    starts = PathBelow("trainer/starts")
    """Starts of runs on other machines, each with the token of its agent; for the owner alone."""
    agents_socket = PathBelow("trainer/daemon.agents")
    """Where agents of other machines link to the daemon, through a tunnel."""
    hosts = PathBelow("trainer/hosts.toml")
    """The user's file of hosts for the engine ssh."""
    runs = PathBelow("trainer/runs")
    reserve = PathBelow("trainer/reserve")
    """Room that a daemon gives up when it starts, so that it can do so on a full disk."""
    imports = PathBelow("trainer/imports")
    """Runs of other tools while they are being written."""
    imports_lock = PathBelow("trainer/imports.lock")
    """Locked (flock) by an import as long as it works."""
    alert_settings = PathBelow("trainer/alerts.json")
    """What the user set of alerts, and the receivers."""
    alerts = PathBelow("trainer/alerts.jsonl")
    """The journal of alerts: what was found, who was told."""
    alerts_lock = PathBelow("trainer/alerts.lock")
    """Locked (flock) while one of the two is written."""
    alerts_sender_lock = PathBelow("trainer/alerts.sender.lock")
    """Locked (flock) by the process that tells receivers, as long as it lives."""
    alerts_log = PathBelow("trainer/alerts.log")
    """What that process printed."""

    @classmethod
    def resolve(cls) -> "Home":
        """`$MOSAIC_HOME`, else the platform's user-data folder."""
        chosen = os.environ.get("MOSAIC_HOME")
        if not chosen:
            return cls(platformdirs.user_data_path("mosaic"))
        try:
            return cls(Path(chosen).expanduser().absolute())
        except RuntimeError as error:
            raise HomeUnusable(f"MOSAIC_HOME is '{chosen}': {error}; set it to a folder that exists") from error

    def config(self, run_id: str, *, policy: bool = False) -> Path:
        return self.configs / f"config-{checked_run_id(run_id)}{'-policy' if policy else ''}.json"

    def worker_config(self, run_id: str, slot: int) -> Path:
        return self.configs / f"worker-{checked_run_id(run_id)}-{slot}.json"

    def run(self, run_id: str) -> "RunDir":
        return RunDir(self.runs / checked_run_id(run_id))

    def create(self) -> None:
        """Make the folders, readable by their owner only; refused where a daemon lives whose home this was."""
        if not self.lock.exists() and (pid := home_claim.claimant(self.root)) is not None:
            raise HomeVanished(self.root, pid=pid)
        for folder in (self.trainer, self.configs, self.runs):
            _make_folder(folder)


@dataclass(frozen=True)
class RunDir:
    """Every path of one run. The folder alone is enough to rebuild everything that is known of the run."""

    root: Path

    events = PathBelow("events.jsonl")
    histograms = PathBelow("histograms.jsonl")
    """How weights and gradients were distributed, where the run was asked for it."""
    worker = PathBelow("worker.json")
    config = PathBelow("config.json")
    """The run config without its secrets, so that this folder alone tells the whole story."""
    record = PathBelow("run.json")
    """What the daemon decided: state, reason, label, priority."""
    damaged_record = PathBelow("run.json.damaged")
    """A `run.json` that could not be read, kept for a look."""
    life_lock = PathBelow("worker.lock")
    """Locked (flock) by the worker as long as it lives, from before its first instruction on."""
    manifest = PathBelow("analytics.json")
    damaged_manifest = PathBelow("analytics.json.damaged")
    """A manifest that could not be read, kept for a look."""
    logs = PathBelow("logs")
    stdout = PathBelow("logs/cleanrl.stdout.log")
    stderr = PathBelow("logs/cleanrl.stderr.log")
    stdout_times = PathBelow("logs/cleanrl.stdout.times")
    """When its lines were printed (`mosaic.spec.logs.log_times`)."""
    stderr_times = PathBelow("logs/cleanrl.stderr.times")
    tensorboard = PathBelow("tensorboard")
    tensorboard_eval = PathBelow("tensorboard_eval")
    eval_summary = PathBelow("eval_summary.json")
    wandb = PathBelow("wandb")
    wandb_export = PathBelow("wandb/export.json")
    wandb_log = PathBelow("logs/wandb.log")
    episodes = PathBelow("episodes")
    """Recordings of a play session."""
    play_socket = PathBelow("play.sock")
    """Where a living play session takes commands."""
    play_summary = PathBelow("play_summary.json")
    """Results of a play session."""
    actors = PathBelow("actors")
    """What actors of a play session leave behind: what they learnt, what was said to a language model."""
    source = PathBelow(SOURCES)
    """Copies of the code of a user's own algorithm, a folder for each version; never imported."""
    imported = PathBelow("imported")
    """Files of the tool that an imported run comes from."""
    checkpoints = PathBelow("checkpoints")
    relay = PathBelow(".relay")
    """Files that are arriving from another machine, until they are whole."""

    def __post_init__(self) -> None:
        checked_run_id(self.root.name)

    @property
    def run_id(self) -> str:
        return self.root.name

    def files(self) -> Iterator[tuple[str, int]]:
        """Names and sizes of all plain files, sorted; without the life lock and what is being written or arrives."""
        for path in sorted(self.root.rglob("*")):
            inside = path.relative_to(self.root)
            # One that goes away meanwhile is left out.
            with contextlib.suppress(FileNotFoundError):
                found = path.lstat()
                arriving = path.is_relative_to(self.relay)
                unfinished = arriving or any(is_temporary(part) for part in inside.parts)
                if stat.S_ISREG(found.st_mode) and path != self.life_lock and not unfinished:
                    yield inside.as_posix(), found.st_size

    def export_state(self, tracker: str) -> Path:
        """How far the export to a tracker is."""
        return self.root / tracker / "export.json"

    def export_lock(self, tracker: str) -> Path:
        """Locked (flock) by the exporter as long as it lives."""
        return self.root / tracker / "export.lock"

    def export_log(self, tracker: str) -> Path:
        """What the exporter printed."""
        return self.logs / f"{tracker}.log"

    @property
    def videos(self) -> Path:
        return self.root / "videos" / self.run_id

    @property
    def eval_videos(self) -> Path:
        return self.root / "videos" / f"{self.run_id}-eval"

    def episode(self, number: int) -> Path:
        return self.episodes / f"episode-{number:06d}.jsonl"

    def actor_file(self, name: str) -> Path:
        return self.inside(Path("actors") / _LABEL_UNSAFE.sub("-", name))

    def checkpoint(self, global_step: int) -> Path:
        return self.checkpoints / f"step-{global_step}"

    def policy(self, label: str, algo: str) -> Path:
        return self.inside(f"runs/{label}/{algo}.cleanrl_model")

    def inside(self, relative: str | Path) -> Path:
        """A path of this run, after symlinks; one that would lie outside is refused."""
        root = self.root.resolve()
        try:
            path = (root / relative).resolve()
        except (OSError, RuntimeError, ValueError) as error:  # a loop of symlinks, a NUL
            raise UnsafePath(f"{str(relative)!r} is not a path of run {self.run_id}: {error}") from error
        if not path.is_relative_to(root):
            raise UnsafePath(f"'{relative}' lies outside run {self.run_id}")
        if sys.version_info >= (3, 13) and _has_link(path, root):
            raise UnsafePath(f"'{relative}' is not a path of run {self.run_id}: a loop of symlinks")
        return path

    def open(self, name: str | Path, *, append: bool = False) -> BinaryIO:
        """A file of this run, without following a link; NotAFile if there is none."""
        return open_beneath(self.root, self._name(name), append=append)

    def look(self, name: str | Path) -> os.stat_result | None:
        """Of a file or folder of this run, without following a link; None if there is none."""
        return look_beneath(self.root, self._name(name))

    def _name(self, name: str | Path) -> str | Path:
        return name.relative_to(self.root) if isinstance(name, Path) and name.is_relative_to(self.root) else name

    def relative(self, path: Path) -> str:
        """The name under which the manifest and the events mention a file of this run."""
        return self.inside(path).relative_to(self.root.resolve()).as_posix()

    def create(self) -> None:
        _make_folder(self.root)
        _make_folder(self.logs)


def _has_link(path: Path, root: Path) -> bool:
    """From Python 3.13 on, `resolve` leaves a loop of symlinks as it is, where it raised an error before."""
    while path != root:
        if path.is_symlink():
            return True
        path = path.parent
    return False


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise HomeUnusable(
            f"{folder} cannot be created: {error.strerror}; set MOSAIC_HOME to a folder that you can write to"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HomeUnusable(f"{folder} cannot be written to; set MOSAIC_HOME to a folder that you can write to")
