"""Trainings over ssh while agents, workers, connections and the daemon are killed or stand still: the same numbers."""

import contextlib
import os
import signal
import time
from typing import Any

import psutil
import pytest

STEPS = 4096
EVERY = 512


def resting(kit: Any, seed: int, *, engine: str) -> dict[str, Any]:
    """A training of some seconds, with a checkpoint every few updates."""
    document = kit.document(STEPS, seed=seed, extras={"checkpoint_interval_s": 0, "checkpoint_interval_steps": EVERY})
    document["environment"]["env_id"] = document["metadata"]["worker"]["config"]["env_id"] = "resting:Resting-v0"
    return document | {"resources": {"engine": engine}}


def numbers(daemon: Any, run_id: str) -> list[Any]:
    """Every scalar and episode of the curve; what an attempt logged after the step it is resumed from is void."""
    found: list[Any] = []
    for event in daemon.events(run_id):
        if event["kind"] == "run.started" and event.get("resumed_from_step") is not None:
            found = [one for one in found if one[0] <= event["resumed_from_step"]]
        if event["kind"] == "scalars":
            found.append((event["global_step"], {k: v for k, v in event["values"].items() if k != "charts/SPS"}))
        if event["kind"] == "episode":
            found.append((event["global_step"], event["slot"], event["episodic_return"], event["episodic_length"]))
    return found


@pytest.fixture(scope="module")
def expected(cluster, kit) -> list[Any]:
    """What a run on this machine gives."""
    [run] = cluster.client.submit(resting(kit, 5, engine="local"))
    cluster.until(run.run_id, "finished")
    return numbers(cluster, run.run_id)


def kill(*pids: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def begun(cluster: Any, kit: Any, node: Any) -> str:
    """A run over ssh that has passed a checkpoint."""
    client = cluster.client
    [run] = client.submit(resting(kit, 5, engine="ssh"))
    kit.eventually(lambda: client.get(run.run_id).global_step > EVERY, what=f"{run.run_id} to be under way")
    assert client.get(run.run_id).state == "running"
    assert len(node.workers(run.run_id)) == 1
    return run.run_id


def finished(cluster: Any, run_id: str, expected: list[Any], *, epoch: int) -> None:
    record = cluster.until(run_id, "finished")
    assert record.global_step == STEPS
    assert cluster.check_sequence(run_id)
    assert numbers(cluster, run_id) == expected
    import json

    placed = json.loads(cluster.home.run(run_id).record.read_text())
    assert placed["epoch"] == epoch


def test_a_quiet_run_is_the_same_and_leaves_nothing_on_the_node(cluster, kit, node, expected):
    [run] = cluster.client.submit(resting(kit, 5, engine="ssh"))
    finished(cluster, run.run_id, expected, epoch=1)
    kit.eventually(lambda: not list(node.scratch.glob("*-*")), what="the scratch folder to be empty")
    assert not (cluster.home.run(run.run_id).root / ".relay").exists()
    assert cluster.home.run(run.run_id).stdout.stat().st_size > 0
    assert (cluster.home.run(run.run_id).checkpoints / f"step-{STEPS}" / "state.json").exists()


def test_an_agent_that_is_killed_is_started_again_and_finds_its_worker(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    [worker] = node.workers(run_id)
    kill(*node.agents(run_id))
    kit.eventually(lambda: node.agents(run_id), what="another agent")
    assert node.workers(run_id) == [worker]
    finished(cluster, run_id, expected, epoch=1)


def test_a_connection_that_is_killed_is_made_again(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    [worker] = node.workers(run_id)
    tunnels = [child.pid for child in psutil.Process(cluster.process.pid).children() if "-R" in child.cmdline()]
    assert len(tunnels) == 1
    kill(*tunnels)
    kit.eventually(lambda: cluster.log.read_text().count("ssh.tunnel") > 1, what="another tunnel")
    assert node.workers(run_id) == [worker]
    finished(cluster, run_id, expected, epoch=1)


def test_a_daemon_that_is_killed_loses_nothing(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    [worker] = node.workers(run_id)
    cluster.restart()
    assert node.workers(run_id) == [worker]
    finished(cluster, run_id, expected, epoch=1)


def test_a_worker_that_is_killed_is_a_failure_that_can_be_resumed(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    kill(*node.workers(run_id))
    client = cluster.client
    ended = kit.eventually(lambda: (now := client.get(run_id)).state == "failed" and now)
    assert "SIGKILL" in ended.reason
    assert ended.exit_code == -9
    client.resume(run_id)
    finished(cluster, run_id, expected, epoch=2)


def test_a_machine_that_dies_is_followed_by_another_start_when_its_lease_has_run_out(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    kill(*node.agents(run_id), *node.workers(run_id))
    # What is left there would let another agent tell at once how it ended: the machine is gone with its disk.
    import shutil

    shutil.rmtree(node.scratch / f"{run_id}-1")
    killed_at = time.monotonic()
    client = cluster.client
    kit.eventually(lambda: client.get(run_id).attempt == 2, what="another attempt")
    assert time.monotonic() - killed_at > 16, "another attempt before the lease had run out"
    finished(cluster, run_id, expected, epoch=2)


def test_an_agent_that_stands_still_past_its_lease_is_not_heard_any_more(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    [agent], [worker] = node.agents(run_id), node.workers(run_id)
    os.kill(agent, signal.SIGSTOP)
    try:
        kit.eventually(lambda: cluster.client.get(run_id).attempt == 2, what="another attempt")
        assert worker not in node.workers(run_id)
        os.kill(agent, signal.SIGCONT)
        kit.eventually(lambda: agent not in node.agents(run_id), what="the old agent to end")
    finally:
        kill(agent)
    finished(cluster, run_id, expected, epoch=2)


def test_a_machine_that_comes_back_after_its_run_went_on_elsewhere_ends_its_worker(cluster, kit, node, expected):
    run_id = begun(cluster, kit, node)
    [agent], [worker] = node.agents(run_id), node.workers(run_id)
    for pid in (agent, worker):
        os.kill(pid, signal.SIGSTOP)
    try:
        client = cluster.client
        kit.eventually(lambda: client.get(run_id).attempt == 2 and client.get(run_id).state == "running")
        for pid in (worker, agent):
            os.kill(pid, signal.SIGCONT)
        kit.eventually(lambda: worker not in node.workers(run_id), what="the old worker to end")
    finally:
        kill(agent, worker)
    finished(cluster, run_id, expected, epoch=2)


def test_a_host_without_a_listener_is_waited_for_and_a_cancel_ends_at_once(cluster, kit, node):
    hosts = cluster.home.hosts.read_text()
    try:
        cluster.home.hosts.write_text(hosts.replace(str(node.port), "1"))
        client = cluster.client
        [run] = client.submit(resting(kit, 6, engine="ssh"))
        kit.eventually(lambda: "ssh.unreachable" in cluster.log.read_text(), what="the complaint")
        assert client.get(run.run_id).state in ("starting", "queued")
        client.cancel(run.run_id)
        cluster.until(run.run_id, "cancelled")
    finally:
        cluster.home.hosts.write_text(hosts)
