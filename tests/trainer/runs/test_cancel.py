"""Promise 8: cancel ends the worker and all that it started, after time for a checkpoint; pauses, and the queue."""

import os
import signal

import pytest

STUBBORN = '''
import signal, subprocess, time
import gymnasium
from gymnasium.envs.classic_control import CartPoleEnv

class Stubborn(CartPoleEnv):
    """Its helper ignores SIGTERM, and after a while a step never returns."""
    said = False
    steps = 0
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.helper = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
    def step(self, action):
        self.steps += 1
        while self.steps > 100:
            self.said or print("stuck", flush=True)
            self.said = True
            time.sleep(0.1)
        return super().step(action)

gymnasium.register("Stubborn-v0", entry_point=Stubborn, max_episode_steps=500)
'''


@pytest.fixture(scope="module")
def impatient(module_daemons, kit, tmp_path_factory):
    """A daemon that does not wait, and knows a stubborn environment."""
    folder = tmp_path_factory.mktemp("envs")
    (folder / "stubborn.py").write_text(STUBBORN)
    environment = {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}
    daemon = module_daemons("--cpus", "2", "--stop-s", "1.5", "--pause-s", "0.5", environment=environment).start()
    client = daemon.client
    kit.eventually(lambda: client.health().warm_workers, 300, what="a warm worker")
    return daemon


def test_cancel_ends_environment_processes_too(impatient, kit):
    client = impatient.client
    run = client.submit(kit.document(kit.ENDLESS, extras={"env_backend": "async"}))[0]
    pid = impatient.until(run.run_id, "running").pid
    assert len(kit.session_of(pid)) > 2
    client.cancel(run.run_id)
    assert impatient.until(run.run_id, "cancelled").reason == "ended by the user after a checkpoint"
    assert kit.session_of(pid) == []
    assert list(impatient.home.run(run.run_id).checkpoints.glob("step-*"))


def test_a_killed_worker_leaves_no_environment_processes(impatient, kit):
    client = impatient.client
    run = client.submit(kit.document(kit.ENDLESS, extras={"env_backend": "async"}))[0]
    pid = impatient.until(run.run_id, "running").pid
    os.kill(pid, signal.SIGKILL)
    impatient.until(run.run_id, "failed")
    assert kit.session_of(pid) == []


def test_a_worker_that_ignores_the_signal_is_killed_with_its_children(impatient, kit):
    document = kit.document(kit.ENDLESS)
    document["environment"]["env_id"] = document["metadata"]["worker"]["config"]["env_id"] = "stubborn:Stubborn-v0"
    client = impatient.client
    run = client.submit(document)[0]
    pid = impatient.until(run.run_id, "running").pid
    assert len(kit.session_of(pid)) > 1
    stdout = impatient.home.run(run.run_id).stdout
    kit.eventually(lambda: "stuck" in stdout.read_text(), what="a step that does not return")
    client.cancel(run.run_id)
    ended = impatient.until(run.run_id, "cancelled")
    assert ended.reason == "killed after it did not end by itself"
    assert ended.exit_code == -signal.SIGKILL
    assert kit.session_of(pid) == []


def test_a_pause_that_lasts_gives_resources_back_and_continue_goes_on_exactly(impatient, kit):
    client = impatient.client
    run = client.submit(kit.document(kit.ENDLESS, extras={"checkpoint_interval_steps": 64}))[0]
    pid = impatient.until(run.run_id, "running").pid
    client.pause(run.run_id)
    released = kit.eventually(lambda: not (r := client.get(run.run_id)).pid and r, what="a given back worker")
    assert released.state == "paused"
    assert kit.session_of(pid) == []
    assert client.health().cpu_slots_used == 0
    assert client.go_on(run.run_id).state == "queued"
    again = kit.eventually(lambda: (r := client.get(run.run_id)).state == "running" and r, what="running again")
    assert again.attempt == 2
    assert again.pid not in (0, pid)
    client.cancel(run.run_id)
    impatient.until(run.run_id, "cancelled")
    starts = [event for event in impatient.events(run.run_id) if event["kind"] == "run.started"]
    assert starts[1]["exact"]
    assert starts[1]["resumed_from_step"] == released.global_step
    impatient.check_sequence(run.run_id)


def test_a_paused_run_can_be_cancelled_before_and_after_its_release(impatient, kit):
    client = impatient.client
    for released in (False, True):
        run = client.submit(kit.document(kit.ENDLESS))[0]
        impatient.until(run.run_id, "running")
        client.pause(run.run_id)
        if released:
            kit.eventually(lambda run=run: not client.get(run.run_id).pid, what="its release")
        client.cancel(run.run_id)
        impatient.until(run.run_id, "cancelled")


def test_the_queue_goes_by_priority_then_in_order(impatient, kit):
    client = impatient.client
    blockers = [client.submit(kit.document(kit.ENDLESS))[0] for _ in range(2)]
    low, high, later = (client.submit(kit.document(64), priority=priority)[0] for priority in (-1, 5, -1))
    assert {client.get(one.run_id).state for one in (low, high, later)} == {"queued"}
    client.cancel(blockers[0].run_id)
    for one in (low, high, later):
        impatient.until(one.run_id, "finished")
    launched = [line for line in impatient.log.read_text().splitlines() if "run.launched" in line]
    names = {one.run_id: name for one, name in ((low, "low"), (high, "high"), (later, "later"))}
    order = [names[run_id] for line in launched for run_id in names if run_id in line]
    assert order == ["high", "low", "later"]
    client.cancel(blockers[1].run_id)
