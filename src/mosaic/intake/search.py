"""Looking through a folder for runs of other tools."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mosaic.errors import MosaicError
from mosaic.intake import exported_runs, sb3_monitors, tensorboard_runs, wandb_runs
from mosaic.intake.found import UNKNOWN, Found, NotImportable


class Source(Protocol):
    """A way in which a tool leaves its runs behind."""

    def is_there(self, folder: Path, /) -> bool:
        """Whether a folder is such a run."""
        ...

    def identity(self, folder: Path, /) -> str:
        """The same for the same run, at once and however much it grows."""
        ...

    def read(self, folder: Path, /) -> Found: ...


WHOLE: Sequence[Source] = (exported_runs, wandb_runs)
"""All that is below such a folder belongs to it."""
SOURCES: Sequence[Source] = (
    *WHOLE,
    tensorboard_runs,
    sb3_monitors,
)
"""The others may lie beside one another."""


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
        whole = [source for source in there if source in WHOLE]
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
