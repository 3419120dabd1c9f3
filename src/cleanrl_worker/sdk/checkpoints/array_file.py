"""Arrays to a safetensors file, with the digest of its bytes: hashed while it is written.

A safetensors file is a length (uint64, little endian), a JSON header of that many bytes, and the arrays without gaps.
The library's own `save_file` would write the same, but what it wrote would have to be read again for its digest.
"""

import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mosaic.spec.files.digests import FileDigest, Tally

Array = np.ndarray[Any, Any]

ASIDE_BYTES = 4 * 2**20
"""From here on a thread of its own computes the digest, while the disk syncs and the processor has nothing to do."""
PIECE_BYTES = 4 * 2**20
"""Hashed at once, without the interpreter's lock."""
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
    contents = [memoryview(_header(arrays, order)), *(_bytes(arrays[name]) for name in order)]
    large = sum(content.nbytes for content in contents) >= ASIDE_BYTES
    if not large:
        # In one piece: dozens of small arrays would each be handed to the file and to the digest.
        contents = [memoryview(b"".join(contents))]
    tally = Tally()

    def hash_all() -> None:
        for content in contents:
            for start in range(0, content.nbytes, PIECE_BYTES):
                tally.add(content[start : start + PIECE_BYTES])

    aside = threading.Thread(target=hash_all, name="digest") if large else None
    with path.open("wb") as file:
        for content in contents:
            file.write(content)
        file.flush()
        if aside is not None:
            aside.start()
        try:
            os.fsync(file.fileno())
        finally:
            hash_all() if aside is None else aside.join()
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
