"""Reading a `.wandb` file: W&B's transaction log in LevelDB's log format, by its own protobuf classes."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2 as pb

MAGIC = b":W&B\xe1\xbe\x00"
BLOCK = 32768
WHOLE, LAST = 1, 4


def records(path: Path) -> Iterator[Any]:
    data = path.read_bytes()
    assert data.startswith(MAGIC)
    at, record = len(MAGIC), b""
    while at + 7 <= len(data):
        if (left := BLOCK - at % BLOCK) < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        record += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (WHOLE, LAST):
            yield pb.Record.FromString(record)
            record = b""


def history(path: Path) -> list[dict[str, Any]]:
    rows = (record.history for record in records(path) if record.WhichOneof("record_type") == "history")
    return [{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in row.item} for row in rows]


def settings(path: Path) -> dict[str, Any]:
    run = next(record.run for record in records(path) if record.WhichOneof("record_type") == "run")
    return {item.key: json.loads(item.value_json) for item in run.config.update}
