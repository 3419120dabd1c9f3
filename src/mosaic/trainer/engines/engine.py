"""What the supervisor asks of an engine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mosaic.spec.run_dir import RunDir
from mosaic.trainer.runs.out_of_memory import Usage


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One start of a worker."""

    run_dir: RunDir
    module: str
    """Python module of the worker."""
    argv: Sequence[str]
    """Its command line, without the module."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables beside the daemon's own; secrets travel here and nowhere else."""
    warm: bool = True
    """A pre-imported process may be used."""


class SeparateProcess(Protocol):
    """A process of a worker's program that is not a run: a dry run, whose output is read. Its caller ends it."""

    def exit_code(self) -> int | None:
        """None while it runs; does not wait. Negative is the signal that ended it."""
        ...

    def new_output(self) -> bytes:
        """What it has printed since the last call, both streams."""
        ...

    def end(self) -> None:
        """End it and what it started, at once."""
        ...


class Engine(Protocol):
    """Starts workers, and knows how they ended. A pid of 0 is a worker whose pid is not known yet."""

    def launch(self, launch: Launch) -> int:
        """Start a worker that holds the run's life lock from its first moment on; its process id."""
        ...

    def start_apart(
        self, module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path
    ) -> SeparateProcess:
        """Run a worker's program that is not a run, from a pre-imported process where one is ready."""
        ...

    def is_alive(self, run_dir: RunDir, pid: int) -> bool:
        """Whether the worker of this run lives, also one that another daemon started."""
        ...

    def stop(self, pid: int) -> None:
        """Ask the worker to save and end; asked twice, it ends at once."""
        ...

    def would_save(self, pid: int) -> bool:
        """Whether it would answer a stop by saving: not before it is ready for one, nor after it has had one."""
        ...

    def hold(self, pid: int) -> None:
        """Ask the worker to wait at its next step boundary."""
        ...

    def let_go(self, pid: int) -> None:
        """Let a held worker go on."""
        ...

    def kill(self, pid: int, run_dir: RunDir) -> None:
        """End the worker and everything that it started, at once."""
        ...

    def clear_away(self, pid: int, run_dir: RunDir) -> int | None:
        """After its end: end what it left behind; its exit code, or None if another process took it."""
        ...

    def usage_of(self, pid: int) -> Usage:
        """The memory of a worker that was cleared away."""
        ...

    def warm_up(self) -> None:
        """Get ready for the next launch."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether the next launch is quick."""
        ...

    def warm_output_of(self, module: str, words: Sequence[str] = (), *, timeout_s: float | None = None) -> bytes | None:
        """What a module prints where workers run, if that is quicker there than in a new process; None if not."""
        ...

    def close(self) -> None:
        """Let go of what the engine itself holds; workers go on."""
        ...
