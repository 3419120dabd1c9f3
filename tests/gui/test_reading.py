"""Run directories are read bit by bit, whatever happens to them meanwhile."""

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import fmean

import pytest

from mosaic.gui.models import glance as glances
from mosaic.gui.models.batch import Opened
from mosaic.gui.models.curves import Curves
from mosaic.gui.models.glance import Glance
from mosaic.gui.models.opened import OpenedRun
from mosaic.gui.models.source import RunFolders
from mosaic.spec import run_record
from mosaic.spec.events import RunCompleted, RunFailed
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_record import Placed
from mosaic.spec.states import RunState

from .conftest import STARTED, HandWritten, learning

MakeRun = Callable[[], HandWritten]


def read_all(run: OpenedRun) -> list[Opened]:
    return [read for _ in range(50) if (read := run.read()) is not None]


def test_a_glance_at_a_real_run_tells_what_it_is_and_how_it_ended(trained: RunDir) -> None:
    record = Glance(trained).refresh()
    assert record is not None
    assert (record.algo, record.env_id, record.state, record.kind) == ("ppo", "CartPole-v1", RunState.FINISHED, "train")
    assert record.global_step == 19_968
    assert record.total_timesteps == 20_000
    assert record.last_return is not None
    assert record.last_return > 20
    assert len(record.sparkline) > 10


def test_a_glance_reads_on_and_says_nothing_when_nothing_changed(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([10]))
    glance = Glance(run.run_dir)
    first = glance.refresh()
    assert first is not None
    assert first.state is RunState.LOST  # nobody runs it
    run.write(*learning([20]), RunCompleted(global_step=1000))
    second = glance.refresh()
    assert second is not None
    assert (second.state, second.global_step, second.last_return) == (RunState.FINISHED, 1000, 15.0)
    assert glance.refresh() is None


def test_a_glance_at_a_long_spool_agrees_with_reading_all_of_it(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning(range(1, 3001)), RunCompleted(global_step=3000))
    assert run.run_dir.events.stat().st_size > 4 * glances.WHOLE_BYTES
    began = time.process_time()
    record = Glance(run.run_dir).refresh()
    assert time.process_time() - began < 0.1
    assert record is not None
    assert record.last_return == fmean(range(2901, 3001))
    assert (record.global_step, record.total_timesteps, record.state) == (3000, 1000, RunState.FINISHED)
    assert list(record.sparkline) == sorted(record.sparkline)
    assert record.sparkline[0] < 200


def test_a_failure_is_the_reason_of_its_record(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, RunFailed(global_step=5, error="TrainingFailed", message="the loss became nan"))
    record = Glance(run.run_dir).refresh()
    assert record is not None
    assert (record.state, record.reason) == (RunState.FAILED, "the loss became nan")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (Placed(run_id="", state=RunState.QUEUED), RunState.QUEUED),
        (Placed(run_id="", state=RunState.CANCELLED, attempt=1), RunState.CANCELLED),
        (Placed(run_id="", state=RunState.RUNNING, attempt=1), RunState.FINISHED),  # the daemon died before the run
        (Placed(run_id="", state=RunState.STARTING, attempt=2), RunState.STARTING),  # resumed
    ],
)
def test_the_daemons_word_holds_unless_it_speaks_of_a_worker_that_ended(
    make_run: MakeRun, written: Placed, expected: RunState
) -> None:
    run = make_run()
    run.write_finished()
    run_record.write(run.run_dir, replace(written, run_id=run.run_dir.run_id))
    record = Glance(run.run_dir).refresh()
    assert record is not None
    assert record.state is expected


def test_an_opened_run_hands_out_every_point_once(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning(range(1, 2001)))
    opened, curves = OpenedRun(run.run_dir), Curves()
    for news in read_all(opened):
        curves.take(news)
    run.write(*learning([2001]))
    for news in read_all(opened):
        curves.take(news)
    series = curves.get(run.run_dir.run_id, "charts/episodic_return")
    assert series is not None
    assert series.steps.tolist() == series.values.tolist() == list(range(1, 2002))
    assert curves.tags() == ["charts/episodic_return", "losses/value_loss", "charts/episodic_length"]


def test_a_torn_line_is_left_until_it_is_whole(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED)
    whole = run.run_dir.events.read_bytes()
    run.run_dir.events.write_bytes(whole[:-20])
    opened = OpenedRun(run.run_dir)
    assert not any(line.source == "events" for news in read_all(opened) for line in news.lines)
    run.run_dir.events.write_bytes(whole)
    assert [line.level for news in read_all(opened) for line in news.lines] == ["INFO"]
    assert not opened.problems


def test_a_line_that_is_no_event_is_told_and_passed_over(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([1]))
    run.write_raw(b'{"v": 1, "seq": 4, "nonsense\n\xff\xfe\n')
    run.seq += 2
    run.write(*learning([2]))
    opened, curves = OpenedRun(run.run_dir), Curves()
    news = read_all(opened)
    for each in news:
        curves.take(each)
    series = curves.get(run.run_dir.run_id, "charts/episodic_return")
    assert series is not None
    assert series.steps.tolist() == [1, 2]
    assert len(opened.problems) == 2
    assert sum(line.level == "WARN" for each in news for line in each.lines) == 2


def test_a_missing_event_is_told(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED)
    run.seq += 1
    run.write(*learning([1]))
    opened = OpenedRun(run.run_dir)
    read_all(opened)
    assert opened.problems == ["event 2 is missing: the next one has seq 3"]


def test_a_resumed_run_drops_what_came_after_its_checkpoint(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([1, 2, 3, 4]))
    resumed = STARTED.__class__(**(vars(STARTED) | {"attempt": 2, "resumed_from_step": 2}))
    run.write(resumed, *learning([3, 5]))
    opened, curves = OpenedRun(run.run_dir), Curves()
    for news in read_all(opened):
        curves.take(news)
    series = curves.get(run.run_dir.run_id, "charts/episodic_return")
    assert series is not None
    assert series.steps.tolist() == [1, 2, 3, 5]


def test_a_spool_that_was_replaced_starts_anew(make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([1, 2, 3]))
    opened, curves = OpenedRun(run.run_dir), Curves()
    for news in read_all(opened):
        curves.take(news)
    run.run_dir.events.unlink()
    run.seq = 0
    run.write(STARTED, *learning([7]))
    for news in read_all(opened):
        curves.take(news)
    series = curves.get(run.run_dir.run_id, "charts/episodic_return")
    assert series is not None
    assert series.steps.tolist() == [7]


def test_output_loses_its_colours_and_keeps_its_level(make_run: MakeRun) -> None:
    run = make_run()
    run.run_dir.stderr.write_bytes(b"\x1b[31merror: no such thing\x1b[0m\n 10%\r 20%\n2026 [warning  ] odd\n")
    lines = [line for news in read_all(OpenedRun(run.run_dir)) for line in news.lines]
    assert [(line.level, line.text) for line in lines] == [
        ("ERR", "error: no such thing"),
        ("", " 20%"),
        ("WARN", "2026 [warning  ] odd"),
    ]


def test_folders_tell_of_runs_that_come_and_go(home: Home, make_run: MakeRun) -> None:
    source = RunFolders(home)
    assert source.poll().records == ()
    run = make_run()
    run.write_finished()
    (home.runs / "not-a-run").mkdir()
    assert [record.run_id for record in source.poll().records] == [run.run_dir.run_id]
    source.open((run.run_dir.run_id,))
    assert [news.run_id for news in source.poll().opened] == [run.run_dir.run_id]
    shutil.rmtree(run.run_dir.root)
    assert source.poll().removed == (run.run_dir.run_id,)
    assert source.poll().opened == ()


@pytest.mark.parametrize("missing", ["events", "manifest"])
def test_a_folder_without_its_files_is_listed_all_the_same(home: Home, make_run: MakeRun, missing: str) -> None:
    run = make_run()
    run.write_finished()
    getattr(run.run_dir, missing).unlink()
    batch = RunFolders(home).poll()
    assert [record.run_id for record in batch.records] == [run.run_dir.run_id]
    assert batch.notices == ()


def test_a_broken_manifest_is_a_notice(home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write_finished()
    run.run_dir.manifest.write_text("{")
    batch = RunFolders(home).poll()
    assert [record.state for record in batch.records] == [RunState.FINISHED]
    assert "not JSON" in batch.notices[0].message


def test_no_home_is_an_empty_home(home: Home) -> None:
    shutil.rmtree(home.root)
    batch = RunFolders(home).poll()
    assert (batch.records, batch.notices) == ((), ())
    assert batch.machine is not None
