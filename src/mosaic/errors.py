"""Every error MOSAIC raises on purpose: what happened, to which id, and what to do next.

MosaicError
├── ConfigError               a config, flag or form value breaks its rules; lists all problems at once
├── UnknownName
│   ├── UnknownEnvironment
│   ├── UnknownAlgorithm
│   └── RunNotFound
├── IncompatibleSpaces        the algorithm cannot act in, or observe, this environment
├── MissingExtra              an optional dependency is not installed
├── MissingPackage            a package that is not part of MOSAIC is not installed
├── RenderUnavailable         no headless backend could render a frame
├── EnvironmentFailed         the environment could not be made, reset or stepped
├── HomeUnusable              the home folder cannot be created or written, or its disk is full
│   └── HomeVanished          it was removed or moved away while a daemon or a client used it
├── UnsafePath                an id or path that would leave the run directory
├── InvalidTransition         a run cannot go from this state to that one
├── SpoolCorrupt              events.jsonl has a gap or a line that is not an event
├── PolicyError               a policy file is unreadable, foreign or does not fit
├── CheckpointError           a train state is unreadable, foreign or incomplete
├── RecordingError            a recorded episode is unreadable, or cannot be made again
├── ActorFailed               an actor could not be made, raised, or does not answer
└── TrainingFailed            the learner met a value it cannot go on from (NaN loss)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar


class MosaicError(Exception):
    """Root of the tree; `exit_code` is what a command line returns for it."""

    exit_code: int = 1

    @property
    def sentence(self) -> str:
        """For a person at a terminal, on one line where that is enough."""
        return str(self)


@dataclass(frozen=True)
class Problem:
    """One broken rule: where (`extras.algo_params.gamma`) and what."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class ConfigError(MosaicError):
    """A config breaks its rules; `problems` holds every broken one, not just the first."""

    exit_code = 2

    def __init__(self, problems: Iterable[Problem], *, what: str = "config") -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.what = what
        count = len(self.problems)
        head = f"{what}: {count} problem{'s' if count != 1 else ''}"
        super().__init__("\n".join([head, *(f"  {problem}" for problem in self.problems)]))

    @property
    def sentence(self) -> str:
        """A single problem stands on one line."""
        return f"{self.what}: {self.problems[0]}" if len(self.problems) == 1 else str(self)


class UnknownName(MosaicError):
    """A name that nothing answers to; says what is near it."""

    exit_code = 2
    kind: ClassVar[str] = "name"
    listing: ClassVar[str] = ""

    def __init__(self, name: str, near: Sequence[str] = (), *, hint: str = "") -> None:
        self.name = name
        self.near = tuple(near)
        parts = [f"{self.kind} '{name}' is not known"]
        if near:
            parts.append(f"did you mean {' or '.join(near)}?")
        if hint or self.listing:
            parts.append(hint or self.listing)
        super().__init__("; ".join(parts).replace("?; ", "? "))


class UnknownEnvironment(UnknownName):
    kind = "environment"
    listing = "'mosaic envs' lists what is installed; any other Gymnasium id works as module:Env-v0"


class UnknownAlgorithm(UnknownName):
    kind = "algorithm"
    listing = "'mosaic algos' lists what there is"


class RunNotFound(UnknownName):
    kind = "run"
    listing = "'mosaic runs' lists what is in this home"


class IncompatibleSpaces(MosaicError):
    exit_code = 2


class MissingExtra(MosaicError):
    """An optional dependency is not installed; the message is the line that installs it here, if any can."""

    exit_code = 3

    def __init__(self, what: str, extra: str) -> None:
        # Only here: looking at the installation takes packages that nothing else imports.
        from mosaic.installation import install_line
        from mosaic.python_wheels import OF_EXTRA, no_wheel

        self.extra = extra
        advice = no_wheel(OF_EXTRA.get(extra)) or install_line(extra)
        super().__init__(f"{what} needs the extra '{extra}': {advice}")


class MissingPackage(MosaicError):
    """A package that a script imports, or one of MOSAIC's own that was removed."""

    exit_code = 3

    def __init__(self, what: str, *packages: str) -> None:
        from mosaic.installation import package_line

        self.packages = packages
        are = "which is" if len(packages) == 1 else "which are"
        super().__init__(f"{what} needs {', '.join(packages)}, {are} not installed here: {package_line(*packages)}")


class RenderUnavailable(MosaicError):
    exit_code = 3


class EnvironmentFailed(MosaicError):
    exit_code = 4


class HomeUnusable(MosaicError):
    exit_code = 4


class HomeVanished(HomeUnusable):
    def __init__(self, root: object, *, pid: int | None = None) -> None:
        who = f" while the daemon with process id {pid} uses it" if pid else ""
        super().__init__(
            f"the home {root} is gone: it was removed or moved away{who}. Move it back, or set MOSAIC_HOME to where"
            " it is now; a new home is not begun in its place while anything still uses the old one"
        )


class UnsafePath(MosaicError):
    exit_code = 2


class InvalidTransition(MosaicError):
    pass


class SpoolCorrupt(MosaicError):
    pass


class PolicyError(MosaicError):
    exit_code = 2


class CheckpointError(MosaicError):
    exit_code = 2


class RecordingError(MosaicError):
    exit_code = 2


class ActorFailed(MosaicError):
    exit_code = 2


class TrainingFailed(MosaicError):
    exit_code = 5
