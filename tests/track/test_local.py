"""Trackio and MLflow, by their real packages: every number, step for step, however often an export begins anew."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.errors import MosaicError
from mosaic.installation import install_line
from mosaic.spec.events import Scalars
from mosaic.spec.run_config import TrainExtras
from mosaic.spec.run_dir import Home
from mosaic.track import export_state, trackers
from mosaic.track.export_state import Export

from .conftest import Written, eventually
from .test_offline import expected

Point = tuple[str, int, float]


MLFLOW = """
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient(tracking_uri=f"sqlite:///{sys.argv[1]}")
experiment = client.get_experiment_by_name("mosaic")
runs = client.search_runs([experiment.experiment_id]) if experiment else []
print(json.dumps([{
    "id": run.info.run_id, "name": run.info.run_name, "status": run.info.status, "params": run.data.params,
    "tags": run.data.tags,
    "files": [one.path for folder in ("", "policy", "videos")
        for one in client.list_artifacts(run.info.run_id, folder)],
    "points": [(one.key, one.step, one.value) for tag in run.data.metrics
        for one in client.get_metric_history(run.info.run_id, tag)],
} for run in runs]))
"""
TRACKIO = """
import json, sys
from trackio.sqlite_storage import SQLiteStorage
print(json.dumps(SQLiteStorage.get_logs("mosaic", sys.argv[1], run_id=sys.argv[2])))
"""


def asked(code: str, *words: str) -> Any:
    """In a process of its own: these packages warn, and keep connections."""
    command = [sys.executable, "-c", code, *words]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


@pytest.fixture
def stores(home: Home, empty_mlflow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home.root / "mlflow").mkdir()
    shutil.copy(empty_mlflow, home.root / "mlflow" / "mlflow.db")
    for name in [name for name in os.environ if name.startswith(("MLFLOW_", "TRACKIO_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))


@pytest.fixture
def local(stores: None) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """`local(run, "mlflow")` starts an exporter."""
    started: list[subprocess.Popen[bytes]] = []

    def start(run: Written, tracker: str, **variables: str) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "mosaic.track", "--tracker", tracker, str(run.dir.root)]
        with run.dir.export_log(tracker).open("ab") as log:
            started.append(subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


def export_of(run: Written, tracker: str) -> Export:
    found = export_state.read(run.dir, tracker)
    assert found is not None
    return found


def points(rows: list[dict[str, float]]) -> list[Point]:
    return sorted(
        (tag, int(row["global_step"]), float(value))
        for row in rows
        for tag, value in row.items()
        if tag != "global_step"
    )


def in_trackio(run: Written, name: str) -> list[Point]:
    rows = asked(TRACKIO, name, run.dir.run_id.lower())
    return points(
        [{"global_step": row.pop("step"), **{k: v for k, v in row.items() if k != "timestamp"}} for row in rows]
    )


def test_trackio_has_every_number_after_a_kill(written, local):
    run = written().start().train(0, 300).live()
    process = local(run, "trackio")
    eventually(lambda: run.dir.export_state("trackio").exists() and export_of(run, "trackio").rows > 0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert export_of(run, "trackio").state == "exporting"
    run.train(310, 600).end(600)
    assert local(run, "trackio").wait(300) == 0
    done = export_of(run, "trackio")
    assert (done.state, done.why, done.events) == ("synced", "", len(run.bodies))
    assert done.url == "trackio show --project mosaic"
    assert in_trackio(run, "by hand") == points(expected(run))
    assert done.rows == len(expected(run))
    # Nothing is new: nothing is done again.
    run.dir.worker.unlink()
    assert local(run, "trackio").wait(300) == 0
    assert export_of(run, "trackio") == done


def test_mlflow_has_numbers_settings_and_files_after_a_kill(written, local, home):
    run = written().start().train(0, 300).live()
    process = local(run, "mlflow")
    eventually(lambda: run.dir.export_state("mlflow").exists() and export_of(run, "mlflow").rows > 0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    run.train(310, 400).save_video(3).save_policy()
    run.add(Scalars(global_step=500, values={"losses/explained_variance": "nan"})).end(500)
    assert local(run, "mlflow").wait(300) == 0
    done = export_of(run, "mlflow")
    assert (done.state, done.why) == ("synced", "")
    (alone,) = asked(MLFLOW, str(home.root / "mlflow" / "mlflow.db"))
    seen = sorted((tag, step, value) for tag, step, value in alone["points"])
    assert math.isnan(next(value for tag, step, value in seen if (tag, step) == ("losses/explained_variance", 500)))
    wanted = points(expected(run))
    assert [point for point in seen if point[1] != 500] == [point for point in wanted if point[1] != 500]
    assert (alone["id"], alone["name"], alone["status"]) == (done.wandb_id, "by hand", "FINISHED")
    assert (alone["params"]["learning_rate"], alone["params"]["exp_name"]) == ("0.01", "ppo")
    assert alone["tags"]["mosaic.run_id"] == run.dir.run_id
    assert {"mosaic.json", "policy/ppo.cleanrl_model", "videos/rl-video-episode-3.mp4"} <= set(alone["files"])


def test_a_server_that_is_away_and_a_missing_package_are_told(written, local, tmp_path):
    run = written().start().train(0, 50).end(50)
    away = {"MLFLOW_TRACKING_URI": "http://me:hunter2@127.0.0.1:9", "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0"}
    assert local(run, "mlflow", **away).wait(300) == 1
    assert export_of(run, "mlflow").state == "failed"
    assert "refused" in export_of(run, "mlflow").why
    assert "hunter2" not in run.dir.export_state("mlflow").read_text() + run.dir.export_log("mlflow").read_text()
    shadow = tmp_path / "shadow"
    (shadow / "trackio").mkdir(parents=True)
    (shadow / "trackio" / "__init__.py").write_text("raise ImportError('No module named trackio')\n")
    path = f"{shadow}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    assert local(run, "trackio", PYTHONPATH=path).wait(300) == 3
    assert install_line("trackio") in export_of(run, "trackio").why


def test_a_package_adds_a_tracker_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = tmp_path / "theirs-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    points = "ledger = their_ledger:Exporter\nlost = their_loss:Exporter\nmlflow = their_ledger:Exporter\n"
    (about / "entry_points.txt").write_text(f"[mosaic.trackers]\n{points}")
    (tmp_path / "their_ledger.py").write_text('class Exporter:\n    title = "Ledger"\n')
    monkeypatch.syspath_prepend(tmp_path)
    _look_again()
    try:
        assert trackers.everywhere() == ("wandb", "trackio", "mlflow", "ledger", "lost")
        assert trackers.exporter_of("ledger").title == "Ledger"
        assert trackers.exporter_of("mlflow").title == "MLflow"
        with pytest.raises(MosaicError, match=r"the tracker 'lost' .* cannot be used: ModuleNotFoundError"):
            trackers.exporter_of("lost")
        assert trackers.chosen_by(TrainExtras(track_mlflow=True)) == ["mlflow"]
    finally:
        _look_again()


def _look_again() -> None:
    trackers.local.cache_clear()
    trackers.exporter_of.cache_clear()
