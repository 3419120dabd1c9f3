"""TensorBoard folders, of CleanRL, Stable-Baselines3 and any other tool."""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import google_crc32c

from mosaic.intake import cleanrl_settings
from mosaic.intake.found import UNKNOWN, Found, Moment, NotImportable, Tool, moments_of, name_of
from mosaic.spec.events import RunStarted

PATTERN = "*tfevents*"
MODEL = ".cleanrl_model"
MAX_RECORD_BYTES = 1 << 30
_MASK_DELTA = 0xA282EAD8
_START = 1
FIRST_RECORD_BYTES = 40
_SB3_TAGS = ("rollout/", "train/", "time/", "eval/mean_")


@dataclass
class Board:
    """The content of a folder of event files."""

    points: list[tuple[float, int, str, float]] = field(default_factory=list[tuple[float, int, str, float]])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    restarts: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """Where a file says that it goes on from an earlier step: place among the points, and that step."""
    remarks: list[str] = field(default_factory=list[str])


def event_files(folder: Path) -> list[Path]:
    """Oldest first: their names begin with the time."""
    return sorted(path for path in folder.glob(PATTERN) if path.is_file())


def is_there(folder: Path) -> bool:
    return bool(event_files(folder))


def identity(folder: Path) -> str:
    """By the oldest file's name, which holds time, host and process, and its first record, which holds the time."""
    oldest = event_files(folder)[0]
    with oldest.open("rb") as file:
        first = file.read(FIRST_RECORD_BYTES)
    return sha256(b"tensorboard\0" + oldest.name.encode() + first).hexdigest()


def read(folder: Path) -> Found:
    """The run in a folder with event files."""
    files = event_files(folder)
    board = read_files(files)
    if not board.points:
        why = "; ".join(board.remarks)
        raise NotImportable(f"its TensorBoard files hold no numbers{f' ({why})' if why else ''}")
    name = name_of(folder.name)
    told = cleanrl_settings.of_table(board.texts.get("hyperparameters", ""))
    tool: Tool = "CleanRL" if name or told else "Stable-Baselines3" if _is_sb3(board) else "TensorBoard"
    label = folder.name
    algo = cleanrl_settings.text(told, "exp_name", otherwise=name.algo if name else _sb3_algo(label, tool))
    copies = {f"tensorboard/{path.name}": path for path in files}
    copies |= {f"runs/{label}/{path.name}": path for path in sorted(folder.glob(f"*{MODEL}"))}
    copies |= _videos(folder)
    found = Found(
        tool=tool,
        path=folder,
        identity=identity(folder),
        label=label,
        algo=algo,
        env_id=cleanrl_settings.text(told, "env_id", otherwise=name.env_id if name else UNKNOWN),
        seed=cleanrl_settings.whole_number(told, "seed", name.seed if name else 1),
        total_timesteps=cleanrl_settings.whole_number(told, "total_timesteps", 0),
        settings=told,
        files=copies,
        remarks=board.remarks,
    )
    return _with_moments(found, board)


def _with_moments(found: Found, board: Board) -> Found:
    """A file that goes on from an earlier step is a further attempt, in our words."""
    moments: list[Moment] = []
    at = 0
    for attempt, (place, step) in enumerate(board.restarts, start=2):
        moments += moments_of(board.points[at:place])
        start = RunStarted(
            algo=found.algo,
            env_id=found.env_id,
            seed=found.seed,
            total_timesteps=found.total_timesteps,
            attempt=attempt,
            resumed_from_step=step,
            exact=False,
        )
        moments.append(Moment(board.points[place][0] if place < len(board.points) else moments[-1].time, start))
        at = place
    moments += moments_of(board.points[at:])
    return replace(found, moments=moments)


def read_files(files: Sequence[Path]) -> Board:
    from tensorboard.compat.proto import event_pb2

    board = Board()
    for path in files:
        for data in _records(path, board.remarks):
            try:
                event: Any = event_pb2.Event.FromString(data)  # type: ignore[attr-defined]
            except Exception as error:  # A border: protobuf's own DecodeError has no common name in all its versions.
                board.remarks.append(f"{path.name}: a record is not an event ({error})")
                continue
            _take(board, event)
    return board


def _take(board: Board, event: Any) -> None:
    if event.HasField("session_log") and event.session_log.status == _START and event.step > 0 and board.points:
        board.restarts.append((len(board.points), event.step - 1))
    for one in event.summary.value:
        if one.HasField("simple_value"):
            board.points.append((event.wall_time, max(event.step, 0), one.tag, one.simple_value))
        elif one.HasField("tensor"):
            _take_tensor(board, event, one)


def _take_tensor(board: Board, event: Any, value: Any) -> None:
    """Scalars of newer writers, and texts."""
    tensor = value.tensor
    if tensor.string_val:
        tag = value.tag.removesuffix("/text_summary")
        board.texts.setdefault(tag, tensor.string_val[0].decode(errors="replace"))
        return
    numbers = tensor.float_val or tensor.double_val or tensor.int_val or tensor.int64_val
    if len(numbers) == 1:
        board.points.append((event.wall_time, max(event.step, 0), value.tag, float(numbers[0])))
    elif len(tensor.tensor_content) == 4 and tensor.dtype == 1:
        (number,) = struct.unpack("<f", tensor.tensor_content)
        board.points.append((event.wall_time, max(event.step, 0), value.tag, number))


def _records(path: Path, remarks: list[str]) -> Iterator[bytes]:
    """Whole records of a TFRecord file; what comes behind a broken one cannot be found."""
    with path.open("rb") as file:
        count = 0
        while head := file.read(12):
            if len(head) < 12:
                remarks.append(f"{path.name} is cut off after {count:,} records")
                return
            length, check = struct.unpack("<QI", head)
            if check != _masked_crc(head[:8]) or length > MAX_RECORD_BYTES:
                remarks.append(f"{path.name} is broken after {count:,} records")
                return
            data, check = file.read(length), file.read(4)
            if len(data) < length or len(check) < 4:
                remarks.append(f"{path.name} is cut off after {count:,} records")
                return
            if struct.unpack("<I", check)[0] != _masked_crc(data):
                remarks.append(f"{path.name} is broken after {count:,} records")
                return
            count += 1
            yield data


def _masked_crc(data: bytes) -> int:
    crc = int(google_crc32c.value(data))  # type: ignore[reportUnknownArgumentType]
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


def _is_sb3(board: Board) -> bool:
    return any(tag.startswith(_SB3_TAGS) for _, _, tag, _ in board.points[:1000])


def _sb3_algo(label: str, tool: Tool) -> str:
    """`PPO_1` is how Stable-Baselines3 names a folder."""
    word, _, number = label.rpartition("_")
    return word.lower() if tool == "Stable-Baselines3" and number.isdigit() and word else UNKNOWN


def _videos(folder: Path) -> dict[str, Path]:
    """CleanRL's `videos/<run name>` beside its `runs/<run name>`."""
    beside = folder.parent.parent / "videos" / folder.name
    return {f"videos/{path.name}": path for path in sorted(beside.glob("*.mp4"))}
