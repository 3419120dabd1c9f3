"""A run's files, sent as they change: events first, then checkpoints, then what is written anew, last what is gone.

A checkpoint is complete on disk after the events that led to it. So the folders are listed before the events are read,
and sent after them: a side that has a checkpoint has its events.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import xxhash

from mosaic.relay import relayed_files
from mosaic.relay.file_states import Signature, digest_of, signature_of
from mosaic.rpc import agent_pb2 as wire

PIECE_BYTES = 2**18
SETTLED_S = 1.0
"""A large file that is not renamed into its place, as a video, is sent when it has not changed for so long."""
SMALL_BYTES = 2**16
LONGEST_PART = 8 * 2**20
"""Of a line."""
GROW_EVERY_S = 0.25
"""While a large folder travels, events go between its pieces this often."""


TAIL_BYTES = 64
"""Of what was sent of a growing file, the end is compared before more of it is sent: it may have been cut off."""


@dataclass
class _Sent:
    size: int
    signature: Signature | None = None
    """Of a file that is sent as a whole."""
    tail: bytes = b""
    """The last bytes that were sent of one that grows."""


class SentFiles:
    """Of one run directory. `send` may wait, until the other side has taken in what is under way."""

    def __init__(
        self, root: Path, send: Callable[[wire.FromAgent], None], *, now: Callable[[], float] = time.time
    ) -> None:
        self._root = root
        self._send = send
        self._now = now
        self._sent: dict[str, _Sent] = {}
        self._folders: set[str] = set()
        self._inodes: dict[int, str] = {}
        """Files of folders that the other side has."""
        self._grown_at = 0.0

    def begin(self, there: Sequence[wire.FileState]) -> None:
        """Go on from what the other side has: what is not the same here is sent anew."""
        self._sent.clear()
        self._folders.clear()
        self._inodes.clear()
        folders: dict[str, bool] = {}
        gone: set[str] = set()
        for state in there:
            how = relayed_files.how_of(state.path)
            same = self._is_same(state, how)
            # All that is brought was here: it was removed while there was no link.
            if relayed_files.is_brought(state.path) and not (self._root / state.path).exists():
                gone.add(state.path if how != "folder" else relayed_files.folder_of(state.path))
            if how == "folder":
                folder = relayed_files.folder_of(state.path)
                folders[folder] = folders.get(folder, True) and same
            elif how == "grow" and same:
                self._sent[state.path] = self._grown(state)
            elif how == "whole" and same:
                self._sent[state.path] = _Sent(state.bytes, signature_of((self._root / state.path).lstat()))
        for folder, same in folders.items():
            if same and len([state for state in there if state.path.startswith(f"{folder}/")]) == len(
                self._files_of(folder)
            ):
                self._note_folder(folder)
        for path in sorted(gone):
            if not (self._root / path).exists():
                self._send(wire.FromAgent(gone=wire.PathGone(path=path)))

    def look(self, *, final: bool = False) -> bool:
        """Send what is new; whether there was anything. `final`: no process writes any more."""
        folders = self._whole_folders()
        there = relayed_files.paths(self._root)
        sent = self._grow(there, final=final)
        for folder in folders:
            if folder not in self._folders:
                sent |= self._send_folder(folder)
        for path in there:
            if relayed_files.how_of(path) == "whole":
                sent |= self._send_whole(path, final=final)
        return sent | self._send_gone(set(there), set(self._whole_folders()))

    def _is_same(self, state: wire.FileState, how: relayed_files.How | None) -> bool:
        try:
            file = self._root / state.path
            size = file.lstat().st_size
            if size < state.bytes or (how != "grow" and size != state.bytes):
                return False
            return digest_of(file, state.bytes) == state.digest
        except FileNotFoundError:
            return False

    # What grows.

    def _grow(self, paths: Sequence[str], *, final: bool) -> bool:
        self._grown_at = time.monotonic()
        sent = False
        for path in paths:
            if relayed_files.how_of(path) == "grow":
                sent |= self._send_grown(path, final=final)
        return sent

    def _grown(self, state: wire.FileState) -> _Sent:
        """What the other side has of a file; a part of a line does not count, because the next attempt cuts it off."""
        with (self._root / state.path).open("rb") as file:
            file.seek(max(0, state.bytes - LONGEST_PART))
            data = file.read(state.bytes - file.tell())
        if state.path in relayed_files.LINES:
            part = len(data) - (data.rfind(b"\n") + 1)
            return _Sent(state.bytes - part, tail=data[: len(data) - part][-TAIL_BYTES:])
        return _Sent(state.bytes, tail=data[-TAIL_BYTES:])

    def _send_grown(self, path: str, *, final: bool) -> bool:
        known = self._sent.setdefault(path, _Sent(-1))
        by_lines = path in relayed_files.LINES and not final
        try:
            with (self._root / path).open("rb") as file:
                size = file.seek(0, 2)
                if size == known.size:
                    return False
                begun = known.size < 0
                file.seek(max(known.size, 0) - len(known.tail))
                if size < known.size or file.read(len(known.tail)) != known.tail:
                    known.size, known.tail = 0, b""  # It was cut off: all of it once more.
                    file.seek(0)
                known.size = max(known.size, 0)
                # By lines it may be beyond that size: what was appended meanwhile.
                while known.size < size and (data := file.read(min(PIECE_BYTES, size - known.size))):
                    if by_lines:
                        data = data if b"\n" in data else data + file.readline()
                        data = data[: data.rfind(b"\n") + 1]
                        file.seek(known.size + len(data))
                        if not data:
                            break
                    self._send_grow_piece(path, known, data)
                    begun = False
                if begun:
                    self._send_grow_piece(path, known, b"")
        except FileNotFoundError:
            self._sent.pop(path, None)
            return False
        return True

    def _send_grow_piece(self, path: str, known: _Sent, data: bytes) -> None:
        self._send(wire.FromAgent(piece=wire.FilePiece(path=path, offset=known.size, data=data, how="grow")))
        known.size += len(data)
        known.tail = (known.tail + data)[-TAIL_BYTES:]

    # What is written anew.

    def _send_whole(self, path: str, *, final: bool) -> bool:
        try:
            with (self._root / path).open("rb", buffering=0) as file:
                signature = signature_of((self._root / path).lstat())
                known = self._sent.get(path)
                if known is not None and known.signature == signature:
                    return False
                unsettled = self._now() - signature[1] / 1e9 < SETTLED_S
                if not final and signature[2] > SMALL_BYTES and unsettled:
                    return False
                for piece in _pieces(file.read, path, "whole"):
                    self._send(wire.FromAgent(piece=piece))
        except FileNotFoundError:
            return False
        self._sent[path] = _Sent(signature[2], signature)
        return True

    # Folders.

    def _whole_folders(self) -> list[str]:
        checkpoints = self._root / "checkpoints"
        if not checkpoints.is_dir():
            return []
        names = sorted(f"checkpoints/{path.name}" for path in checkpoints.iterdir() if path.is_dir())
        return [name for name in names if relayed_files.is_folder(name)]

    def _files_of(self, folder: str) -> list[str]:
        return relayed_files.plain_files(self._root, folder)

    def _send_folder(self, folder: str) -> bool:
        states: list[wire.FileState] = []
        paths = self._files_of(folder)
        if not paths:
            return False
        try:
            for path in paths:
                states.append(self._send_of_folder(path))
        except FileNotFoundError:
            return True  # Removed meanwhile: a newer one is there.
        if self._files_of(folder) != paths:
            return True  # As above.
        self._send(wire.FromAgent(folder=wire.FolderDone(path=folder, files=states)))
        self._note_folder(folder)
        return True

    def _send_of_folder(self, path: str) -> wire.FileState:
        found = (self._root / path).lstat()
        if (same := self._inodes.get(found.st_ino)) is not None and found.st_nlink > 1:
            self._send(wire.FromAgent(piece=wire.FilePiece(path=path, how="folder", same_as=same)))
            return wire.FileState(path=path, bytes=found.st_size)
        size, digest = 0, ""
        with (self._root / path).open("rb", buffering=0) as file:
            for piece in _pieces(file.read, path, "folder"):
                self._send(wire.FromAgent(piece=piece))
                size, digest = size + len(piece.data), piece.digest
                if time.monotonic() - self._grown_at > GROW_EVERY_S:
                    self._grow(relayed_files.paths(self._root), final=False)
        return wire.FileState(path=path, bytes=size, digest=digest)

    def _note_folder(self, folder: str) -> None:
        self._folders.add(folder)
        for path in self._files_of(folder):
            with contextlib.suppress(FileNotFoundError):  # Removed meanwhile.
                self._inodes[(self._root / path).lstat().st_ino] = path

    # What is gone.

    def _send_gone(self, there: set[str], folders: set[str]) -> bool:
        gone = sorted((set(self._sent) - there) | (self._folders - folders))
        for path in gone:
            self._send(wire.FromAgent(gone=wire.PathGone(path=path)))
            self._sent.pop(path, None)
            self._folders.discard(path)
            self._inodes = {inode: name for inode, name in self._inodes.items() if not name.startswith(f"{path}/")}
        return bool(gone)


def _pieces(read: Callable[[int], bytes], path: str, how: relayed_files.How) -> Iterator[wire.FilePiece]:
    """A file from its beginning to its end; the last piece has its digest."""
    tally, offset = xxhash.xxh3_128(), 0
    data = read(PIECE_BYTES)
    while True:
        tally.update(data)
        following = read(PIECE_BYTES)
        digest = "" if following else tally.hexdigest()
        yield wire.FilePiece(path=path, offset=offset, data=data, how=how, last=not following, digest=digest)
        if not following:
            return
        offset, data = offset + len(data), following


def whole_file(root: Path, path: str) -> Iterator[wire.FilePiece]:
    """A file for the other side, which has nothing of it."""
    how = relayed_files.how_of(path)
    if how == "grow":
        with (root / path).open("rb", buffering=0) as file:
            for piece in _pieces(file.read, path, how):
                yield wire.FilePiece(path=path, offset=piece.offset, data=piece.data, how=how)
    elif how is not None:
        with (root / path).open("rb", buffering=0) as file:
            yield from _pieces(file.read, path, how)
