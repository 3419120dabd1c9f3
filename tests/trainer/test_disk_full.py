"""Promise 10: on a full disk the run fails loudly, what was written stays whole, the daemon lives and recovers."""

import os
import subprocess

import pytest

from mosaic.rpc.client import Refused
from mosaic.spec import run_record

SIZE_MB = 260
"""A worker asks for 200 MB before it starts."""


@pytest.fixture
def small_disk(tmp_path):
    if os.getuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Use up every byte."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast


def test_a_full_disk_fails_the_run_and_not_the_daemon(small_disk, daemons, kit):
    daemon = daemons("--no-warm", root=small_disk).start()
    client = daemon.client
    run = client.submit(kit.document(kit.ENDLESS, extras={"checkpoint_interval_steps": 512}))[0]
    run_dir = daemon.home.run(run.run_id)
    pid = daemon.until(run.run_id, "running").pid
    kit.eventually(lambda: list(run_dir.checkpoints.glob("step-*")), what="a checkpoint")
    ballast = fill(small_disk)
    kit.eventually(lambda: not kit.session_of(pid), what="the end of the worker")
    health = client.health()
    assert any("MiB are left" in warning for warning in health.warnings)
    with pytest.raises(Refused) as refused:
        client.submit(kit.document(64))
    assert refused.value.status == "RESOURCE_EXHAUSTED"
    assert client.get(run.run_id).run_id == run.run_id
    ballast.unlink()
    ended = daemon.until(run.run_id, "failed")
    assert "disk" in ended.reason or "No space" in ended.reason, ended.reason
    assert run_record.read(run_dir).state == "failed"
    assert [record.run_id for record in client.list()] == [run.run_id], "the refused submit left nothing"
    # What was written is whole: the run goes on from its last checkpoint.
    client.resume(run.run_id)
    again = daemon.until(run.run_id, "running")
    assert again.attempt == 2
    client.cancel(run.run_id)
    daemon.until(run.run_id, "cancelled")
    daemon.check_sequence(run.run_id)
    assert daemon.process.poll() is None
