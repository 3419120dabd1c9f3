"""What a user does with runs, through a real daemon: submit, queue, watch, pause, continue, resume, delete."""

import fcntl
import threading
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from mosaic.rpc.client import Refused


def submit(daemon: Any, document: Any, **options: Any) -> Any:
    return daemon.client.submit(document, **options)[0]


def checkpoint_arrays(daemon: Any, run_id: str) -> dict[str, Any]:
    """Every array of the newest checkpoint."""
    folder = max(daemon.home.run(run_id).checkpoints.glob("step-*"), key=lambda path: int(path.name[5:]))
    arrays: dict[str, Any] = {}
    for path in sorted(folder.rglob("*.safetensors")):
        arrays |= {f"{path.name}:{name}": value for name, value in load_file(path).items()}
    assert arrays, list(folder.rglob("*"))
    return arrays


def assert_equal_arrays(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_a_submitted_run_finishes_with_all_its_steps(shared, kit):
    record = submit(shared, kit.document(512))
    assert record.state == "queued"
    ended = shared.until(record.run_id, "finished")
    assert ended.global_step == 512
    assert ended.exit_code == 0
    assert ended.pid == 0
    assert ended.last_seq == shared.check_sequence(record.run_id)
    assert ended.best_return is not None
    assert ended.ended_at >= ended.started_at >= ended.submitted_at > 0


def test_a_run_that_the_worker_refuses_fails_with_the_workers_own_words(shared, kit):
    """A rollout that never fits: only the worker knows how large its observations are."""
    ended = shared.until(submit(shared, kit.document(10**12, params={"num_steps": 10**11})).run_id, "failed")
    assert "--num-steps" in ended.reason
    assert ended.exit_code == 2
    assert any("--num-steps" in line for line in ended.stderr_tail)


def test_a_killed_worker_is_a_failure_that_names_the_signal(shared, kit):
    import os
    import signal

    run = submit(shared, kit.document(kit.ENDLESS))
    os.kill(shared.until(run.run_id, "running").pid, signal.SIGKILL)
    ended = shared.until(run.run_id, "failed")
    assert "SIGKILL" in ended.reason
    assert ended.exit_code == -9


def test_cancel_during_start_ends_cancelled(shared, kit):
    run = submit(shared, kit.document(kit.ENDLESS))
    shared.client.cancel(run.run_id)
    ended = shared.until(run.run_id, "cancelled")
    assert shared.client.cancel(run.run_id) == ended


def test_a_held_run_stands_still_and_goes_on(shared, kit):
    client = shared.client
    run = submit(shared, kit.document(kit.ENDLESS))
    pid = shared.until(run.run_id, "running").pid
    assert client.pause(run.run_id).state == "paused"

    def standing() -> bool:
        before = len(shared.events(run.run_id))
        steps = [e["global_step"] for e in shared.events(run.run_id) if e["kind"] == "run.heartbeat"][-2:]
        return before > 0 and len(steps) == 2 and steps[0] == steps[1]

    kit.eventually(standing, what="two heartbeats at one step")
    held = client.get(run.run_id)
    assert held.pid == pid
    assert client.go_on(run.run_id).state == "running"
    kit.eventually(lambda: client.get(run.run_id).global_step > held.global_step, what="progress")
    with pytest.raises(Refused, match="only an ended run"):
        client.resume(run.run_id)
    client.cancel(run.run_id)
    assert shared.until(run.run_id, "cancelled").reason == "ended by the user after a checkpoint"


def test_a_cancelled_run_resumes_exactly(shared, kit):
    steps = 16_384  # Long enough for most machines to ask for its end; the run may have ended before.
    whole = submit(shared, kit.document(steps, seed=7))
    part = submit(shared, kit.document(steps, seed=7, extras={"checkpoint_interval_steps": 256}))
    shared.until(part.run_id, "running", "finished")
    kit.eventually(lambda: list(shared.home.run(part.run_id).checkpoints.glob("step-*")), what="a checkpoint")
    shared.client.cancel(part.run_id)
    first = shared.until(part.run_id, "cancelled", "finished")
    if first.state == "cancelled":
        # A process that the worker started ends a little later: until then it holds the lock of the run.
        with shared.home.run(part.run_id).life_lock.open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            threading.Timer(0.3, fcntl.flock, (lock, fcntl.LOCK_UN)).start()
            assert shared.client.resume(part.run_id).state == "queued"
    ended = shared.until(part.run_id, "finished")
    shared.until(whole.run_id, "finished")
    assert ended.global_step == steps
    shared.check_sequence(part.run_id)
    assert_equal_arrays(checkpoint_arrays(shared, whole.run_id), checkpoint_arrays(shared, part.run_id))


def test_seeds_make_a_group_in_their_order(shared, kit):
    runs = shared.client.submit(kit.document(256), seeds=[5, 3, 9])
    assert [run.seed for run in runs] == [5, 3, 9]
    assert len({run.group for run in runs}) == 1
    assert runs[0].group
    assert [run.run_id for run in runs] == sorted(run.run_id for run in runs)
    for run in runs:
        assert shared.until(run.run_id, "finished").seed == run.seed


def test_a_deleted_run_is_gone_with_all_its_files(shared, kit):
    client = shared.client
    run = submit(shared, kit.document(kit.ENDLESS))
    with pytest.raises(Refused, match="cancel it before"):
        client.delete(run.run_id)
    client.cancel(run.run_id)
    shared.until(run.run_id, "cancelled")
    client.metrics(run.run_id)
    client.delete(run.run_id)
    left = [path for path in shared.home.root.rglob("*") if run.run_id in path.name]
    assert left == []
    with pytest.raises(Refused, match="not known"):
        client.get(run.run_id)
    assert run.run_id not in [one.run_id for one in client.list()]


def test_warm_and_cold_give_the_same_run(shared, daemons, kit):
    document = kit.document(2048, seed=3)
    cold = daemons("--no-warm").start()
    runs = submit(shared, document), submit(cold, document)
    shared.until(runs[0].run_id, "finished")
    cold.until(runs[1].run_id, "finished")
    assert_equal_arrays(checkpoint_arrays(shared, runs[0].run_id), checkpoint_arrays(cold, runs[1].run_id))


def test_a_label_is_changed_and_found(shared, kit):
    client = shared.client
    run = submit(shared, kit.document(256))
    client.set_label(run.run_id, label="Ünique läbel 100%_", notes="n", priority=3)
    found = client.list(text="läbel 100%_")
    assert [one.run_id for one in found] == [run.run_id]
    assert (found[0].notes, found[0].priority) == ("n", 3)
    assert client.list(text="läbel 100_%") == []
