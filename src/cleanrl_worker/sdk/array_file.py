"""Arrays to a safetensors file, with the digest of its bytes: hashed piece by piece as it is written.

A safetensors file is a length (uint64, little endian), a JSON header of that many bytes, and the arrays without gaps.
The library's own `save_file` would write the same, but what it wrote would have to be read again for its digest.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mosaic.spec.digests import FileDigest, Tally

Array = np.ndarray[Any, Any]

PIECE_BYTES = 2**18
"""Hashed right after it was written, while it is in the processor's cache."""
DTYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "uint8": "U8",
    "bool": "BOOL",
    "complex64": "C64",
}


def write(path: Path, arrays: Mapping[str, Array]) -> FileDigest:
    """On disk when this returns."""
    # The largest items first, so that each array begins at a multiple of its item's size.
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    tally = Tally()
    with path.open("wb") as file:
        for content in (memoryview(_header(arrays, order)), *(_bytes(arrays[name]) for name in order)):
            for start in range(0, content.nbytes, PIECE_BYTES):
                piece = content[start : start + PIECE_BYTES]
                file.write(piece)
                tally.add(piece)
        file.flush()
        os.fsync(file.fileno())
    return tally.digest


def _header(arrays: Mapping[str, Array], order: list[str]) -> bytes:
    entries: dict[str, Any] = {}
    end = 0
    for name in order:
        array, begin = arrays[name], end
        end += array.nbytes
        if array.dtype.name not in DTYPES:
            raise TypeError(f"{name} is an array of {array.dtype.name}, which a checkpoint cannot hold")
        entries[name] = {
            "dtype": DTYPES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def _bytes(array: Array) -> memoryview:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return np.ascontiguousarray(little).reshape(-1).view(np.uint8).data
