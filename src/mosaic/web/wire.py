"""How the server writes to the page: JSON without NaN, and binary messages for pictures and curves.

A binary message is the length of its header (unsigned 32 bits, little endian), the header (JSON, padded with blanks so
that what follows begins at a multiple of eight bytes), and the payload: a picture, or float64 columns one after the
other, little endian, whose lengths the header has.
"""

import json
import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

ALIGNED = 8
LENGTH = struct.Struct("<I")


def text(data: object) -> str:
    """JSON; a number that JSON does not have is null."""
    try:
        return json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return json.dumps(_finite(data), allow_nan=False, separators=(",", ":"), ensure_ascii=False)


def message(header: Mapping[str, object], payload: bytes) -> bytes:
    head = text(header).encode("utf-8", "replace")
    head += b" " * (-(LENGTH.size + len(head)) % ALIGNED)
    return LENGTH.pack(len(head)) + head + payload


def columns(header: Mapping[str, object], **named: NDArray[np.float64]) -> bytes:
    """A message of columns of one length each, in the order given."""
    lengths = {name: len(column) for name, column in named.items()}
    payload = b"".join(np.ascontiguousarray(column, dtype="<f8").tobytes() for column in named.values())
    return message({**header, "columns": lengths}, payload)


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in cast("Mapping[Any, Any]", data).items()}
    if isinstance(data, Sequence) and not isinstance(data, str | bytes):
        return [_finite(value) for value in cast("Sequence[Any]", data)]
    return data
