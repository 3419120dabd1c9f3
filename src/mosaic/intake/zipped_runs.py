"""A zip file of runs (`mosaic export A B runs.zip`): looked at as a whole before a run of it is unpacked.

An entry is `RUN/path`, a plain file, stored or deflated, once, in a place of its own. Anything else is refused with the
whole file: what `mosaic export` writes has none of it. A file that would grow beyond the disk, or beyond what numbers
and networks compress to, is refused by the sizes that it states; no entry yields more than it states.
"""

import shutil
import stat
import zipfile
import zlib
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mosaic.errors import UnsafePath
from mosaic.intake.found import NotImportable
from mosaic.spec.files.disk_room import NEEDED_BYTES
from mosaic.spec.run_dir import is_run_id

SUFFIX = ".zip"
PIECE = 2**20
MOST_FILES = 500_000
LARGE, MOST_TIMES = 2 * 2**30, 200
"""A file that unpacks to more bytes than this, and to more than so many times its own size, is taken for a trap."""
PLAIN = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


@dataclass(frozen=True)
class ZippedRuns:
    """One that has passed every check."""

    path: Path
    entries: dict[str, list[zipfile.ZipInfo]]
    """Of each run."""
    archive: zipfile.ZipFile

    def unpack(self, run_id: str, folder: Path) -> Path:
        """The run below a folder, whole; nothing of it if it is damaged."""
        made = folder / run_id
        try:
            for entry in self.entries[run_id]:
                target = folder / entry.filename
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with self.archive.open(entry) as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file, PIECE)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            shutil.rmtree(made, ignore_errors=True)
            raise NotImportable(f"it is damaged in {self.path.name}: {error}") from error
        except OSError:
            shutil.rmtree(made, ignore_errors=True)
            raise
        return made


@contextmanager
def opened(path: Path, *, room: int) -> Generator[ZippedRuns]:
    """NotImportable or UnsafePath for a file that is not one of runs alone; `room` is what the disk has in bytes."""
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError) as error:
        raise NotImportable(f"{path} is not a zip file, or is cut off: {error}; export the runs again") from error
    with archive:
        entries = [entry for entry in archive.infolist() if not _is_folder(entry)]
        _refuse_names(path, entries)
        _refuse_overlaps(path, entries)
        _refuse_size(path, entries, room)
        runs: dict[str, list[zipfile.ZipInfo]] = {}
        for entry in entries:
            runs.setdefault(entry.filename.partition("/")[0], []).append(entry)
        yield ZippedRuns(path, runs, archive)


def _is_folder(entry: zipfile.ZipInfo) -> bool:
    return entry.is_dir() and not entry.file_size


def _refuse_names(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    if not entries:
        raise NotImportable(f"{path} is empty")
    if len(entries) > MOST_FILES:
        raise NotImportable(f"{path} holds {len(entries):,} files; at most {MOST_FILES:,} are taken in")
    names = {entry.filename for entry in entries}
    if len(names) < len(entries):
        raise UnsafePath(f"{path} holds a name twice; nothing was unpacked")
    for entry in entries:
        if why := _wrong_with(entry, names):
            raise UnsafePath(f"{path}: '{entry.orig_filename:.120}' {why}; nothing was unpacked")


def _wrong_with(entry: zipfile.ZipInfo, names: set[str]) -> str:
    name = entry.orig_filename
    run_id, *rest = name.split("/")
    if "\0" in name or "\\" in name or any(part in ("", ".", "..") for part in (run_id, *rest)):
        return "is not a path inside a run"
    if not is_run_id(run_id) or not rest:
        return "is not a file of a run: names begin with the id of one, as 'mosaic export' writes them"
    if any("/".join([run_id, *rest[:depth]]) in names for depth in range(len(rest))):
        return "lies below another file"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "is a link or a special file"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    return "" if entry.compress_type in PLAIN else "is compressed in a way that 'mosaic export' does not use"


def _refuse_overlaps(path: Path, entries: list[zipfile.ZipInfo]) -> None:
    """Entries that share their bytes: a small file could state the same content a million times."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise UnsafePath(
                f"{path}: '{entry.filename:.120}' shares its bytes with another file; nothing was unpacked"
            )
        end = entry.header_offset + entry.compress_size


def _refuse_size(path: Path, entries: list[zipfile.ZipInfo], room: int) -> None:
    total, packed = sum(entry.file_size for entry in entries), path.stat().st_size
    if total > LARGE and total > MOST_TIMES * packed:
        raise NotImportable(
            f"{path} has {packed:,} bytes and states {total:,} bytes of content, {total // packed:,} times as much;"
            " if you trust it, unpack it yourself and import the folder"
        )
    if total > room - NEEDED_BYTES:
        raise NotImportable(
            f"{path} unpacks to {total // 2**20:,} MiB, and the disk of this home has {room // 2**20:,} MiB left;"
            " nothing was unpacked. Free some room, or set MOSAIC_HOME to another disk"
        )
