"""What the supervisor asks of an engine, by handle: which start of which run is meant, wherever its worker runs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from mosaic.errors import Problem
from mosaic.spec.run_config import TrainRunConfig
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.runs.out_of_memory import Usage
from mosaic.trainer.runs.schedule import Slots


@dataclass(frozen=True)
class Surroundings:
    """What an engine is made with."""

    home: Home
    agents: Agents
    """Starts on other machines."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One start of a worker."""

    run_dir: RunDir
    module: str
    """Python module of the worker."""
    config: Path
    """What it is handed."""
    options: Sequence[str] = ()
    """Further words of its command line."""
    target: str = ""
    """Where it reaches the daemon, if it is to."""
    resume: str | None = None
    """Checkpoint that it goes on from, relative to the run directory; empty is the newest whole one, None is none."""
    engine: str = "local"
    """Which engine is meant."""
    epoch: int = 1
    """Number of this start: each start of a run has a higher one than all before it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables beside the daemon's own; secrets travel here and nowhere else."""
    warm: bool = True
    """A pre-imported process may be used."""

    @property
    def argv(self) -> list[str]:
        """Its command line, without the module."""
        words = ["--config", str(self.config), "--run-dir", str(self.run_dir.root), *self.options]
        if self.target:
            words += ["--grpc", "--grpc-target", self.target]
        if self.resume:
            # A user chose it; newer ones are there only if the user let them go.
            words += ["--resume", str(self.run_dir.inside(self.resume)), "--discard-newer"]
        elif self.resume is not None:
            words += ["--resume", str(self.run_dir.root)]
        return words


@dataclass(frozen=True, kw_only=True)
class Handle:
    """One start of one run, as its engine knows it. All of it is in `run.json`: a later daemon has the same handle."""

    run_dir: RunDir
    engine: str = "local"
    """Its engine."""
    epoch: int = 0
    """Number of the start."""
    pid: int = 0
    """Process id of the worker where it runs; 0 if it is not known (yet)."""


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What an engine knows of a worker that has ended."""

    exit_code: int | None = None
    """None if another process took it."""
    usage: Usage = field(default_factory=Usage)
    """Its memory."""
    again: str = ""
    """Why it ended, if neither the run nor a user is the reason: it goes on from its newest checkpoint."""
    reason: str = ""
    """What is known of its end beyond that, in words for the user."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """What an engine found when it looked for what it needs."""

    found: Sequence[str] = ()
    """What is there."""
    missing: Sequence[str] = ()
    """What is not, each with what to do; nothing can be started while there is something here."""
    start: str = ""
    """The line that a user types next."""


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
    """Starts workers, and knows how they ended."""

    @property
    def runs_here(self) -> bool:
        """Whether its workers run on the daemon's own machine."""
        ...

    def misfits(self, config: TrainRunConfig, slots: Slots) -> Sequence[Problem]:
        """Why it cannot run this; `slots` are those of the daemon's machine."""
        ...

    def choose(self, queued: Sequence[RunRecord], live: Sequence[RunRecord], slots: Slots) -> Sequence[RunRecord]:
        """Which of its queued runs may start now, beside those of its own that live."""
        ...

    def probe(self) -> Probe:
        """Look for what it needs; may take seconds."""
        ...

    def launch(self, launch: Launch) -> Handle:
        """Start a worker that holds the run's life lock from its first moment on."""
        ...

    def poll(self, handle: Handle) -> bool:
        """Whether this start goes on: its worker lives, also one that another daemon started."""
        ...

    def pid_of(self, handle: Handle) -> int:
        """Process id of its worker where that runs; 0 if it is not known (yet)."""
        ...

    def stop(self, handle: Handle) -> bool:
        """Ask the worker to save and end; asked twice, it ends at once. False if it cannot be asked yet."""
        ...

    def would_save(self, handle: Handle) -> bool:
        """Whether it would answer a stop by saving: not before it is ready for one, nor after it has had one."""
        ...

    def hold(self, handle: Handle) -> None:
        """Ask the worker to wait at its next step boundary."""
        ...

    def let_go(self, handle: Handle) -> None:
        """Let a held worker go on."""
        ...

    def kill(self, handle: Handle) -> None:
        """End the worker and everything that it started, at once."""
        ...

    def collect(self, handle: Handle) -> Collected:
        """After its end: end what it left behind, and tell how it ended."""
        ...

    def forget(self, handle: Handle) -> None:
        """Its end is written down."""
        ...

    def warm_up(self) -> None:
        """Get ready for the next launch."""
        ...

    @property
    def is_warm(self) -> bool:
        """Whether the next launch is quick."""
        ...

    def close(self) -> None:
        """Let go of what the engine itself holds; workers go on."""
        ...


EngineOf: TypeAlias = Callable[[str], Engine]
"""The engine of a name; an empty one is that of the daemon."""


class Workshop(Engine, Protocol):
    """The engine of the daemon's own machine, which also runs what is not a run: dry runs, and the catalogue's look."""

    def start_apart(
        self, module: str, argv: Sequence[str], environment: Mapping[str, str], cwd: Path
    ) -> SeparateProcess:
        """Run a worker's program that is not a run, from a pre-imported process where one is ready."""
        ...

    def warm_output_of(self, module: str, words: Sequence[str] = (), *, timeout_s: float | None = None) -> bytes | None:
        """What a module prints where workers run, if that is quicker there than in a new process; None if not."""
        ...
