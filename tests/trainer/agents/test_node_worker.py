"""The worker of an agent: taken for ended only when it has ended, and judged by what its lease was."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from mosaic import config
from mosaic.agent.agent_folder import AgentFolder, Order
from mosaic.agent.node_worker import NodeWorker
from mosaic.agent.run_agent import RunAgent
from mosaic.fastlane import ring_sweep
from mosaic.spec.processes import lease_file, process_identity
from mosaic.spec.run_dir import new_run_id
from mosaic.trainer.engines.engine import Handle, Launch
from mosaic.trainer.engines.local_engine import LocalEngine

TELLS_OF_A_HOLD = """
import signal, sys
signal.signal(signal.SIGUSR1, lambda *_: sys.exit(7))
print(flush=True)
signal.pause()
"""


@pytest.fixture
def order(tmp_path: Path) -> Order:
    return Order(run_id=new_run_id(), epoch=1, token="x" * 43, scratch=str(tmp_path))


@pytest.fixture
def folder(order: Order) -> AgentFolder:
    made = AgentFolder.of(order)
    made.write_order(order)
    made.home.create()
    made.run_dir(order).create()
    return made


def test_a_worker_that_is_just_being_started_has_not_ended(
    folder: AgentFolder, order: Order, monkeypatch: pytest.MonkeyPatch
):
    worker = NodeWorker(folder, order)
    looker = threading.Thread(target=worker.tick)
    launch = LocalEngine.launch

    def late(engine: LocalEngine, what: Launch) -> Handle:
        looker.start()
        looker.join(0.3)  # It is through by then unless it has to wait for us.
        return launch(engine, what)

    monkeypatch.setattr(LocalEngine, "launch", late)
    assignment = {"config": "{}", "environment": {}, "module": "mosaic.agent", "options": [], "resume": False}
    worker.start(assignment)
    looker.join()
    while worker.ended is None:
        worker.tick()
    # What it says itself: it does not know these words.
    assert worker.ended.exit_code == 2


@pytest.mark.parametrize(("left_s", "cause"), [(1000, ""), (-1, "lease")])
def test_an_agent_that_is_started_again_knows_the_lease(folder: AgentFolder, order: Order, left_s: float, cause: str):
    folder.started.touch()
    lease_file.write(folder.lease, until=lease_file.now() + left_s, grace_s=30)
    worker = NodeWorker(folder, order)
    worker.tick()
    assert worker.ended is not None
    assert worker.ended.cause == cause


def test_what_a_killed_worker_left_in_shared_memory_is_removed(
    folder: AgentFolder, order: Order, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ring_sweep, "folders", lambda: (tmp_path,))
    ring = tmp_path / f"mosaic-{os.getuid()}-0a.ring"
    ring.write_bytes(b"frames")
    folder.started.touch()
    NodeWorker(folder, order).tick()
    assert not ring.exists()


def test_a_look_that_fails_is_not_the_last_one(folder: AgentFolder, order: Order, monkeypatch: pytest.MonkeyPatch):
    agent, looks = RunAgent(folder, order), []

    def look(_worker: NodeWorker) -> None:
        looks.append(1)
        if len(looks) > 1:
            agent._over.set()
        raise OSError(24, "too many open files")

    monkeypatch.setattr(NodeWorker, "tick", look)
    agent._tend()
    assert len(looks) == 2


def test_an_agent_that_is_started_again_holds_the_worker_of_the_one_before(folder: AgentFolder, order: Order):
    folder.started.touch()
    with subprocess.Popen([sys.executable, "-c", TELLS_OF_A_HOLD], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            who = process_identity.identify(child.pid)
            folder.run_dir(order).worker.write_text(json.dumps(config.to_json(who)))
            # Before its first look, as the daemon says it right after the welcome.
            NodeWorker(folder, order).ask("hold")
            assert child.wait(120) == 7
        finally:
            child.kill()
