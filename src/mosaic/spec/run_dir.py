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
class Home:
    """The folder that holds the trainer's index, configs and runs."""

    root: Path

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

    @property
    def trainer(self) -> Path:
        return self.root / "trainer"

    @property
    def index(self) -> Path:
        return self.trainer / "index.sqlite"

    @property
    def lock(self) -> Path:
        return self.trainer / "daemon.lock"

    @property
    def socket(self) -> Path:
        return self.trainer / "daemon.sock"

    @property
    def token(self) -> Path:
        return self.trainer / "daemon.token"

    @property
    def metrics(self) -> Path:
        """Columns of every run's metrics: a cache, rebuilt from the events."""
        return self.trainer / "metrics"

    @property
    def episodes(self) -> Path:
        """The list of recorded episodes: a cache, rebuilt from the recordings."""
        return self.trainer / "episodes.sqlite"

    @property
    def presets(self) -> Path:
        """Presets of the user."""
        return self.root / "presets"

    @property
    def configs(self) -> Path:
        return self.trainer / "configs"

    @property
    def runs(self) -> Path:
        return self.trainer / "runs"

    @property
    def reserve(self) -> Path:
        """Room that a daemon gives up when it starts, so that it can do so on a full disk."""
        return self.trainer / "reserve"

    @property
    def imports(self) -> Path:
        """Runs of other tools while they are being written."""
        return self.trainer / "imports"

    @property
    def imports_lock(self) -> Path:
        """Locked (flock) by an import as long as it works."""
        return self.trainer / "imports.lock"

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

    def __post_init__(self) -> None:
        checked_run_id(self.root.name)

    @property
    def run_id(self) -> str:
        return self.root.name

    @property
    def events(self) -> Path:
        return self.root / "events.jsonl"

    @property
    def worker(self) -> Path:
        return self.root / "worker.json"

    @property
    def config(self) -> Path:
        """The run config without its secrets, so that this folder alone tells the whole story."""
        return self.root / "config.json"

    @property
    def record(self) -> Path:
        """What the daemon decided: state, reason, label, priority."""
        return self.root / "run.json"

    @property
    def damaged_record(self) -> Path:
        """A `run.json` that could not be read, kept for a look."""
        return self.root / "run.json.damaged"

    def files(self) -> Iterator[tuple[str, int]]:
        """Names and sizes of all plain files, sorted; without the life lock, which is no business of a copy."""
        for path in sorted(self.root.rglob("*")):
            # One that goes away meanwhile is left out.
            with contextlib.suppress(FileNotFoundError):
                found = path.lstat()
                if stat.S_ISREG(found.st_mode) and path != self.life_lock:
                    yield path.relative_to(self.root).as_posix(), found.st_size

    @property
    def life_lock(self) -> Path:
        """Locked (flock) by the worker as long as it lives, from before its first instruction on."""
        return self.root / "worker.lock"

    @property
    def manifest(self) -> Path:
        return self.root / "analytics.json"

    @property
    def damaged_manifest(self) -> Path:
        """A manifest that could not be read, kept for a look."""
        return self.root / "analytics.json.damaged"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    @property
    def stdout(self) -> Path:
        return self.logs / "cleanrl.stdout.log"

    @property
    def stderr(self) -> Path:
        return self.logs / "cleanrl.stderr.log"

    @property
    def tensorboard(self) -> Path:
        return self.root / "tensorboard"

    @property
    def tensorboard_eval(self) -> Path:
        return self.root / "tensorboard_eval"

    @property
    def eval_summary(self) -> Path:
        return self.root / "eval_summary.json"

    @property
    def wandb(self) -> Path:
        return self.root / "wandb"

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
    def wandb_export(self) -> Path:
        return self.export_state("wandb")

    @property
    def wandb_lock(self) -> Path:
        return self.export_lock("wandb")

    @property
    def wandb_log(self) -> Path:
        return self.export_log("wandb")

    @property
    def videos(self) -> Path:
        return self.root / "videos" / self.run_id

    @property
    def eval_videos(self) -> Path:
        return self.root / "videos" / f"{self.run_id}-eval"

    @property
    def episodes(self) -> Path:
        """Recordings of a play session."""
        return self.root / "episodes"

    def episode(self, number: int) -> Path:
        return self.episodes / f"episode-{number:06d}.jsonl"

    @property
    def play_socket(self) -> Path:
        """Where a living play session takes commands."""
        return self.root / "play.sock"

    @property
    def play_summary(self) -> Path:
        """Results of a play session."""
        return self.root / "play_summary.json"

    @property
    def actors(self) -> Path:
        """What actors of a play session leave behind: what they learnt, what was said to a language model."""
        return self.root / "actors"

    def actor_file(self, name: str) -> Path:
        return self.inside(Path("actors") / _LABEL_UNSAFE.sub("-", name))

    @property
    def source(self) -> Path:
        """Copies of the code of a user's own algorithm, a folder for each version; never imported."""
        return self.root / SOURCES

    @property
    def imported(self) -> Path:
        """Files of the tool that an imported run comes from."""
        return self.root / "imported"

    @property
    def checkpoints(self) -> Path:
        return self.root / "checkpoints"

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
