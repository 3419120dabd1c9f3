"""A run as lists show it: what its directory's `run.json` and events tell, and what a client receives."""

import json
from dataclasses import dataclass, field, fields
from pathlib import Path

from mosaic import config
from mosaic.spec.files import write_atomically
from mosaic.spec.own_files import read_regular
from mosaic.spec.run_dir import RunDir
from mosaic.spec.states import RunState


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The part that only the daemon decides: kept in `run.json`, so that the index can be rebuilt from it."""

    run_id: str
    """ULID."""
    state: RunState = RunState.QUEUED
    """Where the run is in its life."""
    reason: str = ""
    """Why, where there is something to say."""
    kind: str = "train"
    """train, policy_eval or play."""
    label: str = ""
    """Name that people gave it."""
    notes: str = ""
    """Free text."""
    algo: str = ""
    """Algorithm."""
    env_id: str = ""
    """Environment."""
    seed: int = 1
    """Seed."""
    group: str = ""
    """Shared by the runs of one submit over seeds."""
    priority: int = 0
    """Higher starts earlier."""
    cpus: int = 1
    """CPU slots it takes."""
    gpus: float = 0.0
    """GPUs it takes; a fraction shares one."""
    total_timesteps: int = 0
    """Environment steps asked for."""
    config_digest: str = ""
    """SHA-256 of the config."""
    client_key: str = ""
    """Idempotency key of its submit."""
    submitted_at: float = 0.0
    """Unix seconds."""
    started_at: float = 0.0
    """Unix seconds; 0 before the start."""
    ended_at: float = 0.0
    """Unix seconds; 0 before the end."""
    attempt: int = 0
    """0 before the first start, one more for each start."""
    resume_from: str = ""
    """Checkpoint that the next start goes on from, relative to the run directory."""
    exit_code: int | None = None
    """Of the worker; negative for a signal."""
    stderr_tail: tuple[str, ...] = ()
    """Last lines of stderr of a run that ended badly."""
    cancel_asked: bool = False
    """A person asked for the end."""
    pid: int = 0
    """Process id of the worker; 0 if there is none."""
    gpu_ids: tuple[int, ...] = ()
    """GPUs that it was given."""

    @property
    def placed(self) -> "Placed":
        """This part alone."""
        return Placed(**{field.name: getattr(self, field.name) for field in fields(Placed)})


@dataclass(frozen=True, kw_only=True)
class Progress:
    """The part that the events tell."""

    global_step: int = 0
    """Environment steps done."""
    steps_per_s: float = 0.0
    """Lately."""
    last_return: float | None = None
    """Mean return of the last 100 episodes, at most."""
    best_return: float | None = None
    """Highest of these means."""
    last_seq: int = 0
    """Newest event."""
    sparkline: tuple[float, ...] = ()
    """The course of the mean return, thinned."""


@dataclass(frozen=True, kw_only=True)
class RunRecord(Placed, Progress):
    """Everything that is known of a run."""

    revision: int = 0
    """Grows with every change of any run."""
    run_dir: str = ""
    """Directory, on the daemon's host."""
    deleted: bool = field(default=False)
    """The run was removed."""

    @property
    def eta_s(self) -> float | None:
        """Seconds to go at this rate."""
        left = self.total_timesteps - self.global_step
        if self.state is not RunState.RUNNING or self.steps_per_s <= 0 or left < 0 or not self.total_timesteps:
            return None
        return left / self.steps_per_s


def write(run_dir: RunDir, placed: Placed) -> None:
    """Durable when this returns."""
    write_atomically(run_dir.record, json.dumps(config.to_json(placed), indent=1) + "\n")


def read(run_dir: RunDir) -> Placed:
    return read_file(run_dir.record)


def read_file(path: Path) -> Placed:
    """Of a copy, whose folder may have any name."""
    return config.from_json_text(Placed, read_regular(path), what=str(path))
