"""What the daemon decided about a run survives its file."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.spec import run_record
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import Placed, RunRecord
from mosaic.spec.states import RunState

RUN = "01K9CG05J5Y0FFQMT1T920EZK2"


@settings(max_examples=50)
@given(
    st.builds(
        Placed,
        state=...,
        reason=...,
        label=...,
        exit_code=...,
        stderr_tail=...,
        cancel_asked=...,
        gpus=st.floats(0, 8),
    )
)
def test_every_record_survives_json(placed: Placed) -> None:
    assert config.from_json_text(Placed, json.dumps(config.to_json(placed))) == placed


@pytest.mark.parametrize("state", list(RunState))
def test_what_was_written_is_read(state: RunState, tmp_path: Path) -> None:
    run_dir = Home(tmp_path).run(RUN)
    run_dir.create()
    placed = Placed(run_id=RUN, state=state, reason="exit code 1", stderr_tail=("one", "two é"))
    run_record.write(run_dir, placed)
    assert run_record.read(run_dir) == placed
    assert run_record.read(run_dir).state is state


def test_an_unknown_state_is_refused(tmp_path: Path) -> None:
    run_dir = Home(tmp_path).run(RUN)
    run_dir.create()
    run_dir.record.write_text(json.dumps({"run_id": RUN, "state": "asleep"}))
    with pytest.raises(ConfigError, match="state: must be 'queued'"):
        run_record.read(run_dir)


def test_the_time_to_go_is_known_only_while_it_runs() -> None:
    running = RunRecord(run_id=RUN, state=RunState.RUNNING, total_timesteps=100, global_step=40, steps_per_s=6.0)
    assert running.eta_s == 10.0
    for unknown in (
        RunRecord(run_id=RUN, state=RunState.FINISHED, total_timesteps=100, global_step=40, steps_per_s=6.0),
        RunRecord(run_id=RUN, state=RunState.RUNNING, total_timesteps=100, global_step=40),
        RunRecord(run_id=RUN, state=RunState.RUNNING, global_step=40, steps_per_s=6.0),
    ):
        assert unknown.eta_s is None
