"""Large arrays of which little changes between two checkpoints: saved page by page, unchanged pages as hard links.

A page is `page_rows` rows of the array and has a stamp, which counts the writes into it. A checkpoint holds a file for
each page, `<path in the state>-<page>.safetensors`, and all stamps. A page whose stamp is that of the checkpoint before
is linked to the file there (copied where the file system has no links). So a replay buffer of gigabytes is on disk
once, however many checkpoints are kept, and each of them costs what was written since the last one. Stamps depend on
nothing but what was done to the array: two runs alike have the same ones. A page that is linked keeps the digest that
it was written with: it is not read again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load_file

from cleanrl_worker.sdk.checkpoints import array_file
from mosaic.errors import CheckpointError
from mosaic.spec.files import digests
from mosaic.spec.files.checkpoint_files import ADVICE
from mosaic.spec.files.digests import FileDigest
from mosaic.spec.files.shared_files import share

PAGE_BYTES = 16 * 2**20
Array = np.ndarray[Any, Any]


class PagedArray:
    """`array` for reading; a write goes through `write`, or the next checkpoint lacks it."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.array: Array = np.zeros(shape, dtype)
        row_bytes = self.array.nbytes // shape[0]
        self.page_rows = min(max(PAGE_BYTES // row_bytes, 1), shape[0])
        self.stamps: list[int] = [0] * -(-shape[0] // self.page_rows)

    def write(self, row: int, values: Array) -> None:
        self.array[row] = values
        self.stamps[row // self.page_rows] += 1

    def page(self, number: int) -> Array:
        return self.array[number * self.page_rows : (number + 1) * self.page_rows]

    def load(self, saved: "SavedPages") -> None:
        """Take over a saved array of the same shape."""
        for number, stamp in enumerate(saved.stamps):
            if stamp:
                self.page(number)[...] = saved.page(number)
        self.stamps = list(saved.stamps)


@dataclass(frozen=True)
class SavedPages:
    """A paged array in a checkpoint; pages are read one at a time, because all together may not fit twice."""

    folder: Path
    name: str
    stamps: tuple[int, ...]
    shape: tuple[int, ...]
    digests: Mapping[str, FileDigest] = field(default_factory=dict[str, FileDigest])
    """Of the checkpoint's files by name; a page without one is of an earlier version."""
    checked: bool = False
    """The pages were compared with their digests already."""

    def page(self, number: int) -> Array:
        file = self.folder / file_name(self.name, number)
        digest = self.digest(number)
        if digest is not None and not self.checked and (problem := digests.difference(file, digest)):
            raise CheckpointError(f"{file} is damaged: {problem}; {ADVICE}")
        try:
            return load_file(file)["page"]
        except (OSError, SafetensorError, KeyError) as error:
            raise CheckpointError(f"{file} is damaged ({error}); {ADVICE}") from error

    def digest(self, number: int) -> FileDigest | None:
        return self.digests.get(file_name(self.name, number))


@dataclass(frozen=True)
class PageCopy:
    """A page that is to be written, as it was when the checkpoint was asked for."""

    name: str
    number: int
    content: Array

    def put(self, folder: Path) -> FileDigest:
        return array_file.write(folder / self.file, {"page": self.content})

    @property
    def file(self) -> str:
        return file_name(self.name, self.number)


@dataclass(frozen=True)
class PageLink:
    """A page that is in an earlier checkpoint already."""

    name: str
    number: int
    source: Path
    digest: FileDigest | None
    """What it was written with; None if an earlier version wrote it."""

    def put(self, folder: Path) -> FileDigest:
        before, file = self.source / self.file, folder / self.file
        share(before, file)
        return self.digest or digests.of_file(file)

    @property
    def file(self) -> str:
        return file_name(self.name, self.number)


def plan(name: str, pages: PagedArray, before: SavedPages | None, *, copy: bool) -> list[PageCopy | PageLink]:
    """What a checkpoint has to write: each page that changed since `before`. Untouched pages are left out.

    Without `copy` the pages must not change until they are written, and gigabytes are not held twice.
    """
    same = () if before is None else before.stamps
    parts: list[PageCopy | PageLink] = []
    for number, stamp in enumerate(pages.stamps):
        if stamp and before is not None and number < len(same) and same[number] == stamp:
            parts.append(PageLink(name, number, before.folder, before.digest(number)))
        elif stamp:
            page = pages.page(number)
            parts.append(PageCopy(name, number, page.copy() if copy else page))
    return parts


def file_name(name: str, number: int) -> str:
    return f"{name.replace('/', '.')}-{number:05}.safetensors"
