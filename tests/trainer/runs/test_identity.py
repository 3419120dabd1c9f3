"""Promises 2 and 13: a worker is a process with start time and boot, never a pid; no clock and no silence kills it."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from mosaic import config
from mosaic.spec import run_record
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.states import RunState
from mosaic.trainer.engines.engine import Handle
from mosaic.trainer.engines.local_engine import LocalEngine

CLOCK = """
import os, time
_real, _real_ns = time.time, time.time_ns
def _moved():
    try:
        return float(open(os.environ["MOVED_CLOCK"]).read() or 0)
    except (OSError, ValueError):
        return 0.0
time.time = lambda: _real() + _moved()
time.time_ns = lambda: _real_ns() + int(_moved() * 1e9)
"""


@pytest.fixture
def run_dir(tmp_path):
    run_dir = Home(tmp_path).run(new_run_id())
    run_dir.create()
    return run_dir


def write_worker(run_dir, **changes):
    who = replace(process_identity.identify(os.getpid()), **changes)
    run_dir.worker.write_text(json.dumps(config.to_json(who)))
    return who


def test_a_zombie_is_not_alive(run_dir):
    child = subprocess.Popen([sys.executable, "-c", ""])
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    write_worker(run_dir, pid=child.pid, start_time=process_identity.start_time(child.pid))
    assert not LocalEngine().poll(Handle(run_dir=run_dir, pid=child.pid))
    child.wait()


@pytest.mark.parametrize("changes", [{"start_time": 1.0}, {"boot_id": "another"}, {"host": "another"}])
def test_a_recycled_pid_is_not_alive_and_nothing_is_killed(run_dir, changes):
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as innocent:
        started = process_identity.start_time(innocent.pid)
        write_worker(run_dir, **{"pid": innocent.pid, "start_time": started} | changes)
        engine = LocalEngine()
        handle = Handle(run_dir=run_dir, pid=innocent.pid)
        assert not engine.poll(handle)
        if "host" not in changes:
            assert engine.session_of(innocent.pid, run_dir) == []
            engine.kill(handle)
            assert engine.collect(handle).exit_code is None
        assert innocent.poll() is None
        innocent.kill()


def test_a_run_whose_pid_was_recycled_is_lost_and_the_stranger_lives(daemons, kit):
    daemon = daemons("--no-warm")
    run_dir = daemon.home.run(new_run_id())
    run_dir.create()
    with subprocess.Popen(["sleep", "120"], start_new_session=True) as stranger:
        write_worker(run_dir, pid=stranger.pid, start_time=1.0)
        placed = run_record.Placed(run_id=run_dir.run_id, state=RunState.RUNNING, pid=stranger.pid, attempt=1)
        run_record.write(run_dir, placed)
        client = daemon.start().client
        client.cancel(run_dir.run_id)
        ended = daemon.until(run_dir.run_id, "lost", "cancelled")
        assert ended.pid == 0
        assert stranger.poll() is None
        stranger.kill()


def test_a_stopped_worker_is_not_declared_dead(shared, kit):
    client = shared.client
    run = client.submit(kit.document(kit.ENDLESS))[0]
    pid = shared.until(run.run_id, "running").pid
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        assert client.get(run.run_id).state == "running"
        time.sleep(0.2)
    before = client.get(run.run_id).global_step
    os.kill(pid, signal.SIGCONT)
    kit.eventually(lambda: client.get(run.run_id).global_step > before, what="progress")
    assert client.get(run.run_id).pid == pid
    client.cancel(run.run_id)
    shared.until(run.run_id, "cancelled")


def test_a_moved_clock_ends_nothing_and_keeps_the_order(daemons, kit, tmp_path):
    moved = tmp_path / "moved"
    moved.write_text("0")
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}", "MOVED_CLOCK": str(moved)}
    flags = ("--cpus", "1", "--stop-s", "20", "--pause-s", "30")
    daemon = daemons(*flags, environment=environment).start()
    client = daemon.client
    kit.eventually(lambda: client.health().warm_workers, 300, what="a warm worker")
    running = client.submit(kit.document(kit.ENDLESS))[0]
    pid = daemon.until(running.run_id, "running").pid
    waiting = []
    for offset_s in (86_400, -86_400, 0):
        moved.write_text(str(offset_s))
        waiting.append(client.submit(kit.document(64))[0])
        client.pause(running.run_id)
        client.go_on(running.run_id)
        before = client.get(running.run_id).global_step
        kit.eventually(lambda before=before: client.get(running.run_id).global_step > before, what="progress")
        assert client.get(running.run_id).pid == pid
    assert abs(waiting[0].submitted_at - waiting[1].submitted_at) > 100_000, "the clock did not move"
    assert [one.run_id for one in waiting] == sorted(one.run_id for one in waiting)
    client.cancel(running.run_id)
    assert daemon.until(running.run_id, "cancelled").reason == "ended by the user after a checkpoint"
    started = [daemon.until(one.run_id, "finished").last_seq and one.run_id for one in waiting]
    lines = [line for line in daemon.log.read_text().splitlines() if "run.launched" in line]
    assert [run_id for line in lines for run_id in started if run_id in line] == started
