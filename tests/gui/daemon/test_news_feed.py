"""What the window hears from real daemons, whatever happens to them meanwhile."""

import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from PySide6.QtWidgets import QApplication

from mosaic.gui.models.daemon.curves_listener import PIECE_ROWS
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.log_request import LogPage
from mosaic.gui.models.daemon.news import Batch, Notice
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.runs.log_model import PAGE
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client
from mosaic.spec.events import CheckpointSaved, RunCompleted, Scalars
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

from ..conftest import STARTED, Daemon, MakeRun, learning
from ..event_loop import run_until

RETURN = "charts/episodic_return"
START = Callable[..., Daemon]


class Listening:
    """A studio without a window, and the event loop around it."""

    def __init__(self, link: DaemonLink) -> None:
        self.link, self.feed = link, NewsFeed(link)
        self.studio = Studio(link.home, self.feed, link)
        self.notices: list[Notice] = []
        self.studio.noticed.connect(self.notices.append)
        self.batches: list[Batch] = []
        self.feed.arrived.connect(self.batches.append)
        self.feed.start()
        link.start()

    def until(self, holds: Callable[[], object], what: str = "", timeout_s: float = 120.0) -> None:
        run_until(holds, what, timeout_s)

    def open(self, run_id: str) -> None:
        self.until(lambda: self.studio.runs.get(run_id), f"run {run_id}")
        self.studio.select([run_id])

    def returns(self) -> list[float]:
        series = self.studio.curves.get(self.studio.current, RETURN)
        return [] if series is None else series.values.tolist()

    def log(self, source: str) -> list[str]:
        log = self.studio.log
        lines = [log.line(row) for row in range(log.rowCount())]
        return [line.text for line in lines if line.source == source]

    def close(self) -> None:
        self.feed.stop()
        self.link.stop()


@pytest.fixture
def listen(application: QApplication) -> Iterator[Callable[[DaemonLink | Home], Listening]]:
    made: list[Listening] = []

    def begin(to: DaemonLink | Home) -> Listening:
        made.append(Listening(to if isinstance(to, DaemonLink) else DaemonLink(to)))
        return made[-1]

    yield begin
    for each in made:
        each.close()


Listen = Callable[[DaemonLink | Home], Listening]


def is_whole(heard: Listening, client: Client, run_id: str) -> bool:
    """Every point of every tag is there, and none twice."""
    told = client.metrics(run_id)
    for tag, series in told.items():
        found = heard.studio.curves.get(run_id, tag)
        if found is None or found.steps.tolist() != series.steps or found.values.tolist() != series.values:
            return False
    return set(told) == set(heard.studio.curves.tags())


def test_a_real_run_is_heard_whole(listen: Listen, daemon_home: Home, client: Client, trained: RunRecord) -> None:
    heard = listen(daemon_home)
    heard.open(trained.run_id)
    heard.until(lambda: is_whole(heard, client, trained.run_id), "the curves")
    heard.until(lambda: any("finished" in line for line in heard.log("events")), "its end")
    printed = b"".join(client.logs(trained.run_id)).decode().splitlines()
    heard.until(lambda: len(heard.log("stdout")) == len(printed), "its output")
    heard.until(lambda: heard.studio.detail() is not None, "what it left behind")
    detail = heard.studio.detail()
    assert detail is not None
    assert detail.config["environment"] == {"env_id": "CartPole-v1", "settings": {}}
    assert {"policy", "checkpoint"} <= {artifact.kind for artifact in detail.artifacts}
    # That it finished is told to a window that opens in that very moment.
    assert not [notice for notice in heard.notices if notice.kind != "info"]


def test_a_run_that_learns_is_followed(listen: Listen, home: Home, make_run: MakeRun, start_daemon: START) -> None:
    run = make_run().live()
    run.write(STARTED, *learning(range(1, 11)))
    run.publish()
    start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: heard.returns() == list(range(1, 11)))
    run.run_dir.stdout.write_text("one\ntwo\nthr")
    run.write(*learning(range(11, 21)), CheckpointSaved(global_step=20, path="checkpoints/step-20", reason="interval"))
    heard.until(lambda: heard.returns() == list(range(1, 21)))
    heard.until(lambda: heard.log("stdout") == ["one", "two"], "whole lines")
    heard.until(lambda: any("checkpoint saved" in line for line in heard.log("events")))
    run.write(RunCompleted(global_step=20))
    run.die()
    heard.until(lambda: heard.log("stdout") == ["one", "two", "thr"], "the last words")
    heard.until(lambda: getattr(heard.studio.record(), "state", None) == "finished", "its end")


def test_a_resumed_run_drops_what_came_after_its_checkpoint(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run().live()
    run.write(STARTED, *learning([1, 2, 3, 4]))
    run.publish()
    start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: heard.returns() == [1, 2, 3, 4])
    resumed = STARTED.__class__(**(vars(STARTED) | {"attempt": 2, "resumed_from_step": 2}))
    run.write(resumed, *learning([3, 5]))
    heard.until(lambda: heard.returns() == [1, 2, 3, 5])


def test_a_daemon_that_is_killed_and_comes_back_costs_nothing(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run, other = make_run().live(), make_run(label="other")
    run.write(STARTED, *learning(range(1, 501)))
    run.run_dir.stdout.write_text("".join(f"line {number}\n" for number in range(300)))
    other.write_finished()
    run.publish()
    other.publish()
    daemon = start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: len(heard.returns()) == 500 and len(heard.log("stdout")) == 300)
    daemon.kill()
    run.write(*learning(range(501, 601)), CheckpointSaved(global_step=600, path="c", reason="interval"))
    with run.run_dir.stdout.open("a") as file:
        file.write("after the loss\n")
    heard.until(lambda: heard.link.state == "lost")
    assert (heard.studio.runs.rowCount(), len(heard.returns())) == (2, 500)
    daemon.start()
    heard.until(lambda: heard.link.state == "connected")
    heard.until(lambda: heard.returns() == list(range(1, 601)), "the curve, once")
    heard.until(lambda: "after the loss" in heard.log("stdout"), "the output")
    assert heard.log("stdout") == [*(f"line {number}" for number in range(300)), "after the loss"]
    heard.until(lambda: len(heard.log("events")) == 2, "its events, once")
    assert not heard.notices


def test_a_lost_index_neither_doubles_nor_keeps_what_is_gone(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    runs = [make_run() for _ in range(3)]
    for run in runs:
        run.write_finished()
        run.publish()
    daemon = start_daemon(home)
    heard = listen(home)
    heard.open(runs[1].run_id)
    heard.until(lambda: heard.studio.runs.rowCount() == 3 and heard.returns() == [1, 2, 3])
    daemon.kill()
    for file in home.trainer.glob("index.sqlite*"):
        file.unlink()
    shutil.rmtree(runs[0].run_dir.root)
    daemon.start()
    heard.until(lambda: heard.studio.runs.rowCount() == 2, "the gone one to leave")
    assert heard.returns() == [1, 2, 3]
    assert ["gone" in notice.message for notice in heard.notices] == [True]


def test_a_folder_that_a_person_removes_leaves_the_list(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    doomed, other = make_run(), make_run()
    for run in (doomed, other):
        run.write_finished()
        run.publish()
    start_daemon(home)
    heard = listen(home)
    heard.open(doomed.run_id)
    heard.until(lambda: heard.returns() == [1, 2, 3])
    shutil.rmtree(doomed.run_dir.root)
    heard.until(lambda: heard.studio.runs.rowCount() == 1)
    assert not heard.studio.selected
    assert "is gone" in heard.notices[0].message


def test_a_line_that_is_no_event_is_told_once_and_stops_nothing(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run().live()
    run.write(STARTED, *learning([1, 2]))
    run.write_raw(b'{this is not an event}\n{"v":1,"seq":7,"time":1.0,"kind":"run.comple\n\xff\xfe\n')
    run.seq += 3
    run.write(*learning([3]), CheckpointSaved(global_step=3, path="c", reason="interval"))
    run.publish()
    daemon = start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: heard.returns() == [1, 2, 3])
    heard.until(lambda: len(heard.notices) == 3, "a warning for each")
    heard.until(lambda: len(heard.log("events")) == 5, "all events")
    daemon.kill()
    daemon.start()
    run.write(RunCompleted(global_step=3))
    heard.until(lambda: any("finished" in line for line in heard.log("events")))
    assert len(heard.log("events")) == 6
    summary, *lines = heard.studio.runs.notices(run.run_id)
    assert summary == "3 damaged lines in events.jsonl, the first is line 6; the others count"
    assert len(lines) == 3
    assert all("events.jsonl" in notice.message for notice in heard.notices)


def test_a_hung_daemon_does_not_hold_up_the_end(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run().live()
    run.write(STARTED, *learning(range(1, 11)))
    run.publish()
    daemon = start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: heard.returns() == list(range(1, 11)))
    assert daemon.process is not None
    daemon.process.send_signal(signal.SIGSTOP)
    heard.until(lambda: heard.link.state == "lost", "the silence to be noticed")
    heard.close()
    assert psutil.Process(daemon.process.pid).status() == psutil.STATUS_STOPPED, "nothing was waited for"
    daemon.process.send_signal(signal.SIGCONT)


def test_over_tcp_with_a_token_no_file_is_shared(
    listen: Listen, tmp_path: Path, home: Home, make_run: MakeRun, start_daemon: START, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run.write_finished()
    run.run_dir.config.write_text('{"run_name": "far away"}')
    run.run_dir.stdout.write_text("hello\n")
    run.publish()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    start_daemon(home, "--listen", address)
    shutil.copy2(home.token, tmp_path / "token")
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(tmp_path / "token"))
    elsewhere = Home(tmp_path / "elsewhere")
    heard = listen(DaemonLink(elsewhere, target=address))
    heard.open(run.run_id)
    heard.until(lambda: heard.returns() == [1, 2, 3])
    heard.until(lambda: heard.log("stdout") == ["hello"])
    heard.until(lambda: heard.studio.detail() is not None)
    detail = heard.studio.detail()
    assert detail is not None
    assert detail.config == {"run_name": "far away"}
    assert heard.link.health is not None
    assert heard.link.health.memory_total_bytes > 2**28
    assert not elsewhere.root.exists()


def test_200_000_points_of_500_tags_come_in_bounded_pieces_and_each_once(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run()
    values = {f"custom/tag_{number:03}": 1.0 for number in range(500)}
    run.write(STARTED, *(Scalars(global_step=step, values=values) for step in range(400)))
    run.write(RunCompleted(global_step=400))
    run.publish()
    start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    heard.until(lambda: len(heard.studio.curves.tags()) == 500)
    curves = heard.studio.curves
    heard.until(lambda: sum(len(curves.get(run.run_id, tag) or ()) for tag in values) == 200_000, "all points")
    pieces = [sum(len(of.steps) for of in news.points.values()) for batch in heard.batches for news in batch.points]
    assert sum(pieces) == 200_000
    assert max(pieces) <= PIECE_ROWS


def test_a_log_of_150_000_lines_comes_as_one_page_of_its_end(
    listen: Listen, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run()
    run.write_finished()
    run.run_dir.stdout.write_text("".join(f"global_step={number}, episodic_return=9.0\n" for number in range(150_000)))
    run.publish()
    start_daemon(home)
    heard = listen(home)
    heard.open(run.run_id)
    log = heard.studio.log
    heard.until(lambda: log.count is not None and log.count.whole, "the count")
    assert log.count is not None
    assert log.count.lines == 150_002
    heard.until(lambda: len(heard.log("events")) == 2, "its events")
    assert log.rowCount() == PAGE
    pages = [answer for batch in heard.batches for answer in batch.log if isinstance(answer, LogPage)]
    assert sum(len(page.lines) for page in pages) == PAGE
