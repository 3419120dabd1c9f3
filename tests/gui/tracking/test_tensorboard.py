"""The TensorBoard tab with a real TensorBoard on a really trained run."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject, QUrl, Slot
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication

from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch, Notice
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.tracking.tensorboard_process import TensorBoardProcess
from mosaic.gui.models.wording import name_of
from mosaic.gui.tabs.tensorboard import TensorBoardTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.tracking import web_view
from mosaic.installation import install_line
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState
from mosaic.track.tensorboard_links import BoardRun, count_written, lay, links_of, make_folder

from ..conftest import Show
from ..event_loop import run_until

pytestmark = pytest.mark.usefixtures("application")
NO_WEB = not web_view.is_installed()


class Fed:
    """The real tab on a studio that is fed by hand."""

    def __init__(self, application: QApplication, home: Home, target: str | None = None) -> None:
        self.theme = Theme(application)
        link = DaemonLink(home, target=target)
        self.studio = Studio(home, NewsFeed(link), link)
        self.tab = TensorBoardTab(self.studio, self.theme)
        self.tab.resize(1000, 600)

    def take(self, *records: RunRecord) -> None:
        self.studio.take(Batch(records=records))
        self.studio.select([record.run_id for record in records])

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        run_until(holds, lambda: f"{what or holds}: {self.tab.board.output}")


@pytest.fixture
def make_tab(application: QApplication, tmp_path: Path) -> Iterator[Callable[..., Fed]]:
    made: list[Fed] = []

    def make(target: str | None = None) -> Fed:
        made.append(Fed(application, Home(tmp_path), target))
        return made[-1]

    yield make
    for fed in made:
        fed.tab.close()
        fed.tab.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=300) as answer:
        return json.load(answer)


def family(pid: int) -> list[psutil.Process]:
    found = psutil.Process(pid)
    return [found, *found.children(recursive=True)]


def are_gone(processes: list[psutil.Process]) -> bool:
    return not psutil.wait_procs(processes, timeout=300)[1]


def a_copy(record: RunRecord, folder: Path, label: str) -> RunRecord:
    """The same event files under another name."""
    run_id = new_run_id()
    (folder / run_id).mkdir()
    (folder / run_id / "tensorboard").symlink_to(Path(record.run_dir) / "tensorboard")
    return RunRecord(run_id=run_id, label=label, run_dir=str(folder / run_id), state=RunState.FINISHED)


def test_links_follow_the_selection_and_tell_equal_names_apart(tmp_path: Path) -> None:
    folder = tmp_path / "links"
    folder.mkdir()
    one, two = new_run_id(), new_run_id()
    links = links_of([BoardRun("a/b: c", str(tmp_path / run_id)) for run_id in (one, two)])
    assert list(links) == ["a-b- c", f"a-b- c {two[-6:]}"]
    assert (lay(folder, links), lay(folder, links), count_written(links)) == (True, False, 0)
    (tmp_path / two / "tensorboard").mkdir(parents=True)
    (tmp_path / two / "tensorboard" / "events.out.tfevents.1").touch()
    other = {"other": links[f"a-b- c {two[-6:]}"]}
    assert (lay(folder, other), count_written(other)) == (True, 1)
    assert [link.name for link in folder.iterdir()] == ["other"]


def test_folders_of_killed_windows_are_removed() -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    first = make_folder()
    left = first.with_name(f"{dead.pid}-left")
    left.mkdir()
    second = make_folder()
    assert (left.exists(), first.exists(), second.exists()) == (False, True, True)
    first.rmdir()
    second.rmdir()


class Browser(QObject):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[str] = []

    @Slot(QUrl)
    def open(self, url: QUrl) -> None:
        self.opened.append(url.toString())


def test_a_real_board_shows_the_selection_follows_it_and_ends_with_the_tab(
    make_tab: Callable[..., Fed], trained: RunRecord, tmp_path: Path
) -> None:
    fed = make_tab()
    fed.take(trained)
    assert fed.tab.board.state == "idle"
    fed.tab.show()
    fed.until(lambda: fed.tab.board.url, "TensorBoard")
    board = fed.tab.board
    assert board.url.startswith("http://127.0.0.1:")
    fed.until(lambda: asked(f"{board.url}data/runs") == [name_of(trained)], "the run")
    tags = asked(f"{board.url}data/plugin/scalars/tags")
    assert {"charts/episodic_return", "losses/value_loss"} <= set(tags[name_of(trained)])
    pid, processes = board.pid, family(board.pid)
    fed.take(a_copy(trained, tmp_path, "one"), a_copy(trained, tmp_path, "two"))
    fed.until(lambda: sorted(asked(f"{board.url}data/runs")) == ["one", "two"], "the other runs")
    assert board.pid == pid
    if NO_WEB:
        assert install_line("web") in fed.tab.page.text.text()
        browser = Browser()
        QDesktopServices.setUrlHandler("http", browser, "open")
        fed.tab.page.open.click()
        fed.tab.open.click()
        QDesktopServices.unsetUrlHandler("http")
        assert browser.opened == [f"{board.url}?darkMode=true#timeseries"] * 2
    else:
        assert fed.tab.web is not None
        assert fed.tab.web.widget.isVisible()
    fed.tab.close()
    assert are_gone(processes)


def test_a_board_that_dies_is_told_with_its_output_and_retried(
    make_tab: Callable[..., Fed], trained: RunRecord
) -> None:
    fed = make_tab()
    fed.take(trained)
    fed.tab.show()
    fed.until(lambda: fed.tab.board.pid)
    os.kill(fed.tab.board.pid, signal.SIGKILL)
    fed.until(lambda: fed.tab.board.state == "failed")
    assert "signal 9" in fed.tab.page.text.text()
    assert fed.tab.page.retry.isVisible()
    fed.tab.page.retry.click()
    fed.until(lambda: fed.tab.board.url, "TensorBoard again")


@pytest.mark.parametrize(
    ("program", "problem", "output"),
    [
        (("/bin/sh", "-c", "echo broken; exit 3"), "exit code 3", "broken"),
        (("/no/such/python",), "could not be started", ""),
        (("/bin/sh", "-c", "echo \"No module named 'tensorboard'\"; exit 1"), " install tensorboard", "No module"),
    ],
)
def test_what_keeps_a_board_from_starting_is_told(program: tuple[str, ...], problem: str, output: str) -> None:
    board = TensorBoardProcess(program=program)
    board.show_runs([BoardRun("a", f"/nowhere/{new_run_id()}")])
    run_until(lambda: board.state == "failed")
    assert problem in board.problem
    assert output in board.output
    board.stop()


WINDOW = """
import sys
from PySide6.QtCore import QCoreApplication
from mosaic.gui.models.tracking.tensorboard_process import TensorBoardProcess
from mosaic.track.tensorboard_links import BoardRun
application = QCoreApplication([])
board = TensorBoardProcess()
board.changed.connect(lambda: board.url and print(board.pid, flush=True))
board.show_runs([BoardRun("run", sys.argv[1])])
application.exec()
"""


def test_no_process_is_left_when_the_window_is_killed(trained: RunRecord) -> None:
    window = subprocess.Popen([sys.executable, "-c", WINDOW, trained.run_dir], stdout=subprocess.PIPE, text=True)
    try:
        assert window.stdout is not None
        processes = family(int(window.stdout.readline()))
        assert len(processes) >= 1
    finally:
        window.kill()
        window.wait()
        if window.stdout:
            window.stdout.close()
    assert are_gone(processes)


def test_nothing_is_started_before_the_tab_is_seen(show: Show, trained: RunRecord) -> None:
    shown = show()
    tab = shown.window.tabs["TensorBoard"]
    assert isinstance(tab, TensorBoardTab)
    shown.until(lambda: shown.studio.runs.get(trained.run_id), "the run")
    shown.studio.select([trained.run_id])
    end = time.monotonic() + 1
    shown.until(lambda: time.monotonic() > end)
    assert (tab.board.state, tab.board.pid) == ("idle", 0)
    shown.window.bring_up("TensorBoard")
    shown.until(lambda: tab.board.state == "starting")
    processes = family(tab.board.pid)
    tab.destroyed.emit()
    assert are_gone(processes)


@pytest.mark.skipif(not NO_WEB, reason="with the extra web it is a tab")
def test_without_the_extra_there_is_no_empty_tab_but_a_browser_and_a_line_that_says_so(
    show: Show, trained: RunRecord
) -> None:
    shown = show()
    assert "TensorBoard" not in shown.window.bench.docks
    tab = shown.window.tabs["TensorBoard"]
    assert isinstance(tab, TensorBoardTab)
    said: list[Notice] = []
    shown.studio.noticed.connect(said.append)
    shown.until(lambda: shown.studio.runs.get(trained.run_id), "the run")
    shown.studio.select([])
    [command] = [each for each in shown.window.menus.commands() if each.title == "TensorBoard"]
    command.do()
    assert said[-1].message == "TensorBoard: select one or more runs first"
    assert tab.board.state == "idle"
    shown.studio.select([trained.run_id])
    browser = Browser()
    QDesktopServices.setUrlHandler("http", browser, "open")
    command.do()
    shown.until(lambda: browser.opened, "the browser")
    QDesktopServices.unsetUrlHandler("http")
    assert browser.opened == [f"{tab.board.url}?darkMode={str(shown.window.theme.scheme == 'dark').lower()}#timeseries"]
    line = f"TensorBoard is in the browser: {tab.board.url}; to have it in this window: {install_line('web')}"
    assert (said[-1].message, said[-1].kind) == (line, "info")
    processes = family(tab.board.pid)
    shown.window.close()
    assert are_gone(processes)


def test_a_remote_daemon_gets_a_command_instead_of_a_board(make_tab: Callable[..., Fed]) -> None:
    fed = make_tab(target="gpu-box:50051")
    run_id = new_run_id()
    fed.take(RunRecord(run_id=run_id, label="walker", run_dir=f"/data/runs/{run_id}", state=RunState.RUNNING))
    fed.tab.show()
    fed.until(lambda: "walker" in fed.tab.page.code.toPlainText())
    assert fed.tab.page.title.text() == "The event files are on another machine"
    command = fed.tab.page.code.toPlainText()
    assert "ssh -N -L 6006:127.0.0.1:6006 gpu-box" in command
    assert f"walker:/data/runs/{run_id}/tensorboard" in command
    assert fed.tab.board.state == "idle"


def test_the_command_for_a_remote_daemon_names_the_folder_of_the_run(
    show: Show, client: Client, trained: RunRecord, daemon_home: Home
) -> None:
    document = json.loads((Path(trained.run_dir) / "config.json").read_text())
    worker = document["metadata"]["worker"]["config"]
    worker["total_timesteps"] = 512
    worker["extras"]["tensorboard_dir"] = "boards/of mine"
    document["run_name"] = "moved"
    [run] = client.submit(document)
    [ended] = client.wait(run.run_id)
    assert ended.state == "finished", ended
    shown = show(link=DaemonLink(daemon_home, target=running_address(daemon_home)))
    tab = shown.window.tabs["TensorBoard"]
    assert isinstance(tab, TensorBoardTab)
    shown.until(lambda: shown.studio.runs.get(run.run_id), "the run")
    shown.studio.select([run.run_id])
    shown.window.bring_up("TensorBoard")
    shown.until(lambda: f"moved:{run.run_dir}/boards/of mine" in tab.page.code.toPlainText(), "its own folder")
    client.delete(run.run_id)


def test_only_pages_of_this_machine_are_opened() -> None:
    assert web_view.is_here(QUrl("http://127.0.0.1:6006/#timeseries"))
    assert not web_view.is_here(QUrl("https://example.org/?at=127.0.0.1"))
    assert not web_view.is_here(QUrl("file:///etc/passwd"))
