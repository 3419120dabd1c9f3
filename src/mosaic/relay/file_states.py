"""Sizes and digests of a run's files, read again only where a file has changed."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

import xxhash

from mosaic.relay import relayed_files
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.files.files_of_run import open_beneath

READ_BYTES = 2**20

Signature: TypeAlias = tuple[int, int, int]
"""Inode, time of the last change, size."""


def signature_of(found: os.stat_result) -> Signature:
    return found.st_ino, found.st_mtime_ns, found.st_size


def digest_of(path: Path, limit: int | None = None) -> str:
    """Of the whole file, or of its first bytes; empty if it has fewer."""
    with path.open("rb", buffering=0) as file:
        return _digest_in(file.read, limit)


def _digest_in(read: Callable[[int], bytes], limit: int | None) -> str:
    tally = xxhash.xxh3_128()
    left = limit
    while left is None or left > 0:
        data = read(READ_BYTES if left is None else min(left, READ_BYTES))
        if not data:
            break
        tally.update(data)
        left = None if left is None else left - len(data)
    return "" if left else tally.hexdigest()


class FileStates:
    """Of the files below one run directory."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._known: dict[str, tuple[Signature, wire.FileState]] = {}

    def all(self) -> list[wire.FileState]:
        return self.of(relayed_files.paths(self._root))

    def of(self, paths: Iterable[str]) -> list[wire.FileState]:
        """One that goes away meanwhile is left out."""
        found: list[wire.FileState] = []
        for path in paths:
            try:
                found.append(self._one(path))
            except FileNotFoundError:
                self._known.pop(path, None)
        return found

    def _one(self, path: str) -> wire.FileState:
        # The other side may have named it: no link leads out of the run, no pipe holds up the thread.
        with open_beneath(self._root, path) as file:
            signature = signature_of(os.fstat(file.fileno()))
            known = self._known.get(path)
            if known is None or known[0] != signature:
                size = signature[2]
                state = wire.FileState(path=path, bytes=size, digest=_digest_in(file.read, size))
                known = self._known[path] = (signature, state)
            return known[1]
