"""Folders of W&B runs, `offline-run-…` and `run-…`: read from the transaction log `run-<id>.wandb` in them.

The log is in LevelDB's log format: a head of 7 bytes, then blocks of 32 KiB that hold `uint32 crc | uint16 length |
uint8 kind` and data, a record whole (1) or in a first (2), middle (3) and last (4) piece. Each is a protobuf message
`Record`; the fields that are read here:

    Record         2 history, 17 run, 18 exit
    HistoryRecord  1 item (1 key, 2 nested_key, 16 value_json), 2 step (1 num)
    RunRecord      1 run_id, 3 project, 4 config (1 update: 1 key, 2 nested_key, 16 value_json), 8 display_name
    RunExitRecord  1 exit_code

They are decoded here and not by W&B's package, so that old runs can be taken in where it is not installed.
"""

import json
import struct
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from mosaic.intake import cleanrl_settings
from mosaic.intake.found import UNKNOWN, Found, Moment, NotImportable, joined_moments, name_of

MAGIC = b":W&B\xe1\xbe\x00"
BLOCK_BYTES = 32768
_WHOLE, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
X_AXIS = "global_step"
MAX_STEP = 2**63


def log_file(folder: Path) -> Path | None:
    """None for a folder that is not a run of W&B."""
    return next(iter(sorted(folder.glob("run-*.wandb"))), None)


def is_there(folder: Path) -> bool:
    return log_file(folder) is not None


def identity(folder: Path) -> str:
    """W&B's name of the folder: the second in which the run began, and its id."""
    return sha256(b"wandb\0" + folder.name.removeprefix("offline-").encode()).hexdigest()


def read(folder: Path) -> Found:
    path = log_file(folder)
    if path is None:
        raise NotImportable("there is no run-….wandb in it")
    told: dict[str, Any] = {}
    label, run_id = "", path.stem.removeprefix("run-")
    exit_code: int | None = None
    moments: list[Moment] = []
    remarks: list[str] = []
    bad = 0
    for record in _records(path, remarks):
        try:
            fields = _message(record)
            if 17 in fields:
                run = _message(fields[17][-1])
                label = _text(run.get(8)) or label
                for update in _message(run[4][-1]).get(1, []) if 4 in run else ():
                    told |= _item(update)
            elif 2 in fields:
                moments += _moments(fields[2][-1])
            elif 18 in fields:
                exit_code = _signed(_message(fields[18][-1]).get(1, [0])[-1])
        except (NotImportable, TypeError, ValueError, AttributeError):
            # Bytes that were changed: a number where a message should be, and so on.
            bad += 1
    if bad:
        remarks.append(f"{path.name}: {bad:,} of its records cannot be read")
    if not moments:
        why = "; ".join(remarks)
        raise NotImportable(f"{path.name} holds no numbers{f' ({why})' if why else ''}")
    name = name_of(label)
    return Found(
        tool="Weights & Biases",
        path=folder,
        identity=identity(folder),
        label=label or run_id,
        algo=cleanrl_settings.text(told, "exp_name", "algo", otherwise=name.algo if name else UNKNOWN),
        env_id=cleanrl_settings.text(told, "env_id", "env_name", otherwise=name.env_id if name else UNKNOWN),
        seed=cleanrl_settings.whole_number(told, "seed", name.seed if name else 1),
        total_timesteps=cleanrl_settings.whole_number(told, "total_timesteps", 0),
        settings=told,
        moments=moments,
        files=_files(folder),
        exit_code=exit_code,
        remarks=remarks,
    )


def _files(folder: Path) -> dict[str, Path]:
    """Not into `wandb/`, where an export of ours would take their place."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {f"imported/{folder.name}/{path.relative_to(folder).as_posix()}": path for path in files}


def _moments(history: bytes) -> Iterator[Moment]:
    fields = _message(history)
    row: dict[str, Any] = {}
    for item in fields.get(1, []):
        row |= _item(item)
    step = _number(row.pop(X_AXIS, None))
    if step is None:
        step = _number(row.get("_step"))
    if step is None and 2 in fields:
        step = float(_message(fields[2][-1]).get(1, [0])[-1])
    values = {tag: _number(one) for tag, one in row.items() if not tag.startswith("_")}
    numbers = {tag: one for tag, one in values.items() if one is not None}
    if numbers and step is not None and 0 <= step < MAX_STEP:
        yield from joined_moments(_number(row.get("_timestamp")) or 0.0, int(step), numbers)


def _number(value: Any) -> float | None:
    """None for what is none: a text, a film, a histogram."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number or value in ("NaN", "Infinity", "-Infinity") else None


def _item(data: bytes) -> dict[str, Any]:
    """A key and its value, which is JSON."""
    fields = _message(data)
    key = _text(fields.get(1)) or "/".join(part.decode(errors="replace") for part in fields.get(2, []))
    try:
        return {key: json.loads(_text(fields.get(16)))} if key else {}
    except ValueError:
        return {}


def _text(values: list[Any] | None) -> str:
    return values[-1].decode(errors="replace") if values and isinstance(values[-1], bytes) else ""


def _records(path: Path, remarks: list[str]) -> Iterator[bytes]:
    data = path.read_bytes()
    if not data.startswith(MAGIC):
        raise NotImportable(f"{path.name} is not a transaction log of W&B")
    at, record, count = len(MAGIC), b"", 0
    while at + 7 <= len(data):
        if (left := BLOCK_BYTES - at % BLOCK_BYTES) < 7:
            at += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, at)
        piece = data[at + 7 : at + 7 + length]
        if len(piece) < length or kind not in (_WHOLE, _FIRST, _MIDDLE, _LAST):
            remarks.append(f"{path.name} is cut off after {count:,} records")
            return
        record = piece if kind in (_WHOLE, _FIRST) else record + piece
        at += 7 + length
        if kind in (_WHOLE, _LAST):
            count += 1
            yield record


def _signed(value: int) -> int:
    """An int32 as protobuf writes it: -1 is the largest of 64 bits."""
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _message(data: bytes) -> Mapping[int, list[Any]]:
    """The fields of a protobuf message by their numbers: whole numbers, and bytes for all that has a length."""
    fields: dict[int, list[Any]] = {}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        value: Any
        if kind == _VARINT:
            value, at = _varint(data, at)
        elif kind == _BYTES:
            length, at = _varint(data, at)
            value, at = data[at : at + length], at + length
        elif kind in (_FIXED64, _FIXED32):
            size = 8 if kind == _FIXED64 else 4
            value, at = data[at : at + size], at + size
        else:
            raise NotImportable(f"a record of it is not a protobuf message (kind {kind})")
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise NotImportable("a record of it ends in the middle of a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
