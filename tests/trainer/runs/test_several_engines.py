"""A queue for several engines: what one of them cannot do now holds back no other run, and ends none."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_engine import FakeEngine

from mosaic.spec import run_record
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.agents.leases import OldStart
from mosaic.trainer.index.index_store import open_store
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal


class Broken(FakeEngine):
    """It cannot say what may start."""

    def choose(self, queued, live, slots):
        raise TypeError("no idea")


class Busy(FakeEngine):
    """The start before may still work."""

    def launch(self, launch):
        if launch.epoch < 2:
            raise OldStart("its lease has not run out")
        return super().launch(launch)


class Rig:
    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        self.home.create()
        self.engines = {"a": Broken(), "b": Busy(), "local": FakeEngine()}
        self.store, _ = open_store(self.home.index)
        self.supervisor = Supervisor(
            self.home, self.store, lambda name: self.engines[name or "local"], Slots(4), ChangeSignal(), Patience()
        )
        self.supervisor.indexing.catch_up()

    def add(self, engine: str) -> str:
        run_dir = self.home.run(new_run_id())
        run_dir.create()
        self.home.config(run_dir.run_id).write_text("{}")
        record = RunRecord(run_id=run_dir.run_id, submitted_at=time.time(), run_dir=str(run_dir.root), engine=engine)
        run_record.write(run_dir, record.placed)
        self.supervisor.add([record])
        return run_dir.run_id


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    made = Rig(tmp_path / "home")
    yield made
    made.store.close()


def test_an_engine_that_fails_holds_back_no_other(rig: Rig):
    stuck, free = rig.add("a"), rig.add("local")
    rig.supervisor.tick()
    assert rig.supervisor.get(free).state is RunState.STARTING
    assert rig.supervisor.get(stuck).state is RunState.QUEUED


def test_a_run_whose_last_start_may_still_work_goes_back_to_the_queue(rig: Rig):
    run_id = rig.add("b")
    rig.supervisor.tick()
    assert rig.supervisor.get(run_id).state is RunState.QUEUED
    rig.supervisor.tick()
    record = rig.supervisor.get(run_id)
    assert (record.state, record.epoch) == (RunState.STARTING, 2)
