"""Folders that are damaged: what is whole of them comes, the rest is told, and others are not held up."""

import json
import math
import struct
from pathlib import Path

import pytest
from strict_spool import decode_spool

from mosaic.intake import sb3_monitors, wandb_runs, write_run
from mosaic.intake.found import NotImportable
from mosaic.intake.search import search
from mosaic.spec.run_dir import Home


def field(number: int, content: bytes) -> bytes:
    """Of a protobuf message."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def row(step: int) -> bytes:
    items = {"global_step": step, "loss": step / 2, "_timestamp": 1.7e9 + step}
    return field(
        2,
        b"".join(
            field(1, field(1, key.encode()) + field(16, json.dumps(value).encode())) for key, value in items.items()
        ),
    )


def test_a_record_of_wandb_that_was_changed_costs_itself_only(tmp_path: Path) -> None:
    folder = tmp_path / "offline-run-20260101_000000-abc"
    folder.mkdir()
    broken = [varint(17 << 3) + varint(5), field(2, b"\xff")]
    ended = field(18, varint(1 << 3) + varint(2**64 - 1))
    records = [row(1), *broken, row(2), ended]
    data = b"".join(struct.pack("<IHB", 0, len(one), 1) + one for one in records)
    (folder / "run-abc.wandb").write_bytes(wandb_runs.MAGIC + data)
    found = wandb_runs.read(folder)
    assert [moment.body.global_step for moment in found.moments] == [1, 2]
    assert found.exit_code == -1
    assert "2 of its records cannot be read" in found.remarks[0]


def test_a_time_that_is_no_number_costs_no_episode(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    text = '#{"t_start": 1700000000.0, "env_id": "CartPole-v1"}\nr,l,t\n1.0,5,0.5\n2.0,5,nan\n'
    (tmp_path / "old" / "monitor.csv").write_text(text)
    home = Home(tmp_path / "home")
    home.create()
    run_dir = home.run(write_run.write(home, sb3_monitors.read(tmp_path / "old")))
    with run_dir.events.open("rb") as file:
        found = list(decode_spool(file))
    assert len([event for event in found if event.body.kind == "episode"]) == 2
    assert all(math.isfinite(event.time) for event in found)


@pytest.mark.parametrize("missing", ["config.json", "a file that is gone"])
def test_a_copy_that_is_not_whole_is_skipped_alone(tmp_path: Path, missing: str) -> None:
    home, other = Home(tmp_path / "home"), Home(tmp_path / "other")
    home.create()
    other.create()
    folder = tmp_path / "monitors"
    folder.mkdir()
    (folder / "monitor.csv").write_text('#{"t_start": 1700000000.0, "env_id": "E"}\nr,l,t\n1.0,5,0.5\n')
    copy = other.run(write_run.write(other, sb3_monitors.read(folder))).root
    (candidate,) = search(copy)
    if missing == "config.json":
        (copy / "config.json").unlink()
    found = candidate.read()
    if missing != "config.json":
        (copy / "config.json").unlink()
    with pytest.raises(NotImportable, match=r"config\.json"):
        write_run.write(home, found)
    assert list(home.runs.iterdir()) == []
