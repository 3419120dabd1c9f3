"""Promises 1, 3, 4, 5 and 12: kill -9 of the daemon at any moment loses nothing, doubles nothing, changes nothing."""

import contextlib
import os
import random
import shutil
import threading
import time

import psutil
import pytest

from mosaic.errors import MosaicError
from mosaic.spec.processes import process_identity

KILLS = int(os.environ.get("MOSAIC_SOAK", "8"))
"""`make soak` kills fifty times."""


def workers_of(run_dir: object) -> list[int]:
    """Processes that train this run, by their command line: a second copy would be seen."""
    found: list[int] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        with contextlib.suppress(psutil.NoSuchProcess):
            line = process.info["cmdline"] or []
            if str(run_dir) in line and "cleanrl_worker.cli" in line and process.info["status"] != "zombie":
                found.append(process.pid)
    return found


@pytest.mark.timeout(600 + 30 * KILLS)
def test_workers_survive_kills_of_the_daemon_at_random_moments(daemons, kit):
    daemon = daemons("--no-warm", "--cpus", "8").start()
    runs = [run.run_id for run in daemon.client.submit(kit.document(kit.ENDLESS), seeds=[1, 2])]
    pids: dict[str, int] = {}
    choice = random.Random(KILLS)
    for kill in range(KILLS):
        if kill == KILLS // 2:
            # In the middle of the start of a worker.
            runs += [daemon.start().client.submit(kit.document(kit.ENDLESS, seed=9))[0].run_id]
            daemon.kill()
            continue
        daemon.process.poll() is None or daemon.begin()
        time.sleep(choice.uniform(0.0, 1.5))
        daemon.kill()
        for run_id in runs:
            with contextlib.suppress(OSError, MosaicError):
                who = process_identity.read(daemon.home.run(run_id).worker)
                assert pids.setdefault(run_id, who.pid) == who.pid
    client = daemon.start().client
    for run_id in runs:
        record = daemon.until(run_id, "running")
        pids.setdefault(run_id, record.pid)
        assert record.pid == pids[run_id]
        assert workers_of(daemon.home.run(run_id).root) == [record.pid]
    for run_id in runs:
        client.cancel(run_id)
    for run_id in runs:
        ended = daemon.until(run_id, "cancelled")
        events = daemon.events(run_id)
        assert daemon.check_sequence(run_id) == ended.last_seq
        assert [event["kind"] for event in events].count("run.started") == 1
        assert [event.seq for event in client.watch_events(run_id)] == [event["seq"] for event in events]
        returns = client.metrics(run_id, tags=["charts/episodic_return"])["charts/episodic_return"]
        told = [(event["global_step"], event["episodic_return"]) for event in events if event["kind"] == "episode"]
        assert list(zip(returns.steps, returns.values, strict=True)) == told
        assert kit.session_of(pids[run_id]) == []


def test_a_kill_between_the_decision_and_the_start_starts_one_worker(daemons, kit):
    daemon = daemons("--no-warm", "--cpus", "8").start()
    runs: list[str] = []
    for delay_s in (0.0, 0.005, 0.02, 0.1):
        runs.append(daemon.client.submit(kit.document(128))[0].run_id)
        time.sleep(delay_s)
        daemon.restart()
    for run_id in runs:
        ended = daemon.until(run_id, "finished", timeout_s=300)
        assert ended.attempt == 1
        assert [event["kind"] for event in daemon.events(run_id)].count("run.started") == 1
        daemon.check_sequence(run_id)


def test_an_acknowledged_submit_is_durable(daemons, kit):
    daemon = daemons("--no-warm", "--cpus", "1").start()
    blocker = daemon.client.submit(kit.document(kit.ENDLESS))[0]
    accepted = []
    for number in range(max(6, KILLS // 2)):
        accepted.append(daemon.client.submit(kit.document(128, seed=number), client_key=f"key {number}")[0])
        daemon.restart()
    for record in accepted:
        known = daemon.client.submit(kit.document(128, seed=record.seed), client_key=f"key {record.seed}")
        assert [one.run_id for one in known] == [record.run_id]
        assert daemon.client.get(record.run_id).config_digest == record.config_digest
    assert [one.run_id for one in daemon.client.list(states=["queued"])] == [one.run_id for one in reversed(accepted)]
    before = {one.run_id: one.config_digest for one in daemon.client.list()}
    daemon.kill()
    for path in daemon.home.trainer.glob("index.sqlite*"):
        path.unlink()
    daemon.start().until_whole()
    assert {one.run_id: one.config_digest for one in daemon.client.list()} == before
    daemon.client.cancel(blocker.run_id)


def test_fifty_submits_with_one_key_make_one_run(shared, kit):
    answers: list[list[str]] = []
    client = shared.client
    named = kit.document(128) | {"run_name": "fifty times"}

    def submit() -> None:
        answers.append([one.run_id for one in client.submit(named, seeds=[1, 2], client_key="one")])

    threads = [threading.Thread(target=submit) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 50
    assert len({tuple(answer) for answer in answers}) == 1
    assert len(client.list(text="fifty times")) == 2


def test_a_group_that_a_kill_cut_off_is_completed_by_the_retry(daemons, kit):
    daemon = daemons("--no-warm", "--cpus", "1").start()
    daemon.client.submit(kit.document(kit.ENDLESS))
    first = daemon.client.submit(kit.document(128), seeds=[1, 2, 3], client_key="group")
    daemon.kill()
    # As if the kill had come before the last directory was complete, and so before the reply.
    shutil.rmtree(first[2].run_dir)
    daemon.start()
    again = daemon.client.submit(kit.document(128), seeds=[1, 2, 3], client_key="group")
    assert [one.run_id for one in again[:2]] == [one.run_id for one in first[:2]]
    assert [one.seed for one in again] == [1, 2, 3]
    assert len({one.group for one in again}) == 1


def test_a_cancel_that_a_kill_cut_off_is_carried_out_by_the_next_daemon(daemons, kit):
    daemon = daemons("--no-warm").start()
    run = daemon.client.submit(kit.document(kit.ENDLESS, extras={"checkpoint_interval_steps": 64}))[0]
    pid = daemon.until(run.run_id, "running").pid
    os.kill(pid, 19)  # SIGSTOP: it cannot answer before the daemon is dead
    daemon.client.cancel(run.run_id)
    daemon.kill()
    os.kill(pid, 18)
    daemon.start()
    ended = daemon.until(run.run_id, "cancelled")
    assert ended.reason == "ended by the user after a checkpoint"
    reasons = [event["reason"] for event in daemon.events(run.run_id) if event["kind"] == "checkpoint.saved"]
    assert reasons[-1] == "stop"
