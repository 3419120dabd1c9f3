"""Promise 7: workers and runs that the index does not know are found and shown, never killed, never started twice."""

import os
import sqlite3
import subprocess
import sys

from mosaic.spec.run_dir import new_run_id

ENVIRONMENT = "resting:Resting-v0"


def start_by_hand(daemon, run_dir, *more):
    flags = ["--algo", "ppo", "--env-id", ENVIRONMENT, "--total-timesteps", "1000000000", "--no-tensorboard"]
    return subprocess.Popen(
        [sys.executable, "-m", "cleanrl_worker.cli", *flags, "--run-dir", str(run_dir.root), *more],
        env={**os.environ, "MOSAIC_HOME": str(daemon.home.root)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_worker_that_a_person_started_is_shown_and_can_be_cancelled(shared, kit):
    run_dir = shared.home.run(new_run_id())
    client = shared.client
    with start_by_hand(shared, run_dir) as worker:
        kit.eventually(lambda: run_dir.run_id in [one.run_id for one in client.list()], what="the run in the list")
        found = shared.until(run_dir.run_id, "running")
        kit.eventually(lambda: client.get(run_dir.run_id).pid == worker.pid, what="its pid")
        assert (found.algo, found.env_id, found.reason) == ("ppo", ENVIRONMENT, "started outside the daemon")
        client.cancel(run_dir.run_id)
        assert worker.wait(timeout=300) == 0
    assert shared.until(run_dir.run_id, "cancelled").global_step > 0


def test_a_run_whose_index_row_was_deleted_is_found_again(daemons, kit):
    daemon = daemons("--no-warm").start()
    run = daemon.client.submit(kit.document(kit.ENDLESS))[0]
    pid = daemon.until(run.run_id, "running").pid
    daemon.kill()
    with sqlite3.connect(daemon.home.index) as index:
        assert index.execute("DELETE FROM runs WHERE run_id = ?", (run.run_id,)).rowcount == 1
    index.close()
    found = daemon.start().client.get(run.run_id)
    assert (found.state, found.pid, found.attempt) == ("running", pid, 1)
    assert kit.session_of(pid)


def test_a_run_that_was_resumed_by_hand_is_running_again(shared, kit):
    client = shared.client
    run = client.submit(kit.document(kit.ENDLESS, extras={"checkpoint_interval_steps": 64}))[0]
    shared.until(run.run_id, "running")
    client.cancel(run.run_id)
    shared.until(run.run_id, "cancelled")
    run_dir = shared.home.run(run.run_id)
    words = ("--resume", str(run_dir.root), "--grpc")
    assert run.env_id == ENVIRONMENT
    with start_by_hand(shared, run_dir, *words) as worker:
        again = kit.eventually(lambda: (r := client.get(run.run_id)).state == "running" and r, what="running again")
        assert (again.attempt, again.pid) == (2, worker.pid)
        assert again.reason == "resumed outside the daemon"
        client.cancel(run.run_id)
        worker.wait(timeout=300)
    shared.until(run.run_id, "cancelled")
    shared.check_sequence(run.run_id)
