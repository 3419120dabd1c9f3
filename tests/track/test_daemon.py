"""The daemon sees to the exports of its runs, and no run depends on one."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from processes import end_all_of

from mosaic import cli
from mosaic.installation import install_line
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec import events
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs
from mosaic.track import export_state, follow_events
from mosaic.track.rows import row_of

from .conftest import KEY, eventually
from .stand_in import Server, serving
from .wandb_file import history

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def daemon(home: Home, catalogue_file: Path) -> Iterator[Start]:
    """`daemon(VARIABLE=value)` starts one for `home`."""
    shutil.copy2(catalogue_file, home.trainer / "catalog.json")
    started: list[subprocess.Popen[bytes]] = []

    def start(**variables: str) -> "subprocess.Popen[bytes]":
        with (home.root / "daemon.log").open("ab") as log:
            command = [sys.executable, "-m", "mosaic.trainer", "--no-warm"]
            process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log)
        started.append(process)
        eventually(lambda: running_address(home))
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()
    end_all_of(home.root)


def document(steps: int, env_id: str = "CartPole-v1", **extras: Any) -> dict[str, Any]:
    params = {"num_envs": 2, "num_steps": 32, "num_minibatches": 1, "update_epochs": 1}
    worker = {"algo": "ppo", "env_id": env_id, "total_timesteps": steps}
    worker["extras"] = {"algo_params": params, "track_wandb": True, **extras}
    return {
        "environment": {"env_id": env_id},
        "artifacts": {"tensorboard": {"enabled": False}, "wandb": {"enabled": worker["extras"]["track_wandb"]}},
        "metadata": {"worker": {"config": worker}},
    }


def exporters_of(run_dir: RunDir) -> list[int]:
    found: list[int] = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "mosaic.track" in words and str(run_dir.root) in words:
            found.append(process.pid)
    return found


def test_a_run_is_whole_in_its_export_and_on_the_server_whichever_process_is_killed(
    home, daemon, tmp_path, monkeypatch, capsys
):
    """kill -9 of exporter, daemon and worker; then the server comes back, and the daemon uploads by itself."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    away = f"http://127.0.0.1:{port}"
    process = daemon(WANDB_BASE_URL=away)
    with Client(home=home, start=False) as client:
        run = client.submit(document(10**9, "resting:Resting-v0", wandb_api_key=KEY))[0]
        run_dir = home.run(run.run_id)
        first = eventually(lambda: exporters_of(run_dir))[0]
        worker = process_identity.read(run_dir.worker).pid
        os.kill(first, signal.SIGKILL)
        second = eventually(lambda: [pid for pid in exporters_of(run_dir) if pid != first])[0]
        eventually(lambda: export_state.is_busy(run_dir))
        titles = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        assert [title for title in titles if KEY in " ".join(title)] == []

        process.kill()
        process.wait()
        daemon(WANDB_BASE_URL=away, WANDB_API_KEY=KEY, MOSAIC_UPLOAD_RETRY_S="1")
        assert client.get(run.run_id).pid == worker
        assert exporters_of(run_dir) == [second]
        eventually(lambda: (found := export_state.read(run_dir)) and found.rows > 0)
        os.kill(worker, signal.SIGKILL)
        eventually(lambda: client.get(run.run_id).state == "lost")
        eventually(lambda: (found := export_state.read(run_dir)) and found.state == "offline")
        export = export_state.read(run_dir)
        assert export is not None
        assert "refused" in export.why
        assert export.events == follow_events.last_seq(run_dir)
        wanted = _numbers_of_events(run_dir)
        (path,) = run_dir.inside(export.folder).glob("*.wandb")
        assert _numbers(history(path)) == wanted
        assert ("wandb", "wandb") in [(item.kind, item.path) for item in client.artifacts(run.run_id)]
        capsys.readouterr()
        assert cli.main(["wandb", "status", run.run_id, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["export"]["state"] == "offline"
        assert cli.main(["wandb", "sync", run.run_id]) == 1
        assert "no API key" in capsys.readouterr().err

        monkeypatch.setattr(Server, "port", port)
        with serving() as server:
            eventually(lambda: (found := export_state.read(run_dir)) and found.state == "synced")
            assert _numbers(server.rows) == wanted
    leaks = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert leaks == []


def test_one_export_that_cannot_work_holds_up_neither_the_run_nor_the_other_exports(
    home, daemon, empty_mlflow, tmp_path, capsys
):
    (home.root / "mlflow").mkdir()
    shutil.copy(empty_mlflow, home.root / "mlflow" / "mlflow.db")
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "wandb.py").write_text("raise ImportError('No module named wandb')\n")
    path = os.pathsep.join(filter(None, [str(shadow), os.environ.get("PYTHONPATH")]))
    daemon(WANDB_MODE="offline", PYTHONPATH=path, TRACKIO_DIR=str(tmp_path / "trackio"))
    with Client(home=home, start=False) as client:
        run = client.submit(document(512, track_trackio=True, track_mlflow=True))[0]
        ended = client.wait(run.run_id)[0]
        assert (ended.state, ended.exit_code) == ("finished", 0)
    run_dir = home.run(run.run_id)
    export = eventually(lambda: (found := export_state.read(run_dir)) and found.state == "failed" and found)
    assert install_line("wandb") in export.why
    rows = set()
    for tracker in ("trackio", "mlflow"):
        eventually(lambda name=tracker: (found := export_state.read(run_dir, name)) and found.state == "synced")
        done = export_state.read(run_dir, tracker)
        assert done is not None
        assert done.events == follow_events.last_seq(run_dir)
        rows.add(done.rows)
    assert len(rows) == 1
    capsys.readouterr()
    assert cli.main(["track", run.run_id, "--to", "trackio"]) == 1
    said = capsys.readouterr().out
    assert "W&B  failed" in said
    assert f"MLflow  synced: {rows.pop()} rows" in said


def test_a_stand_alone_run_starts_its_own_exporter(home, tmp_path):
    command = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", "ppo", "--total-timesteps", "1024"]
    variables = {**os.environ, "WANDB_MODE": "offline"}
    ended = subprocess.run([*command, "--track-wandb", "--quiet"], env=variables, capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (run_dir,) = all_runs(home)
    eventually(lambda: (found := export_state.read(run_dir)) and found.state == "offline" and not exporters_of(run_dir))
    export = export_state.read(run_dir)
    assert export is not None
    assert export.events == follow_events.last_seq(run_dir)
    shutil.rmtree(run_dir.root)


def _numbers(rows: list[dict[str, Any]]) -> list[tuple[int, str, float]]:
    return sorted(
        (row["global_step"], tag, value)
        for row in rows
        for tag, value in row.items()
        if tag[0] != "_" and tag != "global_step"
    )


def _numbers_of_events(run_dir: RunDir) -> list[tuple[int, str, float]]:
    found = (row_of(events.decode(line)) for line in run_dir.events.read_bytes().splitlines())
    return sorted((row.global_step, tag, value) for row in found if row for tag, value in row.values.items())
