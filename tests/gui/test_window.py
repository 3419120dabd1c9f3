"""The window on real and on broken run directories."""

import shutil
import time
from collections.abc import Callable

import pytest
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton

from mosaic.gui.models.series import Series
from mosaic.gui.tabs import TABS
from mosaic.gui.tabs.log import LogTab
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.overview import OverviewTab
from mosaic.gui.theme import TOKENS
from mosaic.spec.events import RunCompleted
from mosaic.spec.run_dir import Home, RunDir, new_run_id

from .conftest import STARTED, HandWritten, Shown, learning

MakeRun = Callable[[], HandWritten]
Show = Callable[[Home], Shown]
LONGEST_STALL_S = 0.25
"""Of work of the GUI thread between two turns of the event loop; the aim is 0.1, on an idle machine."""


def metrics(shown: Shown) -> MetricsTab:
    tab = shown.window.tabs["Metrics"]
    assert isinstance(tab, MetricsTab)
    return tab


def drawn_tags(shown: Shown) -> list[str]:
    return [card.tag for card in metrics(shown).grid.cards() if card.chart is not None]


def returns(shown: Shown) -> Series | None:
    return shown.studio.curves.get(shown.studio.current, "charts/episodic_return")


def test_a_real_run_is_listed_drawn_logged_and_explained(show: Show, trained_home: Home, trained: RunDir) -> None:
    shown = show(trained_home)
    shown.until(lambda: "charts/episodic_return" in drawn_tags(shown), "a chart")
    assert shown.studio.current == trained.run_id
    assert {"charts/SPS", "losses/value_loss", "losses/entropy"} <= set(metrics(shown).grid.tags)
    assert shown.window.grab().width() == shown.window.width()
    log = shown.studio.log
    assert any("finished" in log.index(row).data() for row in range(log.rowCount()))
    shown.window.centre.setCurrentWidget(shown.window.tabs["Overview"])
    texts = {found.text() for found in shown.window.tabs["Overview"].findChildren(QLabel)}
    assert {"ppo_cartpole_s1", trained.run_id, "19,968 of 20,000"} <= texts


def test_an_empty_home_says_what_to_do_and_the_first_run_replaces_it(
    show: Show, home: Home, make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOSAIC_HOME", str(home.root))
    shown = show(home)
    shown.until(lambda: shown.studio.machine is not None)
    button = next(found for found in shown.window.findChildren(QPushButton) if found.text() == " Copy")
    assert button.isVisible()
    button.click()
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith(f"MOSAIC_HOME={home.root} \\\n")
    assert "mosaic train ppo" in copied
    make_run().write_finished()
    shown.until(lambda: shown.studio.runs.rowCount() == 1)
    assert not button.isVisible()
    assert metrics(shown).isVisible()


def test_curves_grow_while_a_run_learns_and_a_zoom_stays(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning(range(1, 101)))
    shown = show(home)
    shown.until(lambda: "charts/episodic_return" in drawn_tags(shown))
    chart = metrics(shown).grid.cards()[0].chart
    assert chart is not None
    chart.getPlotItem().getViewBox().setXRange(10, 20, padding=0)
    run.write(*learning(range(101, 201)))
    shown.until(lambda: (series := returns(shown)) is not None and len(series) == 200)
    metrics(shown).refresh()
    chart.grab()
    assert chart.getPlotItem().getViewBox().viewRange()[0] == [10, 20]
    QTest.mouseDClick(chart.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
    chart.grab()
    assert chart.getPlotItem().getViewBox().viewRange()[0][1] >= 200


def test_the_mouse_over_a_chart_tells_step_and_value(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning(range(1, 101)))
    shown = show(home)
    shown.until(lambda: "charts/episodic_return" in drawn_tags(shown))
    chart = metrics(shown).grid.cards()[0].chart
    assert chart is not None
    told: list[str] = []
    chart.hovered.connect(told.append)
    chart.grab()
    box = chart.getPlotItem().getViewBox()
    chart.scene().sigMouseMoved.emit(box.sceneBoundingRect().center())
    assert "step 5" in told[-1]
    chart.scene().sigMouseMoved.emit(box.sceneBoundingRect().topLeft() - box.sceneBoundingRect().bottomRight())
    assert told[-1] == ""


def test_a_run_deleted_under_the_window_leaves_it_with_a_notice(show: Show, home: Home, make_run: MakeRun) -> None:
    doomed, other = make_run(), make_run()
    doomed.write_finished()
    other.write_finished()
    shown = show(home)
    shown.until(lambda: shown.studio.runs.rowCount() == 2)
    shown.window.runs.select([doomed.run_dir.run_id, other.run_dir.run_id])
    shown.until(lambda: len(shown.studio.selected) == 2 and returns(shown) is not None)
    told: list[str] = []
    shown.studio.noticed.connect(lambda notice: told.append(notice.message))
    shutil.rmtree(doomed.run_dir.root)
    shown.until(lambda: shown.studio.runs.rowCount() == 1)
    shown.until(lambda: list(shown.studio.selected) == [other.run_dir.run_id])
    assert any("is gone" in message for message in told)
    shutil.rmtree(home.runs)
    shown.until(lambda: shown.studio.runs.rowCount() == 0)
    assert not metrics(shown).isVisible()


def test_a_malformed_event_is_shown_as_a_notice(show: Show, home: Home, make_run: MakeRun) -> None:
    run = make_run()
    run.write(STARTED, *learning([1, 2]))
    run.write_raw(b"{this is no event}\n")
    run.seq += 1
    run.write(*learning([3]), RunCompleted(global_step=3))
    shown = show(home)
    shown.until(lambda: returns(shown) is not None)
    shown.until(lambda: shown.studio.runs.notices(run.run_dir.run_id))
    overview = shown.window.tabs["Overview"]
    assert isinstance(overview, OverviewTab)
    assert "not JSON" in overview.alarm.text()
    assert len(shown.studio.runs.notices(run.run_dir.run_id)) == 1
    log = shown.studio.log
    assert any("not JSON" in log.index(row).data() for row in range(log.rowCount()))


def test_dark_and_light_change_every_colour_and_are_remembered(show: Show, trained_home: Home) -> None:
    shown = show(trained_home)
    shown.until(lambda: "charts/episodic_return" in drawn_tags(shown))
    assert background(shown) == TOKENS["dark"].panel
    QTest.keyClick(shown.window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert background(shown) == TOKENS["light"].panel
    chart = metrics(shown).grid.cards()[0].chart
    assert chart is not None
    assert chart.backgroundBrush().color().name() == TOKENS["light"].panel
    shown.window.close()
    assert show(trained_home).theme.scheme == "light"


def background(shown: Shown) -> str:
    """The colour of the list's empty part, as it is on the screen."""
    view = shown.window.runs.view.viewport()
    return view.grab().toImage().pixelColor(view.width() // 2, view.height() - 5).name()


def test_hidden_panels_stay_hidden_after_a_restart(show: Show, home: Home) -> None:
    shown = show(home)
    shown.until(lambda: shown.studio.machine is not None)
    assert shown.window.bottom.isVisible()
    QTest.keyClick(shown.window, Qt.Key.Key_J, Qt.KeyboardModifier.ControlModifier)
    assert not shown.window.bottom.isVisible()
    shown.window.close()
    assert not show(home).window.bottom.isVisible()


def test_the_filter_narrows_the_list_and_the_log_follows_its_chips(show: Show, home: Home, make_run: MakeRun) -> None:
    run, other = make_run(), make_run()
    run.write_finished()
    other.write_finished()
    other.run_dir.config.write_text('{"run_name": "the other one"}')
    shown = show(home)
    shown.until(lambda: shown.studio.runs.rowCount() == 2)
    shown.window.runs.filter.setText("OTHER")
    assert shown.window.runs.view.model().rowCount() == 1
    shown.until(lambda: shown.studio.log.rowCount() > 0)
    before = shown.studio.log.rowCount()
    log = shown.window.tabs["Log"]
    assert isinstance(log, LogTab)
    next(chip for chip in log.findChildren(QPushButton) if chip.text() == "episodes").click()
    assert shown.studio.log.rowCount() == before + 3


def test_two_thousand_runs_come_in_without_a_stall(show: Show, home: Home, make_run: MakeRun) -> None:
    pattern = make_run()
    pattern.write_finished(episodes=2)
    for _ in range(1999):
        run = home.run(new_run_id())
        run.root.mkdir()
        shutil.copyfile(pattern.run_dir.events, run.events)
    shown = show(home)
    gaps, last = [0.0], [time.thread_time()]

    def tick() -> None:
        now = time.thread_time()
        gaps.append(now - last[0])
        last[0] = now

    watchdog = QTimer(shown.window, interval=10)
    watchdog.timeout.connect(tick)
    watchdog.start()
    shown.until(lambda: shown.studio.runs.rowCount() == 2000)
    shown.window.runs.filter.setText("cartpole")
    shown.window.runs.view.scrollToBottom()
    shown.window.runs.view.selectAll()
    shown.until(lambda: len(shown.studio.selected) > 1)
    print(f"longest stall {max(gaps) * 1000:.0f} ms")
    assert max(gaps) < LONGEST_STALL_S


def test_five_hundred_tags_make_charts_only_where_one_looks(show: Show, home: Home, make_run: MakeRun) -> None:
    from mosaic.spec.events import Scalars

    run = make_run()
    tags = {f"custom/tag_{number:03}": 1.0 for number in range(500)}
    run.write(STARTED, *[Scalars(global_step=step, values=tags) for step in (1, 2, 3)])
    shown = show(home)
    shown.until(lambda: drawn_tags(shown))
    assert len(metrics(shown).grid.tags) == 500
    assert len(drawn_tags(shown)) < 40
    bar = metrics(shown).grid.verticalScrollBar()
    bar.setValue(bar.maximum())
    shown.until(lambda: "custom/tag_499" in drawn_tags(shown))


def test_every_tab_of_the_table_is_in_the_window(show: Show, home: Home) -> None:
    shown = show(home)
    places = {"centre": shown.window.centre, "bottom": shown.window.bottom}
    for tab in TABS:
        assert places[tab.area].indexOf(shown.window.tabs[tab.title]) >= 0
