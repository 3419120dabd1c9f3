"""Charts are added, removed, moved, resized and enlarged by keys and by the mouse, and stay so."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, QSettings, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel

from mosaic.gui.models.charts.chart_layout import ChartSpec
from mosaic.gui.models.charts.plots_over_runs import parallel_of, scatter_of
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.widgets.charts.dot_plot import DotPlot
from mosaic.gui.widgets.charts.heat_map_view import HeatMapView
from mosaic.run_table.table_rows import Summary
from mosaic.spec.files.histogram_file import Histogram, HistogramRow
from mosaic.spec.run_dir import Home

from .fed_metrics import RETURN, Fed

pytestmark = pytest.mark.usefixtures("application")
TAGS = [RETURN, "losses/entropy", "losses/value_loss"]
BEST = f"{RETURN}.highest"


@pytest.fixture
def fed(application: QApplication, tmp_path: Path) -> Iterator[Fed]:
    made = Fed(application, Home(tmp_path))
    for run_id in made.select(2):
        for tag in TAGS:
            made.feed(run_id, range(50), tag=tag)
    made.card()
    yield made
    made.tab.close()
    made.tab.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def press(fed: Fed, key: Qt.Key, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier) -> None:
    card = next(card for card in fed.tab.grid.cards() if card.tag == fed.tab.grid.current)
    QTest.keyClick(card, key, modifiers)


def test_keys_go_move_resize_remove_and_reset(fed: Fed) -> None:
    grid = fed.tab.grid
    grid.focus_card(TAGS[0])
    press(fed, Qt.Key.Key_Right)
    assert grid.current == TAGS[1]
    press(fed, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert grid.tags == [TAGS[0], TAGS[2], TAGS[1]]
    before = grid.span_shown(TAGS[1])
    press(fed, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert grid.span_shown(TAGS[1])[0] == before[0] + 1
    press(fed, Qt.Key.Key_Delete)
    assert grid.tags == [TAGS[0], TAGS[2]]
    settings = QSettings(str(fed.studio.home.root / "settings.ini"), QSettings.Format.IniFormat)
    fed.tab.save_charts(settings)
    again = MetricsTab(fed.studio, fed.theme)
    again.restore_charts(settings)
    assert again.arranged.arranged(TAGS) == grid.tags
    again.deleteLater()
    press(fed, Qt.Key.Key_Return)
    assert grid.full == grid.current
    QTest.keyClick(fed.tab, Qt.Key.Key_Escape)
    assert not grid.full
    fed.tab.arranger.do_to(TAGS[0], "reset")
    assert grid.tags == TAGS


def test_the_mouse_moves_a_chart_by_its_title_and_resizes_it_by_its_corner(fed: Fed) -> None:
    grid = fed.tab.grid
    first, last = fed.card(TAGS[0]), fed.card(TAGS[2])
    title = next(each for each in last.findChildren(QLabel) if each.text() == last.spec.title)
    target = first.mapTo(title.window(), QPoint(30, 60))
    QTest.mousePress(title, Qt.MouseButton.LeftButton, pos=QPoint(5, 5))
    QTest.mouseMove(title, title.mapFrom(title.window(), target))
    QTest.mouseRelease(title, Qt.MouseButton.LeftButton, pos=title.mapFrom(title.window(), target))
    assert grid.tags == [TAGS[2], *TAGS[:2]]
    assert not grid.full
    grid._stretch(first, first.mapToGlobal(QPoint(2 * first.width() + 20, first.height())))
    assert grid.span_shown(TAGS[0])[0] == 2


def test_a_tag_against_another_has_its_own_x_and_says_what_is_missing(fed: Fed) -> None:
    fed.feed(fed.studio.selected[0], [1.0], first=1000, tag=TAGS[1])
    fed.tab.arranger.add_chart(ChartSpec("pair", TAGS[1], TAGS[2]))
    key = ChartSpec("pair", TAGS[1], TAGS[2]).key
    fed.until(lambda: any(card.tag == key and card.chart is not None for card in fed.tab.grid.seen()))
    card = next(card for card in fed.tab.grid.cards() if card.tag == key)
    fed.until(lambda: card.drawn is not None)
    assert card.chart is not None
    assert card.chart.x_axis == "value"
    assert "50 of 51 steps" in card.remarks.toolTip()


def test_runs_are_dots_and_lines_in_their_colours_and_those_without_a_value_are_counted(fed: Fed) -> None:
    members, values = fed.tab.members(), fed.tab.contents.values
    values.take(list(fed.studio.runs.records()))
    a, b = fed.studio.selected
    for run_id, rate in ((a, 1e-4), (b, 1e-1)):
        values.rows.take_settings(run_id, {"learning_rate": rate, "network": f"net {rate}"})
    values.rows.take_metrics(a, {RETURN: Summary(1.0, 5.0, 0.0, 1.0)})
    plot, missing = scatter_of(ChartSpec("scatter", BEST, "learning_rate"), members, values)
    assert ([point.run_id for point in plot.points], missing) == ([a], "1 of 2 runs have every value")
    values.rows.take_metrics(b, {RETURN: Summary(1.0, 9.0, 0.0, 1.0)})
    plot, missing = scatter_of(ChartSpec("scatter", BEST, "learning_rate"), members, values)
    assert {(point.run_id, point.x, point.y) for point in plot.points} == {(a, 0.0, 0.0), (b, 1.0, 1.0)}
    assert {point.colour for point in plot.points} == {fed.studio.colour_of(a), fed.studio.colour_of(b)}
    assert (plot.x_axis.title, missing) == ("learning rate (log)", "")
    lines, _ = parallel_of(ChartSpec("parallel", columns=("network", "learning_rate", BEST)), members, values)
    assert {line.places for line in lines.lines} == {(0.0, 0.0, 0.0), (1.0, 1.0, 1.0)}
    # One that diverged is not drawn, and the axis stays one of numbers.
    for lost in (float("nan"), float("inf")):
        values.rows.take_metrics(b, {RETURN: Summary(lost, lost, lost, 1.0)})
        lost_plot, missing = scatter_of(ChartSpec("scatter", BEST, "learning_rate"), members, values)
        assert ([point.run_id for point in lost_plot.points], missing) == ([a], "1 of 2 runs have every value")
        assert (lost_plot.y_axis.low, lost_plot.y_axis.high, lost_plot.y_axis.marks) == ("4.5", "5.5", ())
    dots = DotPlot(fed.theme, "runs")
    chosen: list[str] = []
    dots.chosen.connect(chosen.append)
    dots.show_plot(plot)
    QTest.keyClick(dots, Qt.Key.Key_Right)
    QTest.keyClick(dots, Qt.Key.Key_Right)
    QTest.keyClick(dots, Qt.Key.Key_Return)
    assert chosen == [b]


def test_heat_maps_come_by_themselves_where_there_are_histograms(fed: Fed) -> None:
    histograms = fed.tab.contents.histograms
    fed.tab.refresh()
    assert not fed.tab.contents.heat_keys()
    one = Histogram(64, -1.0, 1.0, tuple(np.arange(64).tolist()))
    histograms.rows += [HistogramRow(step, step, 1.7e9, {"actor.weight": one}, {}) for step in (1, 2, 3)]
    fed.tab.refresh()
    [key] = fed.tab.contents.heat_keys()
    assert fed.tab.grid.tags[-1] == key
    fed.tab.show_full(key)
    card = next(card for card in fed.tab.grid.cards() if card.tag == key)
    fed.until(lambda: isinstance(card.body, HeatMapView))
    assert isinstance(card.body, HeatMapView)
    assert [shown.name for shown, _ in card.body.places()] == ["actor.weight"]
    QTest.keyClick(card, Qt.Key.Key_Space)


def test_the_dialog_offers_what_there_is_and_adds_it_once(fed: Fed) -> None:
    dialog = fed.tab.arranger.ask_for_chart()
    assert dialog.spec is not None
    assert dialog.spec.kind == "pair"
    dialog.add.click()
    dialog = fed.tab.arranger.ask_for_chart()
    dialog.kind.setCurrentIndex(dialog.kind.findData("parallel"))
    assert dialog.spec is None or len(dialog.spec.columns) > 1
    dialog.reject()
    assert fed.tab.grid.tags[1] == ChartSpec("pair", TAGS[0], TAGS[1]).key
    assert len(fed.tab.grid.tags) == 4


def test_the_dialog_offers_settings_that_no_chart_has_needed_before(fed: Fed) -> None:
    fed.tab.refresh()
    rows = fed.tab.contents.values.rows
    dialog = fed.tab.arranger.ask_for_chart()
    dialog.kind.setCurrentIndex(dialog.kind.findData("scatter"))
    dialog.x_axis.setCurrentIndex(dialog.x_axis.findData("seed"))
    assert dialog.x_axis.findData("learning_rate") < 0
    for place, run_id in enumerate(fed.studio.selected):
        rows.take_settings(run_id, {"learning_rate": 1e-3 * place, "gamma": 0.99})
    fed.tab.contents.values.want_settings(fed.tab.arranger.offer_settings)
    assert dialog.x_axis.findData("learning_rate") >= 0
    assert dialog.x_axis.currentData() == "seed", "what was chosen stays"
    dialog.kind.setCurrentIndex(dialog.kind.findData("parallel"))
    assert dialog.spec is not None
    assert set(dialog.spec.columns) == {"learning_rate", BEST}, "what differs is ticked"
    dialog.reject()
    fed.tab.arranger.offer_settings()
