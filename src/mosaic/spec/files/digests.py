"""Digests that tell a damaged file from a whole one: of a JSON text about itself, and of other files in a list.

A JSON text carries its own digest as `"sha256": "<64 hex digits>"`. It is the SHA-256 of the whole file in which these
64 characters are zeros, so it covers every other byte: length, header, metadata and what follows the text. The last
such member of the text counts; within strings of JSON its quotes are escaped, so none of them looks like it.

Files in a list may be gigabytes that a learner's machine writes every minute. They have an XXH3 of 128 bits: SHA-256
takes longer than a fast disk does (`python -m bench.checkpoint`).
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

import xxhash

MEMBER = "sha256"
EMPTY = "0" * 64
"""What is written where the digest will stand."""
READ_BYTES = 2**18
"""Small enough to stay in the processor's cache, large enough that the interpreter's lock is let go."""

_NAME = b'"sha256":'
_MEMBER = re.compile(rb'"sha256": ?"([^"]*)"')


@dataclass(frozen=True)
class FileDigest:
    """A file as a list of files names it."""

    bytes: int
    xxh3_128: str
    """Hex digits."""


class Tally:
    """Counts and hashes the bytes of a file as they pass."""

    def __init__(self) -> None:
        self._hash = xxhash.xxh3_128()
        self._bytes = 0

    def add(self, piece: memoryview) -> None:
        self._hash.update(piece)
        self._bytes += piece.nbytes

    @property
    def digest(self) -> FileDigest:
        return FileDigest(self._bytes, self._hash.hexdigest())


def seal(text: bytes, rest: bytes | memoryview = b"") -> bytes:
    """`text` with its digest in the place of `EMPTY`; `rest` is what follows it in the file."""
    return _with(text, _member(text), _digest(text, rest).encode())


def is_whole(text: bytes, rest: bytes | memoryview = b"") -> bool:
    """Whether a text that carries its digest, and what follows it, is as it was written."""
    place = _member(text)
    return place is not None and text[slice(*place)] == _digest(_with(text, place, EMPTY.encode()), rest).encode()


def of_file(path: Path) -> FileDigest:
    tally, buffer = Tally(), memoryview(bytearray(READ_BYTES))
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(buffer):
            tally.add(buffer[:count])
    return tally.digest


def difference(path: Path, listed: FileDigest, *, quick: bool = False) -> str:
    """What is wrong with a file of a list; empty if nothing is. `quick` looks at its size only."""
    try:
        found = path.lstat()
        if not S_ISREG(found.st_mode):
            return "it is not a file"
        if found.st_size != listed.bytes:
            return f"it has {found.st_size:,} bytes instead of {listed.bytes:,}"
        return "" if quick or of_file(path) == listed else "its content is not what was written (XXH3 differs)"
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def _member(text: bytes) -> tuple[int, int] | None:
    """Where the digest of the last such member stands; looked for from the end, where it is."""
    start = text.rfind(_NAME)
    while start >= 0:
        if found := _MEMBER.match(text, start):
            return found.span(1)
        start = text.rfind(_NAME, 0, start)
    return None


def _with(text: bytes, place: tuple[int, int] | None, digest: bytes) -> bytes:
    assert place is not None, "the text has no place for a digest"
    return text[: place[0]] + digest + text[place[1] :]


def _digest(text: bytes, rest: bytes | memoryview) -> str:
    digest = hashlib.sha256(text)
    digest.update(rest)
    return digest.hexdigest()
