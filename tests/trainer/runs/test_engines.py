"""The engine is chosen by a setting, and the daemon asks nothing of one but what the Protocol names."""

import os
import subprocess
import sys

import pytest
from exact_engine import MEMBERS, ExactEngine

from mosaic.spec.run_dir import Home
from mosaic.spec.states import RunState
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.engines import DEFAULT, ENGINES, UnknownEngine, engine_named
from mosaic.trainer.engines.engine import Surroundings
from mosaic.trainer.engines.local_engine import LocalEngine
from mosaic.trainer.program import flags_of


def test_a_daemon_runs_on_an_engine_that_has_exactly_the_members_of_the_protocol(daemons, kit):
    """Warm and cold starts, a dry run, a pause, a cancel, a kill, the catalogue and the end."""
    assert {name for name in dir(ExactEngine) if not name.startswith("_")} == set(MEMBERS)
    daemon = daemons("--engine", "exact", "--cpus", "4")
    daemon.module = "exact_engine"
    client = daemon.start().client
    [cold] = client.submit(kit.document(512))
    assert daemon.until(cold.run_id, RunState.FINISHED).global_step == 512
    kit.eventually(lambda: client.health().warm_workers, what="a warm worker")
    assert client.validate(kit.document(512)).ok
    assert "ppo" in client.algorithms()
    [held] = client.submit(kit.document(kit.ENDLESS))
    daemon.until(held.run_id, RunState.RUNNING)
    client.pause(held.run_id)
    client.go_on(held.run_id)
    client.cancel(held.run_id)
    daemon.until(held.run_id, RunState.CANCELLED)
    [killed] = client.submit(kit.document(kit.ENDLESS))
    os.kill(daemon.until(killed.run_id, RunState.RUNNING).pid, 9)
    ended = kit.eventually(lambda: (now := client.get(killed.run_id)).state is RunState.FAILED and now)
    assert "SIGKILL" in ended.reason
    assert daemon.stop() == 0
    assert "Traceback" not in daemon.log.read_text()


def test_every_engine_of_the_table_has_what_the_protocol_names(tmp_path):
    assert DEFAULT == "local"
    assert engine_named("local") is LocalEngine
    home = Home(tmp_path)
    for name, make in ENGINES.items():
        engine = make(Surroundings(home, Agents(home)))
        assert not {member for member in MEMBERS if not hasattr(engine, member)}, name
        assert engine.runs_here is (name == "local")
        engine.close()


def test_an_unknown_engine_is_refused_with_the_near_names_before_anything_is_made(tmp_path):
    with pytest.raises(UnknownEngine, match="engine 'lcoal' is not known; did you mean local"):
        engine_named("lcoal")
    home = tmp_path / "home"
    for flags, variables in ((["--engine", "lcoal"], {}), ([], {"MOSAIC_ENGINE": "lcoal"})):
        refused = subprocess.run(
            [sys.executable, "-m", "mosaic.trainer", *flags],
            env={**os.environ, "MOSAIC_HOME": str(home), **variables},
            capture_output=True,
            text=True,
        )
        assert refused.returncode == 2, refused.stderr
        assert "did you mean local?" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert not home.exists()


def test_the_flag_goes_before_the_environment():
    assert flags_of(["--engine", "local"]).engine == "local"
    assert flags_of([]).engine is None
