"""Files of a run as they arrive from another machine: appended, or written aside, compared, synced and renamed.

The other machine is not trusted with more than this run: names that do not travel are refused, links are not followed.
Aside is the folder `.relay` of the run directory.
"""

import os
import shutil
from pathlib import Path

from mosaic.errors import MosaicError
from mosaic.relay import relayed_files
from mosaic.relay.file_states import digest_of
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.files.files_of_run import look_beneath
from mosaic.spec.files.shared_files import sync_file, sync_folder

ASIDE = ".relay"


class RelayBroken(MosaicError):
    """What arrives does not fit what is there: both sides have to compare their files again."""


class ReceivedFiles:
    """Takes in what one sender sends; a new sender begins with what is there."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._aside = root / ASIDE
        if self._aside.is_symlink():
            # What is written aside must not lead out of the run.
            self._aside.unlink()
        shutil.rmtree(self._aside, ignore_errors=True)

    def take(self, piece: wire.FilePiece) -> None:
        how = relayed_files.how_of(piece.path)
        if how is None or how != piece.how:
            raise RelayBroken(f"'{piece.path}' does not travel as '{piece.how}'")
        if how == "grow":
            self._grow(piece)
            return
        aside = self._aside / piece.path
        if piece.same_as:
            self._link(piece.same_as, aside)
            return
        if piece.offset == 0:
            # What is there from an earlier try may be a link to the file of a checkpoint that is whole.
            aside.unlink(missing_ok=True)
        _write_at(aside, piece, cut=False)
        if piece.last:
            if digest_of(aside) != piece.digest:
                raise RelayBroken(f"'{piece.path}' did not arrive as it was sent")
            sync_file(aside)
            if how == "whole":
                aside.replace(self._place(piece.path))
                sync_folder((self._root / piece.path).parent)

    def commit(self, done: wire.FolderDone) -> None:
        """A folder is whole: from now on it has its name."""
        if not relayed_files.is_folder(done.path):
            raise RelayBroken(f"'{done.path}' is not a folder that travels")
        aside, place = self._aside / done.path, self._place(done.path)
        there = sorted(path.relative_to(self._aside).as_posix() for path in aside.rglob("*") if path.is_file())
        if there != sorted(state.path for state in done.files):
            raise RelayBroken(f"'{done.path}' is not whole")
        for state in done.files:
            if (self._aside / state.path).stat().st_size != state.bytes:
                raise RelayBroken(f"'{state.path}' is not as long as it was")
        # A resume from a checkpoint needs the events that led to it.
        for name in relayed_files.LINES:
            if look_beneath(self._root, name) is not None:
                sync_file(self._root / name)
        sync_folder(aside)
        if place.exists():
            place.replace(self._aside / f"{place.name}.replaced")
        aside.replace(place)
        sync_folder(place.parent)

    def remove(self, path: str) -> None:
        """Gone where it came from, so gone here."""
        if not relayed_files.is_folder(path) and relayed_files.how_of(path) is None:
            raise RelayBroken(f"'{path}' does not travel")
        place = self._place(path)
        if not place.exists():
            return
        self._aside.mkdir(exist_ok=True)
        doomed = self._aside / "removed"
        shutil.rmtree(doomed, ignore_errors=True)
        # Renamed first: a kill leaves no half of a checkpoint behind.
        place.replace(doomed)
        if doomed.is_dir():
            shutil.rmtree(doomed, ignore_errors=True)
        else:
            doomed.unlink()

    def close(self) -> None:
        """Leave nothing aside."""
        shutil.rmtree(self._aside, ignore_errors=True)

    def _grow(self, piece: wire.FilePiece) -> None:
        _write_at(self._place(piece.path), piece, cut=True)

    def _link(self, source: str, aside: Path) -> None:
        found = look_beneath(self._root, source)
        if relayed_files.how_of(source) != "folder" or found is None:
            raise RelayBroken(f"'{source}' is not here to be linked")
        aside.parent.mkdir(parents=True, exist_ok=True)
        aside.unlink(missing_ok=True)
        try:
            os.link(self._root / source, aside, follow_symlinks=False)
        except OSError:  # A file system without hard links; anything else fails again.
            shutil.copyfile(self._root / source, aside, follow_symlinks=False)

    def _place(self, path: str) -> Path:
        """Where it belongs, its folders made; refused where one of them is a link."""
        folder = self._root
        *between, last = Path(path).parts
        for part in between:
            folder = folder / part
            if folder.is_symlink():
                raise RelayBroken(f"'{path}' would lead out of the run: {part} is a link")
            folder.mkdir(mode=0o700, exist_ok=True)
        if (folder / last).is_symlink():
            raise RelayBroken(f"'{path}' is a link")
        return folder / last


def _write_at(place: Path, piece: wire.FilePiece, *, cut: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(place, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size > piece.offset and cut:
            os.ftruncate(descriptor, piece.offset)
            size = piece.offset
        if size != piece.offset:
            raise RelayBroken(f"'{piece.path}' has {size:,} bytes here; a piece for byte {piece.offset:,} came")
        data, at = memoryview(piece.data), piece.offset
        while data:
            written = os.pwrite(descriptor, data, at)
            data, at = data[written:], at + written
    finally:
        os.close(descriptor)
