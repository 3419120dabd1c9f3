"""The daemon answers at once whatever its home holds: the index is built beside the answers, newest run first."""

import json
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import grpc
import pytest
from small_disk import fill, small_disk

from mosaic.rpc.client import Client
from mosaic.rpc.trainer_methods import answer_with
from mosaic.spec import ulid
from mosaic.spec.files.spool_reader import LONGEST, LineReader
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.watched_frames import WatchedFrames
from mosaic.trainer.catalogue.daemon_catalogue import Catalogue
from mosaic.trainer.engines import DEFAULT, ENGINES
from mosaic.trainer.engines.all_engines import AllEngines
from mosaic.trainer.engines.engine import Surroundings
from mosaic.trainer.engines.local_engine import LocalEngine
from mosaic.trainer.index import directory_reader, index_builder
from mosaic.trainer.index.index_store import open_store
from mosaic.trainer.index.ingest import RunIngest
from mosaic.trainer.index.metric_columns import RunMetrics
from mosaic.trainer.machine.health import Health
from mosaic.trainer.runs import submit
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal
from mosaic.trainer.serving.interceptor import Interceptor
from mosaic.trainer.serving.service import TrainerService
from mosaic.trainer.sweeps.sweep_requests import Sweeps

FIRST_S = 1_760_000_000
OLD = 20
"""Runs that are listed in the second batch, one of which holds up the reader."""


def event(seq, kind, **values):
    return json.dumps({"v": 1, "seq": seq, "time": 1.0, "kind": kind, **values}, separators=(",", ":")) + "\n"


def events(episodes=2):
    started = {"algo": "ppo", "env_id": "CartPole-v1", "seed": 1, "total_timesteps": 100, "attempt": 1}
    yield event(1, "run.started", **started, resumed_from_step=None)
    for seq in range(2, episodes + 2):
        yield event(seq, "episode", global_step=seq, slot=0, episodic_return=float(seq), episodic_length=5)
    yield event(episodes + 2, "run.completed", global_step=100, stopped=False)


def make_run(home, number, **changes):
    """A finished run that is older the lower its number is."""
    run_dir = home.run(ulid.new(FIRST_S + number))
    run_dir.create()
    values = {
        "state": RunState.FINISHED,
        "label": f"run {number}",
        "algo": "ppo",
        "client_key": f"key {number}",
        "attempt": 1,
    }
    placed = Placed(run_id=run_dir.run_id, **values | changes)
    run_dir.record.write_text(json.dumps(vars(placed)))
    run_dir.events.write_text("".join(events()))
    return run_dir


class NoWorkers:
    """An engine under which no process ever lived."""

    def is_alive(self, run_dir, pid) -> bool:
        return False


def supervisor_of(home):
    store, _ = open_store(home.index)
    return Supervisor(home, store, lambda _: NoWorkers(), Slots(1), ChangeSignal(), Patience())


@pytest.fixture
def large(tmp_path, catalogue_file, monkeypatch):
    """A service that answers while its index is held up behind the first batch; its runs are numbered by age."""
    home = Home(tmp_path)
    home.create()
    shutil.copy2(catalogue_file, home.trainer / "catalog.json")
    runs = [make_run(home, number).run_id for number in range(OLD + index_builder.BATCH)]
    queued = make_run(home, OLD + index_builder.BATCH, state=RunState.QUEUED, attempt=0).run_id
    go_on, read = threading.Event(), directory_reader.read

    def read_late(home, run_dir, engine):
        if run_dir.run_id == runs[1]:
            assert go_on.wait(60)
        return read(home, run_dir, engine)

    monkeypatch.setattr(directory_reader, "read", read_late)
    supervisor = supervisor_of(home)
    health = Health(supervisor, [], lambda: False)
    catalogue = Catalogue(home, warm_output_of=lambda *_: None)
    agents = Agents(home)
    engines = AllEngines(LocalEngine(), ENGINES, Surroundings(home, agents), default=DEFAULT)
    service = TrainerService(supervisor, engines, catalogue, health, Sweeps(home), agents, WatchedFrames())
    server = grpc.server(ThreadPoolExecutor(8), interceptors=[Interceptor(None)])
    answer_with(service, server)
    server.add_insecure_port(f"unix:{home.socket}")
    server.start()
    supervisor.indexing.start(wait_s=0)
    with Client(f"unix:{home.socket}", home=home) as client:
        yield client, supervisor, runs, queued, go_on
    go_on.set()
    server.stop(grace=None).wait()
    supervisor.indexing.close()
    supervisor.store.close()


def test_while_the_index_is_built_the_daemon_answers_and_forgets_no_run(large, kit, monkeypatch):
    client, supervisor, runs, queued, go_on = large
    checked, check = threading.Event(), submit.check

    def check_and_tell(*args, **more):
        try:
            return check(*args, **more)
        finally:
            checked.set()

    monkeypatch.setattr(submit, "check", check_and_tell)
    total = len(runs) + 1
    listed = kit.eventually(lambda: client.list(), what="the first batch")
    assert [run.run_id for run in listed] == [queued, *reversed(runs)][: index_builder.BATCH]
    health = client.health()
    assert health.indexed < health.index_total == total

    # A run that is not on the list yet is known, with its progress, to the client that names it.
    oldest = client.get(runs[0])
    assert (oldest.label, oldest.state, oldest.global_step, oldest.last_seq) == ("run 0", "finished", 100, 4)
    assert client.set_label(runs[2], label="named").label == "named"
    assert client.metrics(runs[2])["charts/episodic_return"].values == [2.0, 3.0]

    # Nothing starts before all queued and living runs are known; what is queued can be cancelled.
    supervisor.tick()
    assert client.get(queued).state == "queued"
    assert client.cancel(queued).state == "cancelled"

    # A submit whose key an unlisted run has waits, finds that run, and does not make another.
    answers = []
    asking = threading.Thread(target=lambda: answers.append(client.submit(kit.document(), client_key="key 3")))
    asking.start()
    assert checked.wait(60)
    asking.join(1.0)
    assert not answers
    go_on.set()
    asking.join(60)
    assert [run.run_id for [run] in answers] == [runs[3]]

    kit.eventually(lambda: (now := client.health()).indexed == now.index_total == total, what="a whole index")
    whole = {run.run_id: run for run in client.list()}
    assert sorted(whole) == [*runs, queued]
    assert {run.last_seq for run in whole.values()} == {4}
    assert whole[runs[2]].label == "named"


def test_the_command_line_says_how_far_the_index_is():
    from mosaic.cli.terminal import readable
    from mosaic.gui.models.wording import indexing_of
    from mosaic.rpc.trainer_pb2 import Health

    health = Health(indexed=3200, index_total=10_000)
    assert readable.indexing(health) == indexing_of(health) == "indexing: 3,200 of 10,000 runs"
    whole = Health(indexed=10_000, index_total=10_000)
    assert readable.indexing(whole) == indexing_of(whole) == indexing_of(None) == ""


def test_what_a_killed_daemon_had_only_listed_is_read_by_the_next_one(tmp_path):
    home = Home(tmp_path)
    home.create()
    runs = [make_run(home, number) for number in range(3)]
    first = supervisor_of(home)
    first.indexing.scan()
    first.indexing._list_all()
    assert first.indexing.missing == (0, 3)
    assert {first.store.get(run.run_id).last_seq for run in runs} == {0}
    first.store.close()
    second = supervisor_of(home)
    assert second.indexing.missing == (0, 3)
    second.indexing.catch_up()
    assert second.indexing.missing == (0, 0)
    assert {second.store.get(run.run_id).last_seq for run in runs} == {4}
    second.store.close()


def test_a_run_whose_events_changed_is_shown_though_the_disk_is_full(tmp_path):
    with small_disk(tmp_path / "disk", size_mb=8) as disk:
        home = Home(disk)
        home.create()
        run = make_run(home, 0)
        supervisor = supervisor_of(home)
        supervisor.indexing.scan()
        supervisor.indexing.catch_up()
        run.events.write_text("".join(list(events())[:2]))
        ballast = fill(disk)
        assert supervisor.get(run.run_id).state == "finished"
        ballast.unlink()
        assert supervisor.get(run.run_id).last_seq == 2
        supervisor.store.close()


def test_a_long_run_is_read_once_and_its_metrics_are_kept(tmp_path, monkeypatch):
    home = Home(tmp_path)
    home.create()
    run_dir = make_run(home, 0)
    run_dir.events.write_text("".join(events(episodes=500)))
    monkeypatch.setattr(index_builder, "LONG_BYTES", 1000)
    supervisor = supervisor_of(home)
    supervisor.indexing.scan()
    supervisor.indexing.catch_up()
    record = supervisor.store.get(run_dir.run_id)
    assert record.last_seq == 502
    supervisor.store.close()
    monkeypatch.setattr(LineReader, "new_lines", lambda *_: pytest.fail("nothing is new"))
    again = RunIngest(home, run_dir)
    assert again.progress.last_seq == 502
    assert again.metrics.read("charts/episodic_return")[1] == 500


def test_a_line_that_is_too_long_for_memory_is_stepped_over(tmp_path):
    path = tmp_path / "events.jsonl"
    reader = LineReader(path)
    with path.open("wb") as file:
        file.write(b"first\n" + b"x" * (3 * LONGEST) + b"\nlast\n")
    lines = list(chain.from_iterable(iter(lambda: reader.new_lines(1000), [])))
    assert (lines[0], lines[-1]) == (b"first", b"last")
    assert LONGEST <= len(lines[1]) <= LONGEST + 1000


def test_rows_are_taken_back_without_reading_their_column(tmp_path):
    metrics = RunMetrics(tmp_path / "metrics" / "run")
    (tmp_path / "metrics").mkdir()
    for step in (1, 2, 2, 5, 9):
        metrics.append("x", step, step / 2, 0.0)
    metrics.flush()
    metrics.rewind(2)
    assert metrics.read("x")[0][:, 0].tolist() == [1, 2, 2]
    metrics.rewind(0)
    assert metrics.read("x")[1] == 0
