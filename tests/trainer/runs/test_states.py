"""Promise 9: a terminal state is written once. A model-based test: users, workers and kills in any order."""

import json
import shutil
import tempfile
import time
from pathlib import Path

from fake_engine import FakeEngine
from hypothesis import HealthCheck, settings, strategies
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mosaic.errors import CheckpointError, InvalidTransition
from mosaic.spec import run_record, states
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState
from mosaic.trainer.index import directory_reader
from mosaic.trainer.index.index_store import open_store
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal


class Runs(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="mosaic-states-"))
        self.home = Home(self.root)
        self.home.create()
        self.engine = FakeEngine()
        self.ended: dict[str, tuple[RunState, str, float]] = {}
        self.store = None
        self.start_daemon()

    def start_daemon(self) -> None:
        self.store, _ = open_store(self.home.index)
        directory_reader.clear(self.home, self.store)
        patience = Patience(stop_s=3600, pause_s=0)
        self.daemon = Supervisor(self.home, self.store, lambda _: self.engine, Slots(2), ChangeSignal(), patience)
        self.daemon.indexing.scan()
        self.daemon.indexing.catch_up()

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.root)

    def records(self, *wanted: RunState) -> list[RunRecord]:
        return [record for record in self.store.by_states(list(RunState)) if not wanted or record.state in wanted]

    def pick(self, data, *wanted: RunState) -> RunRecord | None:
        there = self.records(*wanted)
        return data.draw(strategies.sampled_from(there)) if there else None

    def write_event(self, run_id: str, kind: str, **values: object) -> None:
        path = self.home.run(run_id).events
        seq = len(path.read_bytes().splitlines()) + 1 if path.exists() else 1
        with path.open("a") as file:
            file.write(
                json.dumps({"v": 1, "seq": seq, "time": 1.0, "kind": kind, **values}, separators=(",", ":")) + "\n"
            )

    @rule()
    @precondition(lambda self: len(self.records()) < 5)
    def submit(self) -> None:
        run_dir = self.home.run(new_run_id())
        run_dir.create()
        self.home.config(run_dir.run_id).write_text("{}")
        record = RunRecord(run_id=run_dir.run_id, submitted_at=time.time(), run_dir=str(run_dir.root))
        run_record.write(run_dir, record.placed)
        self.daemon.add([record])

    @rule()
    def look(self) -> None:
        self.daemon.tick()

    @rule(data=strategies.data())
    def worker_reports(self, data) -> None:
        record = self.pick(data, RunState.STARTING)
        if record is not None and record.run_id in self.engine.alive:
            values = {"attempt": record.attempt, "total_timesteps": 10, "resumed_from_step": None}
            self.write_event(record.run_id, "run.started", **values)
            (self.home.run(record.run_id).checkpoints / "step-5").mkdir(parents=True, exist_ok=True)

    @rule(data=strategies.data(), how=strategies.sampled_from(["completed", "failed", "killed", "vanished"]))
    def worker_ends(self, data, how: str) -> None:
        living = [record for record in self.records(*LIVE) if record.run_id in self.engine.alive]
        if not living:
            return
        record = data.draw(strategies.sampled_from(living))
        pid = self.engine.alive.pop(record.run_id)
        if how == "completed":
            self.write_event(record.run_id, "run.completed", global_step=10, stopped=pid in self.engine.asked)
        elif how == "failed":
            self.write_event(record.run_id, "run.failed", global_step=3, error="E", message="m")
        if how != "vanished":
            self.engine.codes[pid] = {"completed": 0, "failed": 5, "killed": -9}[how]

    @rule(data=strategies.data(), what=strategies.sampled_from(["cancel", "pause", "go_on"]))
    def ask(self, data, what: str) -> None:
        record = self.pick(data)
        if record is None or (what == "go_on" and record.pid and record.pid in self.engine.asked):
            return  # that one waits for the worker, which only this test can end
        try:
            after = getattr(self.daemon, what)(record.run_id)
        except InvalidTransition:
            return
        if record.state not in TERMINAL and what == "cancel":
            assert after.state in (RunState.STOPPING, RunState.CANCELLED)

    @rule(data=strategies.data())
    def resume(self, data) -> None:
        record = self.pick(data, *TERMINAL)
        if record is None:
            return
        try:
            self.daemon.resume(record.run_id, 0)
        except (CheckpointError, InvalidTransition):
            return
        self.ended.pop(record.run_id, None)

    @rule(index_lost=strategies.booleans())
    def daemon_is_killed(self, index_lost: bool) -> None:
        self.store.close()
        if index_lost:
            for path in self.home.trainer.glob("index.sqlite*"):
                path.unlink()
        self.start_daemon()

    @invariant()
    def ends_never_change(self) -> None:
        for record in self.records(*TERMINAL):
            kept = self.ended.setdefault(record.run_id, (record.state, record.reason, record.ended_at))
            assert kept == (record.state, record.reason, record.ended_at)
            assert record.pid == 0
        for run_id in self.ended:
            assert self.store.get(run_id).state in TERMINAL

    @invariant()
    def files_and_index_agree(self) -> None:
        for record in self.records():
            assert run_record.read(self.home.run(record.run_id)) == record.placed

    @invariant()
    def nothing_is_oversubscribed(self) -> None:
        assert len([r for r in self.records(*LIVE) if r.pid]) <= 2


TestRuns = Runs.TestCase
TestRuns.settings = settings(max_examples=25, stateful_step_count=25, suppress_health_check=list(HealthCheck))


def test_every_move_from_a_terminal_state_is_refused():
    for ended in TERMINAL:
        assert not any(states.can_move(ended, wanted) for wanted in RunState)
