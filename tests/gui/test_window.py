"""The window on a real daemon: what it shows of real and of broken runs, and what outlives it."""

import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QTabBar

from mosaic.gui import window
from mosaic.gui.assets import pixmap
from mosaic.gui.menus import Menus
from mosaic.gui.models.charts.chart_options import ChartOptions
from mosaic.gui.models.charts.series import Series
from mosaic.gui.models.daemon.curves_listener import PIECE_ROWS
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch
from mosaic.gui.models.wording import name_of
from mosaic.gui.shell import Shell
from mosaic.gui.tabs import TABS
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.theme import TOKENS
from mosaic.gui.widgets.charts.chart_controls import ChartControls
from mosaic.rpc.client import Client
from mosaic.spec.events import RunCompleted, Warned
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

from .conftest import STARTED, Daemon, MakeRun, Show, Shown, learning

START = Callable[..., Daemon]


def returns(shown: Shown) -> Series | None:
    return shown.studio.curves.get(shown.studio.current, "charts/episodic_return")


def logged(shown: Shown) -> list[str]:
    log = shown.studio.log
    return [log.index(row).data() for row in range(log.rowCount())]


def test_a_real_run_is_listed_drawn_logged_and_explained(show: Show, trained: RunRecord) -> None:
    shown = show()
    shown.until(lambda: shown.studio.runs.get(trained.run_id))
    shown.window.runs.select([trained.run_id])
    shown.until(lambda: shown.studio.current == trained.run_id and returns(shown), "its curve")
    assert {"charts/SPS", "losses/value_loss", "losses/entropy"} <= set(shown.studio.curves.tags())
    shown.until(lambda: any("finished" in line for line in logged(shown)), "its log")
    shown.until(lambda: shown.studio.detail() is not None)
    assert shown.window.grab().width() == shown.window.width()
    shown.window.bench.bring_up("Overview")
    texts = {found.text() for found in shown.window.tabs["Overview"].findChildren(QLabel)}
    assert {name_of(trained), trained.run_id, "5,120 of 5,120"} <= texts


def test_a_run_that_is_submitted_elsewhere_appears_learns_and_ends(show: Show, client: Client) -> None:
    shown = show()
    shown.until(lambda: shown.studio.link.state == "connected")
    run = client.train("ppo", env_id="CartPole-v1", total_timesteps=10_000, label="from elsewhere")[0]
    shown.until(lambda: shown.studio.runs.get(run.run_id), "the run")
    shown.window.runs.select([run.run_id])
    shown.until(lambda: (series := returns(shown)) is not None and len(series) > 10, "points while it learns")
    shown.until(lambda: (record := shown.studio.runs.get(run.run_id)) and record.state == "finished", "its end")
    total = len(client.metrics(run.run_id, tags=["charts/episodic_return"])["charts/episodic_return"].steps)
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == total, "all points")


def test_the_first_run_replaces_the_empty_page(show: Show, home: Home, make_run: MakeRun) -> None:
    shown = show(home)
    shown.until(lambda: shown.studio.link.state == "connected")
    assert not shown.window.bench.isVisible()
    run = make_run()
    run.write_finished()
    run.publish()
    shown.until(lambda: shown.studio.runs.rowCount() == 1)
    assert shown.window.bench.isVisible()


def test_a_run_deleted_under_the_window_leaves_it_with_a_notice(show: Show, home: Home, make_run: MakeRun) -> None:
    doomed, other = make_run(), make_run()
    for run in (doomed, other):
        run.write_finished()
        run.publish()
    shown = show(home)
    shown.until(lambda: shown.studio.runs.rowCount() == 2)
    shown.window.runs.select([doomed.run_id, other.run_id])
    shown.until(lambda: len(shown.studio.selected) == 2 and returns(shown) is not None)
    told: list[str] = []
    shown.studio.noticed.connect(lambda notice: told.append(notice.message))
    shutil.rmtree(doomed.run_dir.root)
    shown.until(lambda: shown.studio.runs.rowCount() == 1)
    shown.until(lambda: list(shown.studio.selected) == [other.run_id])
    assert any("is gone" in message for message in told)
    with Client(home=home, start=False) as client:
        client.delete(other.run_id)
    shown.until(lambda: shown.studio.runs.rowCount() == 0)
    assert not shown.window.bench.isVisible()
    shown.window.bring_up("Play")
    assert shown.window.tabs["Play"].isVisible(), "a person may play where nothing was trained"


def test_a_malformed_event_and_a_warning_are_shown_as_notices(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([1, 2]))
    run.write_raw(b"{this is not an event}\n")
    run.seq += 1
    run.write(*learning([3]), Warned(message="the loss of ppo.py differs"), RunCompleted(global_step=3))
    run.publish()
    shown = show(home)
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == 3)
    shown.until(
        lambda: len(shown.studio.runs.notices(run.run_id)) == 3, "the count of the line, its reason, the warning"
    )
    overview = shown.window.tabs["Overview"]
    assert isinstance(overview, OverviewTab)
    shown.until(lambda: "not JSON" in overview.alarm.text(), "the reason")
    assert "1 damaged line (line 6) in events.jsonl" in overview.alarm.text()
    assert "the loss of ppo.py differs" in overview.alarm.text().splitlines()
    assert any("not JSON" in line for line in logged(shown))


def test_a_daemon_killed_under_each_tab_is_missed_and_found_again(
    show: Show, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run().live()
    run.write(STARTED, *learning(range(1, 101)))
    run.publish()
    daemon = start_daemon(home)
    shown = show(home)
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == 100)
    points = 100
    # The others are in view all the time.
    for tab in (tab for tab in TABS if tab.area == "centre" and tab.is_shown(shown.studio)):
        shown.window.bench.bring_up(tab.title)
        shown.until(shown.window.tabs[tab.title].isVisible)
        daemon.kill()
        run.write(*learning(range(points + 1, points + 51)))
        points += 50
        shown.until(lambda: shown.studio.link.state == "lost")
        assert (series := returns(shown)) is not None
        assert (shown.studio.runs.rowCount(), len(series)) == (1, points - 50)
        daemon.start()
        shown.until(lambda: shown.studio.link.state == "connected")
        shown.until(
            lambda whole=points: (series := returns(shown)) is not None and len(series) == whole, "what was missed"
        )


def test_twenty_thousand_events_come_in_few_pieces_and_each_once(
    show: Show, home: Home, make_run: MakeRun, start_daemon: START
) -> None:
    run = make_run().live()
    run.write(STARTED)
    run.publish()
    start_daemon(home)
    shown = show(home)
    shown.until(lambda: shown.studio.current == run.run_id)
    batches = [learning(range(first, first + 500)) for first in range(1, 10_001, 500)]
    pieces: list[int] = []

    def count(batch: Batch) -> None:
        pieces.extend(len(points.steps) for news in batch.points for points in news.points.values())

    shown.opened.feed.arrived.connect(count)

    def learn() -> None:
        for batch in batches:
            run.write(*batch)  # a thousand events

    learner = threading.Thread(target=learn)
    learner.start()
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == 10_000, "all points")
    learner.join()
    assert sum(pieces) == 30_000  # three tags: return, length and loss
    assert max(pieces) <= PIECE_ROWS
    assert len(pieces) < 1_000  # some each quarter of a second, not one for each event


def test_a_remote_daemon_needs_no_shared_file(
    show: Show, home: Home, make_run: MakeRun, start_daemon: START, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    run.write_finished()
    run.publish()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    start_daemon(home, "--listen", address)
    shutil.copy2(home.token, tmp_path / "token")
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(tmp_path / "token"))
    shown = show(link=DaemonLink(Home(tmp_path / "elsewhere"), target=address))
    assert shown.studio.link.is_remote
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == 3)
    shown.until(lambda: any("finished" in line for line in logged(shown)))


def test_dark_and_light_change_every_colour_and_are_remembered(show: Show, trained: RunRecord) -> None:
    shown = show()
    shown.until(lambda: shown.studio.runs.get(trained.run_id))
    assert background(shown) == TOKENS["dark"].panel
    QTest.keyClick(shown.window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert (shown.theme.scheme, background(shown)) == ("light", TOKENS["light"].panel)
    shown.window.close()
    assert show().theme.scheme == "light"


def test_a_window_is_built_without_its_style_sheet_and_an_icon_is_drawn_once(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Qt styles each widget again with every parent that it gets, which was half of the time to open a window."""
    sheets: list[str] = []

    class Noting(Menus):
        def __init__(self, made: Shell) -> None:
            sheets.append(shown_by.styleSheet())
            super().__init__(made)

    shown_by = QApplication.instance()
    assert isinstance(shown_by, QApplication)
    monkeypatch.setattr(window, "Menus", Noting)
    shown = show()
    assert sheets == [""]
    assert shown.theme.tokens.panel in shown_by.styleSheet()
    dark = pixmap(shown.theme, "copy")
    assert pixmap(shown.theme, "copy").cacheKey() == dark.cacheKey()
    assert pixmap(shown.theme, "copy", size=20).cacheKey() != dark.cacheKey()
    shown.theme.use("light")
    assert pixmap(shown.theme, "copy").cacheKey() != dark.cacheKey()
    shown.theme.use("dark")


def background(shown: Shown) -> str:
    """The colour of the list's empty part, as it is on the screen."""
    view = shown.window.runs.view.viewport()
    return view.grab().toImage().pixelColor(view.width() // 2, view.height() - 5).name()


def test_hidden_panels_stay_hidden_after_a_restart(show: Show) -> None:
    shown = show()
    assert shown.window.runs.isVisible()
    QTest.keyClick(shown.window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert not shown.window.runs.isVisible()
    shown.window.close()
    assert not show().window.runs.isVisible()


def test_how_charts_are_shown_is_remembered(show: Show) -> None:
    def controls() -> ChartControls:
        tab = show().window.tabs["Metrics"]
        assert isinstance(tab, MetricsTab)
        return tab.controls

    first = controls()
    first.x_axis.choose("wall")
    first.seeds.choose("IQM")
    first.smoothing.setValue(7)
    first.log.setChecked(True)
    first.window().close()
    assert controls().view == ChartOptions(x="wall", seeds="IQM", window=7, log=True)


def test_no_empty_bar_lies_over_the_tabs_after_the_layout_is_reset(show: Show) -> None:
    shown = show()
    for _ in range(2):
        shown.window.reset_layout()
        shown.application.processEvents()
    bench = shown.window.bench
    bars = [bar for bar in bench.findChildren(QTabBar) if bar.parent() is bench]
    shown.until(lambda: all(bar.isHidden() == (bar.count() == 0) for bar in bars), "the bars to be tidied")
    assert any(bar.count() > 1 for bar in bars)


def test_every_tab_of_the_table_is_in_the_window(show: Show) -> None:
    shown = show()
    for tab in TABS:
        if tab.is_shown(shown.studio):
            assert shown.window.bench.docks[tab.title].widget() is shown.window.tabs[tab.title]
        else:
            assert tab.title not in shown.window.bench.docks
    assert len(shown.window.bench.docks) > 10
