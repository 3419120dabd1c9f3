"""The daemon answers before it loads what the answer does not need, and before it checks a large index."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from mosaic import config
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.trainer import quick_flags
from mosaic.trainer.index import index_store
from mosaic.trainer.index.index_store import DoesNotFit, open_store
from mosaic.trainer.program import DaemonFlags
from mosaic.trainer.runs.run_lifecycle import Patience
from mosaic.trainer.runs.schedule import Slots
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal

SLOW_TO_IMPORT = ("torch", "gymnasium", "numpy", "PIL", "rich", "tyro", "pynvml", "http.client", "structlog", "ulid")
TELLING = """
import gc, sys
from mosaic.trainer.__main__ import main
from mosaic.trainer.machine.health import Health
look = Health.look
def look_and_tell(self):
    answer = look(self)
    print(gc.isenabled(), *sys.modules, flush=True)
    return answer
Health.look = look_and_tell
sys.exit(main())
"""


def test_the_first_answer_needs_nothing_that_is_slow_to_import(tmp_path, catalogue_file, kit):
    home = Home(tmp_path)
    home.create()
    shutil.copy2(catalogue_file, home.trainer / "catalog.json")
    command = [sys.executable, "-c", TELLING, "--no-warm", "--cpus", "1"]
    environment = {**os.environ, "MOSAIC_HOME": str(home.root)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            kit.eventually(lambda: running_address(home), what="a daemon")
            with Client(home=home, start=False) as client:
                client.health()
            collects, *modules = process.stdout.readline().split()
        finally:
            process.terminate()
    assert collects == "True"  # only what is there at the start is left out
    assert set(SLOW_TO_IMPORT).isdisjoint(modules)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "--no-warm",
        "--warm --cpus 3 --stop-s 2.5 --pause-s=0",
        "--listen 127.0.0.1:0 --certificate a.pem --key=b.pem --log-file /tmp/x",
    ],
)
def test_plain_flags_mean_the_same_without_their_parser(words):
    assert quick_flags.parsed(DaemonFlags, words.split()) == config.from_flags(DaemonFlags, words.split(), prog="x")


@pytest.mark.parametrize(
    "words",
    [
        *("--help", "-h", "--cups 3", "--cpus", "--cpus 0", "--cpus x", "--stop-s nan", "--stop-s inf", "--stop-s -1"),
        *("--listen None", "--warm=true", "--no-cpus", "word", "--cpus --warm"),
    ],
)
def test_whatever_is_not_plain_is_left_to_the_parser_that_explains_it(words):
    assert quick_flags.parsed(DaemonFlags, words.split()) is None


class NoWorkers:
    """An engine under which no process ever lived."""

    def is_alive(self, run_dir, pid) -> bool:
        return False


def record(home, number):
    run_dir = home.run(f"01K9CG05J5Y0FFQMT1T920EZ{number:02d}")
    run_dir.create()
    made = RunRecord(run_id=run_dir.run_id, state=RunState.FINISHED, env_id="CartPole-v1", run_dir=str(run_dir.root))
    run_dir.record.write_text(json.dumps(vars(made.placed)))
    return made


@pytest.fixture
def unchecked(tmp_path, monkeypatch):
    """`open()`: the index of a home with five runs, too large to be checked before it is used."""
    home = Home(tmp_path)
    home.create()
    filled, _ = open_store(home.index)
    filled.put([record(home, number) for number in range(10, 15)])
    filled.close()
    monkeypatch.setattr(index_store, "CHECKED_AT_ONCE_BYTES", 0)
    opened = []

    def open_it(*, damaged):
        if damaged:
            home.index.write_bytes(home.index.read_bytes().replace(b"CartPole", b"CartPale", 1))
        found, fresh = open_store(home.index)
        opened.append(found)
        assert not fresh
        assert not found.is_checked
        return home, found

    yield open_it
    for one in opened:
        one.close()


def test_a_whole_index_is_used_as_it_is(unchecked):
    _, found = unchecked(damaged=False)
    found.begun_anew = lambda: pytest.fail("nothing is wrong with it")
    assert len(found.all_ids()) == len(found.page(states=[], text="", size=9, after="").runs) == 5
    found.check()
    assert found.is_checked


def test_a_damaged_row_is_found_by_the_check(unchecked):
    home, found = unchecked(damaged=True)
    calls = []
    found.begun_anew = lambda: calls.append(1)
    assert found.counts() == {"finished": 5}  # its state is right
    found.check()
    assert (calls, found.is_checked, found.counts()) == ([1], True, {})
    assert home.index.with_name("index.sqlite.corrupt").exists()


def test_a_damaged_row_is_never_told(unchecked):
    home, found = unchecked(damaged=True)
    held = found.hold(record(home, 20))
    asked = found.page(states=[], text="", size=9, after="")
    assert [run.env_id for run in asked.runs] == ["CartPole-v1"]
    # What was in memory only is there still, and can be written.
    assert found.held() == [found.get(held.run_id)] == [held]
    found.put([held])
    assert found.held() == []
    assert found.counts() == {"finished": 1}


def test_an_index_that_cannot_be_made_anew_on_disk_is_kept_in_memory(unchecked, monkeypatch):
    home, found = unchecked(damaged=True)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(index_store, "_set_aside", refuse)
    found.check()
    assert found.counts() == {}
    found.put([record(home, 21)])
    assert found.counts() == {"finished": 1}


def test_the_list_is_whole_again_after_the_first_answer(unchecked, kit):
    home, found = unchecked(damaged=True)
    supervisor = Supervisor(home, found, lambda _: NoWorkers(), Slots(1), ChangeSignal(), Patience())
    supervisor.indexing.start(wait_s=60)
    assert not supervisor.indexing.is_listed  # so no queued run is started, and a submit waits
    supervisor.indexing.answered()
    kit.eventually(lambda: supervisor.indexing.is_listed, what="a whole list")
    listed = found.page(states=[], text="", size=9, after="").runs
    assert [(run.state, run.env_id) for run in listed] == [("finished", "CartPole-v1")] * 5
    supervisor.indexing.close()


def test_numbers_of_runs_are_counted_without_reading_their_records(unchecked):
    _, found = unchecked(damaged=False)
    asked = []
    found._connection.set_trace_callback(asked.append)
    found.counts()
    found.all_ids()
    found._connection.set_trace_callback(None)
    plans = [found._connection.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall() for sql in asked]
    assert len(plans) == 2
    assert all("USING COVERING INDEX runs_by_state" in steps[0][-1] for steps in plans)


def test_an_error_of_the_disk_is_no_damage(unchecked, monkeypatch):
    import sqlite3

    _, found = unchecked(damaged=False)
    found.begun_anew = lambda: pytest.fail("nothing is wrong with it")

    def refuse(_):
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorname = "SQLITE_IOERR_READ"
        raise error

    monkeypatch.setattr(index_store, "_check_pages", refuse)
    with pytest.raises(sqlite3.OperationalError):
        found.check()
    assert not found.is_checked
    assert issubclass(DoesNotFit, sqlite3.DatabaseError)
