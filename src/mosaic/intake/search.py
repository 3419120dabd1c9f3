"""Looking through a folder for runs of other tools."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mosaic.errors import MosaicError
from mosaic.intake import exported_runs, sb3_monitors, tensorboard_runs, wandb_runs
from mosaic.intake.found import UNKNOWN, Found, NotImportable


@dataclass(frozen=True, kw_only=True)
class Source:
    """A way in which a tool leaves its runs behind."""

    is_there: Callable[[Path], object]
    """Whether a folder is such a run."""
    identity: Callable[[Path], str]
    """The same for the same run, at once and however much it grows."""
    read: Callable[[Path], Found]
    is_whole: bool
    """All that is below the folder belongs to it; else it may lie beside others."""


SOURCES: Sequence[Source] = (
    Source(is_there=exported_runs.is_there, identity=exported_runs.identity, read=exported_runs.read, is_whole=True),
    Source(is_there=wandb_runs.is_there, identity=wandb_runs.identity, read=wandb_runs.read, is_whole=True),
    Source(
        is_there=tensorboard_runs.is_there,
        identity=tensorboard_runs.identity,
        read=tensorboard_runs.read,
        is_whole=False,
    ),
    Source(is_there=sb3_monitors.is_there, identity=sb3_monitors.identity, read=sb3_monitors.read, is_whole=False),
)


@dataclass(frozen=True)
class Candidate:
    """A folder that looks like a run."""

    path: Path
    sources: Sequence[Source]

    def identity(self) -> str:
        """By the first source that can tell; NotImportable with the reasons if none can."""
        reasons: list[str] = []
        for source in self.sources:
            try:
                return source.identity(self.path)
            except (OSError, MosaicError) as error:
                reasons.append(_reason(error))
        raise NotImportable("; ".join(reasons))

    def read(self) -> Found:
        found, *others = self._all_read()
        for other in others:
            found = _together(found, other)
        return found

    def _all_read(self) -> list[Found]:
        reasons: list[str] = []
        found: list[Found] = []
        for source in self.sources:
            try:
                found.append(source.read(self.path))
            except (OSError, MosaicError) as error:
                reasons.append(_reason(error))
        if not found:
            raise NotImportable("; ".join(reasons))
        return [replace(found[0], remarks=[*found[0].remarks, *reasons]), *found[1:]]


def search(root: Path) -> Iterator[Candidate]:
    """Every run below a folder, the folder itself included; symbolic links and hidden folders are not followed."""
    for name, inner, _ in os.walk(root):
        folder = Path(name)
        inner[:] = sorted(each for each in inner if not each.startswith(".") and each != "__pycache__")
        there = [source for source in SOURCES if source.is_there(folder)]
        whole = [source for source in there if source.is_whole]
        if whole:
            inner.clear()
        if there:
            yield Candidate(folder, whole[:1] or there)


def _reason(error: OSError | MosaicError) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'a file of it'} cannot be read: {error.strerror or error}"
    return str(error)


def _together(one: Found, other: Found) -> Found:
    """Curves and episodes of one run, in the order of time."""
    return replace(
        one,
        env_id=other.env_id if one.env_id == UNKNOWN else one.env_id,
        moments=sorted([*one.moments, *other.moments], key=lambda moment: moment.time),
        files={**one.files, **other.files},
        remarks=[*one.remarks, *other.remarks],
    )
