"""Promise 10: on a full disk the run fails loudly, what was written stays whole, the daemon lives and recovers.

A real daemon, whose log lies on the same disk, and real workers; `test_no_room.py` has what else a disk can refuse.
"""

import os
import shutil
import signal

import pytest
from small_disk import fill, small_disk

from mosaic.rpc.client import Refused
from mosaic.spec import run_record


@pytest.fixture
def disk(tmp_path):
    with small_disk(tmp_path / "disk") as folder:
        yield folder


def test_a_full_disk_fails_the_runs_and_blinds_no_client(disk, daemons, kit):
    daemon = daemons("--no-warm", "--cpus", "4", root=disk).start()
    client = daemon.client
    runs = client.submit(kit.document(kit.ENDLESS, extras={"checkpoint_interval_steps": 512}), seeds=[1, 2])
    failing, cancelled = (run.run_id for run in runs)
    run_dir = daemon.home.run(failing)
    pids = {run_id: daemon.until(run_id, "running").pid for run_id in (failing, cancelled)}
    for run_id in pids:
        checkpoints = daemon.home.run(run_id).checkpoints
        kit.eventually(lambda folder=checkpoints: list(folder.glob("step-*")), what="a checkpoint")
    os.kill(pids[cancelled], signal.SIGSTOP)  # it lives until it is cancelled
    ballast = fill(disk)

    # Nothing can be written from here on.
    ended = daemon.until(failing, "failed")
    assert "disk" in ended.reason or "No space" in ended.reason, ended.reason
    assert run_record.read(run_dir).state == "running"
    assert {run.run_id: run.state for run in client.list()} == {failing: "failed", cancelled: "running"}
    assert any("in memory only" in warning for warning in client.health().warnings)
    with pytest.raises(Refused, match=r"has 0 MiB left.* needs 200 MiB") as refused:
        client.submit(kit.document(64))
    assert refused.value.status == "RESOURCE_EXHAUSTED"
    assert client.cancel(cancelled).state == "stopping"
    os.kill(pids[cancelled], signal.SIGCONT)
    daemon.until(cancelled, "cancelled")
    assert not kit.session_of(pids[cancelled])
    before = shutil.disk_usage(disk).free
    client.delete(cancelled)
    assert shutil.disk_usage(disk).free > before
    assert [run.run_id for run in client.list()] == [failing], "the refused submit left nothing"
    assert daemon.process.poll() is None

    # There is room again: all goes on by itself.
    ballast.unlink()
    kit.eventually(lambda: run_record.read(run_dir).state == "failed", what="the end, written down")
    kit.eventually(lambda: not any("in memory" in warning for warning in client.health().warnings), what="no warning")
    assert client.get(failing).reason == ended.reason
    # What was written is whole: the run goes on from its last checkpoint.
    client.resume(failing)
    assert daemon.until(failing, "running").attempt == 2
    client.cancel(failing)
    daemon.until(failing, "cancelled")
    daemon.check_sequence(failing)

    # A daemon starts on a full disk, too: with it a user makes room.
    daemon.stop()
    ballast = fill(disk)
    client = daemon.start().client
    assert [(run.run_id, run.state) for run in client.list()] == [(failing, "cancelled")]
    client.delete(failing)
    assert client.list() == []
    assert not list(daemon.home.runs.iterdir())
    assert daemon.restart().client.list() == []
