"""Digests that tell a damaged file from a whole one: SHA-256, in a JSON text about itself or in a list about others.

A JSON text carries its own digest as `"sha256": "<64 hex digits>"`. It is the SHA-256 of the whole file in which these 64
characters are zeros, so it covers every other byte: length, header, metadata and what follows the text. The last such
member of the text counts; within strings of JSON its quotes are escaped, so none of them looks like it.

SHA-256, because processors of today compute it themselves: 1.4 GB/s where BLAKE2b has 0.5 and a disk less than both
(`python -m bench.checkpoint`). `sha256sum` gives the same for a file that is in a list.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

MEMBER = "sha256"
EMPTY = "0" * 64
"""What is written where the digest will stand."""

_MEMBER = re.compile(rb'"sha256": ?"([^"]*)"')


@dataclass(frozen=True)
class FileDigest:
    """A file as a list of files names it."""

    bytes: int
    sha256: str


def seal(text: bytes, rest: bytes | memoryview = b"") -> bytes:
    """`text` with its digest in the place of `EMPTY`; `rest` is what follows it in the file."""
    return _with(text, _member(text), _digest(text, rest).encode())


def is_whole(text: bytes, rest: bytes | memoryview = b"") -> bool:
    """Whether a text that carries its digest, and what follows it, is as it was written."""
    place = _member(text)
    return place is not None and text[slice(*place)] == _digest(_with(text, place, EMPTY.encode()), rest).encode()


def of_file(path: Path) -> FileDigest:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileDigest(file.tell(), digest)


def difference(path: Path, listed: FileDigest, *, quick: bool = False) -> str:
    """What is wrong with a file of a list; empty if nothing is. `quick` looks at its size only."""
    try:
        found = path.lstat()
        if not S_ISREG(found.st_mode):
            return "it is not a file"
        if found.st_size != listed.bytes:
            return f"it has {found.st_size:,} bytes instead of {listed.bytes:,}"
        return "" if quick or of_file(path) == listed else "its content is not what was written (SHA-256 differs)"
    except FileNotFoundError:
        return "it is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror}"


def _member(text: bytes) -> tuple[int, int] | None:
    places = [found.span(1) for found in _MEMBER.finditer(text)]
    return places[-1] if places else None


def _with(text: bytes, place: tuple[int, int] | None, digest: bytes) -> bytes:
    assert place is not None, "the text has no place for a digest"
    return text[: place[0]] + digest + text[place[1] :]


def _digest(text: bytes, rest: bytes | memoryview) -> str:
    digest = hashlib.sha256(text)
    digest.update(rest)
    return digest.hexdigest()
