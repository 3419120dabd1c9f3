"""An offline export holds everything, step for step, whatever happened on the way."""

import math
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from mosaic.spec.events import Event, Scalars
from mosaic.track.rows import Rows, row_of
from mosaic.track.wandb_exporter import run_folders

from .conftest import KEY, Written, eventually
from .wandb_file import history, records, settings


def expected(run: Written, keep: Callable[[int, int], bool] = lambda seq, step: True) -> list[dict[str, float]]:
    """The rows that the events tell."""
    rows = Rows()
    told = []
    for seq, body in enumerate(run.bodies, start=1):
        event = Event(seq, 0.0, body)
        if row_of(event) is not None and keep(seq, getattr(body, "global_step", 0)):
            told.append(rows.take(event))
    told.append(rows.rest())
    return [{**row.values, "global_step": row.global_step} for row in told if row is not None]


def system_metrics(run: Written) -> list[dict[str, float]]:
    found = (record.stats for record in records(run.wandb_file) if record.WhichOneof("record_type") == "stats")
    return [{item.key: float(item.value_json) for item in one.item} for one in found]


def numbers(run: Written) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key[0] != "_"} for row in history(run.wandb_file)]


def test_every_number_setting_and_file_is_in_the_export_and_the_key_is_in_none(written, track):
    run = written(wandb_run_name="a name").start().train(0, 400).save_video(3).save_video(4, gone=True)
    run.add(Scalars(global_step=500, values={"losses/explained_variance": "nan"})).save_policy().end(500)
    assert track(run, WANDB_MODE="offline", WANDB_API_KEY=KEY).wait(300) == 0
    assert (run.export.state, run.export.why) == ("offline", "WANDB_MODE is 'offline'")
    assert (run.export.events, run.export.project, run.export.name) == (len(run.bodies), "try", "a name")
    seen = numbers(run)
    (film,) = [seen.pop(place) for place, row in enumerate(seen) if "videos/path" in row]
    assert film["global_step"] == 400
    assert (run.dir.inside(run.export.folder) / "files" / film["videos/path"]).read_bytes() == b"film 3"
    assert math.isnan(float(seen[-1]["losses/explained_variance"]))
    assert seen[:-1] == expected(run)[:-1]
    raw = history(run.wandb_file)
    assert [row["_step"] for row in raw] == list(range(run.export.rows))
    # When it was logged, not when it was exported.
    assert [raw[0]["_timestamp"], raw[1]["_timestamp"]] == [1_700_000_002.0, 1_700_000_004.0]
    config = settings(run.wandb_file)
    assert (config["learning_rate"], config["seed"], config["exp_name"]) == (0.01, 3, "ppo")
    assert config["mosaic"]["config"]["run_name"] == "by hand"
    artifacts = [
        record.artifact for record in records(run.wandb_file) if record.WhichOneof("record_type") == "artifact"
    ]
    assert [(one.type, one.manifest.contents[0].path) for one in artifacts] == [("model", "ppo.cleanrl_model")]
    files = [path for path in run.dir.root.rglob("*") if path.is_file()]
    assert len(files) > 8
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []

    # Nothing is new: nothing is done again.
    before = run.export
    assert track(run, WANDB_MODE="offline").wait(300) == 0
    assert run.export == before


def test_a_killed_export_is_whole_after_the_next_one(written, track):
    run = written().start(pid=os.getpid()).train(0, 300).live()
    process = track(run, WANDB_MODE="offline", WANDB_API_KEY=KEY, WANDB_X_STATS_SAMPLING_INTERVAL="0.2")
    eventually(lambda: run.dir.wandb_export.exists() and run.export.rows > 0)
    # System metrics: of the worker, which is this process.
    measured = eventually(lambda: [stats for stats in system_metrics(run) if "proc.memory.rssMB" in stats])
    assert {"proc.cpu.threads", "memory_percent"} <= measured[0].keys()
    assert measured[0]["proc.memory.rssMB"] > 20
    family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
    assert len(family) > 1
    assert [pid for pid in family if KEY.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()] == []
    cut_off = run.export.folder
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert run.export.state == "exporting"

    run.train(310, 600).end(600)
    assert track(run, WANDB_MODE="offline").wait(300) == 0
    assert run.export.state == "offline"
    assert run.export.folder != cut_off
    assert [path.name for path in run_folders(run.dir)] == [Path(run.export.folder).name]
    assert numbers(run) == expected(run)


def test_videos_and_the_whole_export_can_be_switched_off(written, track):
    run = written().start().save_video(3).train(0, 10).end(10)
    assert track(run, WANDB_MODE="offline", WANDB_MONITOR_GYM="false").wait(300) == 0
    assert numbers(run) == expected(run)
    other = written().start().train(0, 10).end(10)
    assert track(other, WANDB_MODE="disabled").wait(300) == 0
    assert other.export.state == "failed"
    assert "WANDB_MODE is 'disabled'" in other.export.why
    assert run_folders(other.dir) == []


def test_a_run_resumed_under_the_exporter_keeps_only_what_counts(written, track):
    run = written().start().train(0, 300).live()
    process = track(run, WANDB_MODE="offline")
    eventually(lambda: run.dir.wandb_export.exists() and run.export.rows > 60)
    resumed = len(run.bodies) + 1
    run.start(attempt=2, resumed_from_step=200).train(210, 400).end(400)
    assert process.wait(300) == 0
    assert numbers(run) == expected(run, lambda seq, step: seq > resumed or step <= 200)
    assert len(run_folders(run.dir)) == 1
