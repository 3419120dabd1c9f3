"""The digest of a policy file of ours: in its metadata, over all of its bytes (docs/protocols/policy-file.md).

A policy file is safetensors: a length (uint64, little endian), a JSON header of that many bytes, and the arrays. The
digest is the member `sha256` of the header's `__metadata__`, as `mosaic.spec.files.digests` defines it: readers that do
not know it see one more text there. Policies of earlier versions have none.
"""

import json
from pathlib import Path
from typing import Any, cast

from mosaic.errors import PolicyError
from mosaic.spec.files import digests
from mosaic.spec.files.files_of_run import open_regular

FORMAT = "mosaic-policy-1"
MAX_HEADER_BYTES = 16 * 2**20
EARLIER = frozenset({"format", "algo", "env_id", "args", "observation_space", "action_space", "global_step"})
"""All that the metadata held before it had a digest."""
MARKS = (FORMAT.encode(), f'"{digests.MEMBER}":"'.encode())
MARKED_BYTES = 2**16
"""The metadata comes first in the sorted header."""
NO_DIGEST = "was written by an earlier version, without a digest: damage in it would not be noticed"
ADVICE = (
    "evaluate another policy, or 'mosaic resume RUN' writes it again from the run's newest checkpoint;"
    " 'mosaic verify' says what else is damaged"
)


def seal(data: bytes) -> bytes:
    """A policy file, whose metadata has `digests.EMPTY` as its digest, with the digest in its place."""
    end = _header_end(data)
    return digests.seal(data[:end], memoryview(data)[end:]) + data[end:]


def check_file(path: Path) -> bool:
    """PolicyError if a policy of ours is damaged; False if it has no digest to tell."""
    try:
        with open_regular(path, follow=True) as file:
            data = file.read()
    except OSError as error:
        raise PolicyError(f"{path} cannot be read as a policy: {error.strerror or error}") from error
    return check(data, what=str(path))


def check(data: bytes, *, what: str) -> bool:
    """The same for bytes; `what` is the name of the file."""
    end = _header_end(data)
    try:
        header: Any = json.loads(data[8:end])
        metadata = cast("dict[str, Any]", header["__metadata__"])
        ours, known = metadata.get("format") == FORMAT, metadata.keys() <= EARLIER
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        cut = "; it is cut off" if end > len(data) else ""
        raise PolicyError(
            f"{what} cannot be read as a policy: its header is damaged ({error!r}){cut}; {ADVICE}"
        ) from error
    whole = digests.is_whole(data[:end], memoryview(data)[end:]) if digests.MEMBER in metadata else None
    if whole is None and not ours:
        raise PolicyError(f"{what} is a safetensors file, but not a MOSAIC policy ({FORMAT})")
    # A digest that was damaged into something else must not make a policy of an earlier version of this one.
    if whole is False or (whole is None and not known):
        raise PolicyError(f"{what} is damaged: it is not what was written (SHA-256 differs); {ADVICE}")
    if not ours:
        raise PolicyError(f"{what} is a policy of another version of MOSAIC, not {FORMAT}")
    return whole is not None


def metadata(data: bytes) -> dict[str, str]:
    """From the header of a policy that was checked."""
    return json.loads(data[8 : _header_end(data)])["__metadata__"]


def refuse_damaged(data: bytes, *, what: str) -> None:
    """PolicyError for a damaged policy of ours; a file of another tool passes, for it has no digest of ours."""
    if is_ours(data):
        check(data, what=what)


def is_ours(data: bytes) -> bool:
    """Whether a file was a policy of ours when it was written: its format or its digest is left if a bit is not."""
    return any(mark in data[:MARKED_BYTES] for mark in MARKS)


def _header_end(data: bytes) -> int:
    return 8 + min(int.from_bytes(data[:8], "little"), MAX_HEADER_BYTES)
