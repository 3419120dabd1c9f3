"""A small table of runs."""

import pytest

from mosaic.run_table.table_rows import Summary, TableRows
from mosaic.spec.run_dir import new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState


@pytest.fixture
def table() -> TableRows:
    """Six runs, oldest first: returns 0, 100, …, 400 and none; learning rates 1e-4 and 1e-3 in turn."""
    made = TableRows()
    for place in range(6):
        run = RunRecord(
            run_id=new_run_id(),
            label=f"walker {place}",
            algo="ppo" if place < 4 else "dqn",
            env_id="Walker2d-v5",
            seed=place,
            state=RunState.FINISHED if place < 5 else RunState.FAILED,
            last_return=100.0 * place if place < 5 else None,
            tags=("paper",) if place == 3 else (),
            submitted_at=1_700_000_000.0 + place * 86400,
        )
        made.take([run])
        settings = {"learning_rate": 1e-3 if place % 2 else 1e-4, "target_kl": None, "anneal_lr": place < 2}
        made.take_settings(run.run_id, settings if place < 5 else {})
        made.take_metrics(run.run_id, {"losses/value_loss": Summary(place, place + 10, -place, place / 2)})
    return made
