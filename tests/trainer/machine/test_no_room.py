"""Promise 10: with a full disk, no inodes or a read-only file system the supervisor sees, tells, cancels and deletes.

The supervisor alone, with workers that exist in a dictionary; `test_disk_full.py` has a real daemon and real workers.
"""

import contextlib
import json
import os
import shutil
import sqlite3
import time
from dataclasses import replace

import pytest
from fake_engine import FakeEngine
from small_disk import fill, read_only, small_disk, use_up_files

from mosaic.errors import HomeUnusable
from mosaic.spec import run_record
from mosaic.spec.files import disk_room
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer.index.index_store import Store, open_store
from mosaic.trainer.index.ingest import Ending, RunIngest
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal

FILES = 400


class Small:
    """A supervisor whose home lies on a small disk."""

    def __init__(self, root) -> None:
        self.root = root
        self.home = Home(root / "home")
        self.home.create()
        self.engine = FakeEngine()
        self.store, _ = open_store(self.home.index)
        self.supervisor = Supervisor(self.home, self.store, lambda _: self.engine, Slots(4), ChangeSignal(), Patience())
        self.supervisor.indexing.catch_up()

    def running(self, *, bytes_of_it: int = 0) -> str:
        """A run with a worker."""
        run_dir = self.home.run(new_run_id())
        run_dir.create()
        self.home.config(run_dir.run_id).write_text("{}")
        if bytes_of_it:
            (run_dir.root / "big").write_bytes(b"\0" * bytes_of_it)
        record = RunRecord(run_id=run_dir.run_id, submitted_at=time.time(), run_dir=str(run_dir.root))
        run_record.write(run_dir, record.placed)
        self.supervisor.add([record])
        self.supervisor.tick()
        assert run_dir.run_id in self.engine.alive
        return run_dir.run_id

    def worker_dies(self, run_id: str, code: int = -11) -> None:
        self.engine.codes[self.engine.alive.pop(run_id)] = code

    def looks(self, run_id: str) -> tuple[RunState, str]:
        self.supervisor.tick()
        record = self.supervisor.get(run_id)
        return record.state, record.reason

    def on_disk(self, run_id: str) -> RunState:
        return run_record.read(self.home.run(run_id)).state

    def in_index(self, run_id: str) -> str | None:
        with contextlib.closing(sqlite3.connect(self.home.index)) as index:
            row = index.execute("SELECT state FROM runs WHERE run_id = ? AND NOT deleted", (run_id,)).fetchone()
            return row and row[0]


@pytest.fixture
def small(tmp_path):
    with small_disk(tmp_path / "disk", files=FILES) as root:
        found = Small(root)
        yield found
        found.store.close()


@contextlib.contextmanager
def full(small: Small):
    ballast = fill(small.root)
    yield
    ballast.unlink()


@contextlib.contextmanager
def without_inodes(small: Small):
    ballast = use_up_files(small.root)
    yield
    shutil.rmtree(ballast)


@contextlib.contextmanager
def unwritable(small: Small):
    # Full as well: the index is open already, and could still be written.
    with full(small), read_only(small.root):
        yield


@pytest.mark.parametrize("disk", [full, without_inodes, unwritable])
def test_a_worker_that_died_is_shown_and_written_down_when_there_is_room(small, disk):
    run_id = small.running()
    seen = small.store.revision
    with disk(small):
        small.worker_dies(run_id)
        assert small.looks(run_id) == (RunState.FAILED, "the worker was killed by SIGSEGV")
        assert small.on_disk(run_id) is RunState.STARTING
        ended = small.supervisor.get(run_id)
        assert small.store.page(states=["failed"], text="", size=10, after="").runs == [ended]
        assert small.store.counts() == {"failed": 1}
        assert [record.state for record in small.store.changed_since(seen)] == [RunState.FAILED]
        assert small.store.by_states([RunState.STARTING, RunState.RUNNING]) == []
        assert len(small.supervisor.unwritten()) == 1
        # Not judged again, and not at another time.
        assert small.looks(run_id)[0] is RunState.FAILED
        assert small.supervisor.get(run_id).ended_at == ended.ended_at
    small.supervisor.write_held()
    assert small.supervisor.unwritten() == []
    assert (small.on_disk(run_id), small.in_index(run_id)) == (RunState.FAILED, "failed")
    assert replace(small.supervisor.get(run_id), revision=ended.revision) == ended


@pytest.mark.parametrize("disk", [full, without_inodes, unwritable])
def test_cancel_stops_the_worker(small, disk):
    run_id = small.running()
    pid = small.engine.alive[run_id]
    with disk(small):
        assert small.supervisor.cancel(run_id).state is RunState.STOPPING
        assert pid in small.engine.asked
        small.worker_dies(run_id, code=4)
        assert small.looks(run_id) == (RunState.CANCELLED, "cancelled by the user")
    small.supervisor.write_held()
    assert small.on_disk(run_id) is RunState.CANCELLED


@pytest.mark.parametrize("disk", [full, without_inodes])
def test_delete_frees_the_disk_though_nothing_can_be_written(small, disk):
    run_id = small.running(bytes_of_it=2**20)
    small.worker_dies(run_id)
    with disk(small):
        assert small.looks(run_id)[0] is RunState.FAILED
        before = os.statvfs(small.root)
        small.supervisor.delete(run_id)
        after = os.statvfs(small.root)
        # The index may take a page or two of it.
        assert after.f_bavail * after.f_bsize >= before.f_bavail * before.f_bsize + 2**19
        assert after.f_favail > before.f_favail
        assert small.store.get(run_id) is None
        assert not list(small.home.runs.iterdir())
    small.supervisor.tick()
    small.supervisor.write_held()
    assert small.in_index(run_id) is None
    assert small.store.all_ids() == set()


def test_delete_works_where_not_even_a_rename_does(small, monkeypatch):
    run_id = small.running(bytes_of_it=2**20)
    small.worker_dies(run_id)
    small.supervisor.tick()

    def no_room(self, target):
        raise OSError(28, "No space left on device")

    with full(small):
        monkeypatch.setattr("pathlib.Path.replace", no_room)
        small.supervisor.delete(run_id)
        assert not small.home.run(run_id).root.exists()
        small.supervisor.tick()
        assert small.store.all_ids() == set(), "it is not taken for a run that the index has lost"


def test_delete_on_a_read_only_disk_is_refused_and_keeps_the_run(small):
    run_id = small.running()
    small.worker_dies(run_id)
    small.supervisor.tick()
    with unwritable(small), pytest.raises(OSError, match="Read-only"):
        small.supervisor.delete(run_id)
    assert small.supervisor.get(run_id).state is RunState.FAILED
    assert small.home.run(run_id).record.exists()


def test_queued_runs_wait_for_room_and_start_by_themselves(small):
    first = small.running()
    ballast = small.root / "ballast"
    run_dir = small.home.run(new_run_id())
    run_dir.create()
    small.home.config(run_dir.run_id).write_text("{}")
    record = RunRecord(run_id=run_dir.run_id, submitted_at=time.time(), run_dir=str(run_dir.root))
    run_record.write(run_dir, record.placed)
    small.supervisor.add([record])
    ballast.write_bytes(b"\0" * (100 * 2**20))
    assert small.looks(run_dir.run_id)[0] is RunState.QUEUED
    assert "200 MiB" in small.supervisor.waiting_for_room
    ballast.unlink()
    assert small.looks(run_dir.run_id)[0] is RunState.STARTING
    assert small.supervisor.waiting_for_room == ""
    assert set(small.engine.alive) == {first, run_dir.run_id}


def test_what_a_user_asks_for_is_refused_rather_than_kept_in_memory(small):
    run_id = small.running()
    with full(small), pytest.raises((OSError, sqlite3.OperationalError)):
        small.supervisor.set_label(run_id, label="another")
    assert small.supervisor.get(run_id).label == ""


def test_the_numbers_of_a_refusal_are_both_told(small):
    (small.root / "ballast").write_bytes(b"\0" * (100 * 2**20))
    with pytest.raises(HomeUnusable, match=r"1\d\d MiB .* 200 MiB"):
        disk_room.check(small.home.runs)
    (small.root / "ballast").unlink()
    disk_room.check(small.home.runs)
    ballast = use_up_files(small.root)
    with pytest.raises(HomeUnusable, match=r"0 files .* 50"):
        disk_room.check(small.home.runs)
    shutil.rmtree(ballast)


def test_an_index_that_was_held_goes_on_behind_every_revision_that_was_told(small):
    run_id = small.running()
    with full(small):
        small.worker_dies(run_id)
        small.supervisor.tick()
        told = small.store.revision
        small.store.close()  # as a kill would
    small.store = Store(small.home.index)
    assert small.store.revision >= told


def test_a_disk_that_is_full_at_the_start_does_not_make_the_index_corrupt(small):
    run_id = small.running()
    small.store.close()
    with full(small), pytest.raises(sqlite3.OperationalError):
        open_store(small.home.index)
    assert not list(small.home.trainer.glob("*.corrupt*"))
    small.store, is_new = open_store(small.home.index)
    assert not is_new
    assert small.store.get(run_id) is not None


def test_the_events_behind_a_resume_are_read_though_no_metric_can_be_written(small):
    run_dir = small.home.run(small.running())
    start = {"kind": "run.started", "algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_timesteps": 9}
    events = [
        {**start, "attempt": 1, "resumed_from_step": None},
        *({"kind": "scalars", "global_step": step, "values": {"loss": float(step)}} for step in range(1, 9)),
        {**start, "attempt": 2, "resumed_from_step": 5},
        {"kind": "scalars", "global_step": 6, "values": {"loss": 60.0}},
        {"kind": "run.failed", "global_step": 6, "error": "HomeUnusable", "message": "the disk is full"},
    ]
    lines = [json.dumps({"v": 1, "seq": seq, "time": 1.0, **event}) for seq, event in enumerate(events, 1)]
    run_dir.events.write_text("\n".join(lines) + "\n")
    with full(small):
        ingest = RunIngest(small.home, run_dir)
        ingest.catch_up()
        assert ingest.last_seq == len(events)
        assert ingest.ending == Ending(completed=False, message="HomeUnusable: the disk is full")
    ingest.poll()
    rows, total = ingest.metrics.read("loss")
    assert total == 6
    assert rows[:, 1].tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 60.0]


def test_an_end_that_only_run_json_tells_is_not_judged_again(small):
    run_id = small.running()
    record = small.supervisor.get(run_id)
    ended = replace(record, state=RunState.FAILED, reason="the disk is full", ended_at=5.0, exit_code=4, pid=0)
    run_record.write(small.home.run(run_id), ended.placed)  # and then the daemon was killed
    small.engine.alive.clear()
    assert small.looks(run_id) == (RunState.FAILED, "the disk is full")
    assert small.supervisor.get(run_id).placed == ended.placed
