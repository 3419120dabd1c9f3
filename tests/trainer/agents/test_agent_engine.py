"""An engine of other machines: when a start of it is over, and what becomes of the run then."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import cleanrl_worker
from mosaic.errors import InvalidTransition
from mosaic.rpc import agent_pb2 as wire
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec import run_config
from mosaic.spec.processes.life_lock import life_lock
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.trainer.agents import starts
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.leases import OldStart, Terms
from mosaic.trainer.engines.agent_engine import MOST_LOSSES, AgentEngine
from mosaic.trainer.engines.engine import Handle, Launch
from mosaic.trainer.engines.ssh_engine import SshNodes
from mosaic.trainer.runs.schedule import Slots


class Rig:
    """An engine with one run; no host is ever asked."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.create()
        self.run_dir = self.home.run(new_run_id())
        self.run_dir.create()
        self.now = 1000.0
        self.later()

    def later(self) -> None:
        """A daemon after this one."""
        self.agents = Agents(self.home, Terms(), lambda: self.now)
        self.nodes = SshNodes(self.home, self.agents)
        self.nodes.close()
        self.engine = AgentEngine("ssh", self.agents, self.nodes)

    def launch(self, epoch: int) -> Handle:
        config = self.home.worker_config(self.run_dir.run_id, epoch)
        config.write_text("{}")
        self.nodes._places[self.run_dir.run_id] = "node"
        return self.engine.launch(Launch(run_dir=self.run_dir, module="x", config=config, epoch=epoch))

    def start(self, epoch: int) -> starts.Start:
        found = self.agents.find(self.run_dir.run_id, epoch)
        assert found is not None
        return found


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "home")


def test_a_start_whose_file_is_lost_is_waited_for_as_long_as_its_lease_may_last(rig: Rig):
    handle = Handle(run_dir=rig.run_dir, engine="ssh", epoch=3)
    assert rig.engine.poll(handle)
    assert not rig.agents.leases.is_free(rig.run_dir.run_id)
    rig.now += Terms().whole_s
    assert not rig.engine.poll(handle)
    # One that no record counts on is over.
    rig.later()
    rig.agents.may_go_on = lambda _run_id, _epoch: False
    assert not rig.engine.poll(handle)


def test_a_start_beside_one_that_may_still_work_is_refused_and_leaves_no_lock(rig: Rig):
    handle = rig.launch(1)
    rig.agents.grant(rig.start(1))
    rig.engine.collect(handle)
    rig.engine.forget(handle)
    with pytest.raises(OldStart, match="has not run out"):
        rig.launch(2)
    with life_lock(rig.run_dir):
        pass
    rig.now += Terms().whole_s
    handle = rig.launch(2)
    with pytest.raises(InvalidTransition), life_lock(rig.run_dir):
        pass
    rig.engine.forget(handle)


def test_a_start_that_was_judged_gets_no_lease_any_more(rig: Rig):
    handle = rig.launch(1)
    start = rig.start(1)
    rig.engine.collect(handle)
    with pytest.raises(OldStart, match="is over"):
        rig.agents.grant(start)
    with pytest.raises(OldStart, match="is over"):
        rig.agents.begun(start, "a")


def test_a_run_that_loses_its_lease_again_and_again_without_getting_further_is_given_up(rig: Rig):
    for epoch in range(1, MOST_LOSSES + 1):
        handle = rig.launch(epoch)
        rig.agents.ended(rig.start(epoch), wire.Ended(cause="lease"))
        collected = rig.engine.collect(handle)
        rig.engine.forget(handle)
        assert bool(collected.again) is (epoch < MOST_LOSSES)
    assert "without getting any further" in collected.reason


def test_a_lock_that_cannot_be_had_is_told_once(rig: Rig, capsys: pytest.CaptureFixture[str]):
    handle = rig.launch(1)
    rig.engine.forget(handle)
    rig.later()
    with life_lock(rig.run_dir):
        for _ in range(5):
            rig.engine.poll(handle)
    assert capsys.readouterr().out.count("run.not_locked") == 1


def verbs_for(start: starts.Start) -> list[str]:
    return [message.command.verb for message in start.commands()]


def test_an_agent_that_was_away_is_told_whether_its_worker_is_to_wait(rig: Rig):
    handle = rig.launch(1)
    assert verbs_for(rig.start(1)) == []
    rig.engine.hold(handle)
    assert verbs_for(rig.start(1)) == ["hold"]
    # The user continues the run while there is no link: the worker still waits.
    rig.engine.let_go(handle)
    assert verbs_for(rig.start(1)) == ["go_on"]


def test_a_later_daemon_lets_a_worker_go_on_that_the_one_before_held(rig: Rig):
    handle = rig.launch(1)
    rig.engine.hold(handle)
    rig.engine.forget(handle)
    rig.later()
    assert verbs_for(rig.start(1)) == []
    rig.engine.let_go(handle)
    assert verbs_for(rig.start(1)) == ["go_on"]


@pytest.mark.parametrize(
    ("algo", "env_id", "settings", "file"),
    [
        ("my_ppo", "CartPole-v1", {}, "my_ppo.py"),
        ("ppo", "my_env.py:Walk", {}, "my_env.py"),
        ("ppo", "CartPole-v1", {"wrappers": [{"name": "my_env.py:Shown"}]}, "my_env.py"),
        ("ppo", "CartPole-v1", {"wrappers": [{"name": "TimeLimit"}]}, ""),
    ],
)
def test_files_of_a_user_are_refused_by_name(
    rig: Rig, tmp_path: Path, algo: str, env_id: str, settings: dict[str, Any], file: str
):
    """They are not on the other machine: the run would wait for its turn there, and fail."""
    folder = tmp_path / "mine"
    folder.mkdir()
    shutil.copy(Path(cleanrl_worker.__path__[0]) / "algorithms/ppo.py", folder / "my_ppo.py")
    names = "class Walk(gym.Env): ...\nclass Shown(gym.ObservationWrapper): ...\n"
    (folder / "my_env.py").write_text(f"import gymnasium as gym\n{names}")
    Allowed(rig.home).add(folder)
    rig.home.hosts.write_text("[node]\n")
    worker = {"algo": algo, "env_id": env_id, "total_timesteps": 10, "extras": {"algo_params": {}}}
    environment = {"env_id": env_id, "settings": settings}
    document = {"environment": environment, "artifacts": {}, "metadata": {"worker": {"config": worker}}}
    found = rig.engine.misfits(run_config.parse(document), Slots(1, 0))
    assert [problem.path for problem in found] == (["--engine"] if file else [])
    assert not file or str(folder / file) in found[0].message


def test_a_daemon_with_shorter_leases_waits_for_those_that_longer_ones_were_granted(rig: Rig):
    """The worker goes by what it was told: a second one beside it would train the same run."""
    terms = [Terms(lease_s=60), Terms(lease_s=600), Terms(lease_s=60)]
    handle = rig.launch(1)
    for each in terms[:2]:
        rig.agents = Agents(rig.home, each, lambda: rig.now)
        rig.agents.grant(rig.start(1))
    rig.engine.forget(handle)
    rig.agents = Agents(rig.home, terms[2], lambda: rig.now)
    rig.engine = AgentEngine("ssh", rig.agents, rig.nodes)
    rig.now += terms[2].whole_s + 1
    assert rig.engine.poll(handle)
    # It links again, and keeps what it has.
    rig.agents.grant(rig.start(1))
    rig.now += terms[2].whole_s + 1
    assert rig.engine.poll(handle)
    assert not rig.agents.leases.is_free(rig.run_dir.run_id)
    rig.now += terms[1].whole_s
    assert not rig.engine.poll(handle)
    assert rig.agents.leases.is_free(rig.run_dir.run_id)
