"""The Metrics tab: its charts show what is selected, at every zoom, and say what they show."""

import csv
import math
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from mosaic.gui.models.charts import charts_model as charts_model
from mosaic.gui.models.charts.plotted_curve import Line
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.daemon.news import Batch, NewPoints, Notice, Points
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs import metrics as metrics_tab
from mosaic.gui.tabs.metrics import SLICE_S, MetricsTab
from mosaic.gui.widgets.charts.chart_card_grid import places_of
from mosaic.gui.widgets.charts.scalar_chart import ScalarChart
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

from ..conftest import Show
from .fed_metrics import RETURN, Fed

pytestmark = pytest.mark.usefixtures("application")
NAN, INF = math.nan, math.inf


def test_cards_lie_in_order_without_overlap_whatever_the_width() -> None:
    for width in (200, 700, 1000, 1600):
        for count in (1, 2, 3, 7, 500):
            places = places_of([None] * count, width, 600)
            assert len(places) == count
            assert all(place.right() < width for place in places)
            assert not any(a.intersects(b) for a, b in pairwise(places))
            assert [(p.top(), p.left()) for p in places[1:]] == sorted((p.top(), p.left()) for p in places[1:])


@pytest.fixture
def fed(application: QApplication, tmp_path: Path) -> Iterator[Fed]:
    made = Fed(application, Home(tmp_path))
    yield made
    made.tab.close()
    made.tab.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def items_of(chart: ScalarChart) -> list[tuple[Column, Column]]:
    """x and y of what is painted and not empty."""
    data = [item.getData() for item in chart.getPlotItem().listDataItems()]
    return [(x, y) for x, y in data if x is not None and len(x)]


def test_a_zoom_stays_while_data_arrives_and_a_double_click_ends_it(fed: Fed) -> None:
    run_id = fed.select(1)[0]
    fed.feed(run_id, range(100))
    chart = fed.chart()
    chart.getPlotItem().getViewBox().setXRange(10, 20, padding=0)
    assert "zoomed" in fed.card().remarks.text()
    fed.feed(run_id, range(100, 200), first=100)
    assert fed.chart().viewRange()[0] == [10, 20]
    QTest.mouseDClick(chart.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(60, 60))
    chart.grab()
    assert chart.viewRange()[0][1] >= 199
    assert "zoomed" not in fed.card().remarks.text()


def test_a_million_points_are_drawn_with_their_spike_and_exactly_when_near(fed: Fed) -> None:
    values = np.zeros(1_000_000)
    values[654_321] = 99.0
    fed.tab.controls.smoothing.setValue(1)
    fed.feed(fed.select(1)[0], values)
    chart = fed.chart()
    ((x, y),) = items_of(chart)
    assert (x[y.argmax()], y.max()) == (654_321, 99)
    assert len(x) < 5000
    chart.getPlotItem().getViewBox().setXRange(654_300, 654_350, padding=0)
    ((x, y),) = items_of(chart)
    np.testing.assert_array_equal(x, np.arange(654_299, 654_352))
    assert y.sum() == 99


def test_the_cross_is_at_the_same_x_in_every_chart_with_every_value(fed: Fed) -> None:
    a, b = fed.select(2)
    fed.tab.controls.smoothing.setValue(1)
    for tag, factor in ((RETURN, 1.0), ("losses/value_loss", 10.0)):
        for run_id, more in ((a, 0), (b, 0.25)):
            fed.feed(run_id, [factor * step + more for step in range(101)], tag=tag)
    chart, other = fed.chart(), fed.card("losses/value_loss")
    fed.chart("losses/value_loss")
    chart.grab()
    chart.scene().sigMouseMoved.emit(chart.getPlotItem().getViewBox().sceneBoundingRect().center())
    fed.until(lambda: other.values.isVisible(), "values in the other chart")
    assert ">500.0<" in other.values.text()
    assert ">500.2<" in other.values.text()
    assert fed.tab.readout.isVisible()
    assert "step 50" in fed.tab.readout.text()
    assert "ppo_cartpole_s2" in fed.tab.readout.text()
    QApplication.sendEvent(chart, QEvent(QEvent.Type.Leave))
    fed.until(lambda: not other.values.isVisible() and not fed.tab.readout.isVisible())


def test_y_is_logarithmic_in_one_chart_or_in_all(fed: Fed) -> None:
    run_id = fed.select(1)[0]
    fed.tab.controls.smoothing.setValue(1)
    fed.feed(run_id, [1, 10, 100, -1])
    fed.feed(run_id, [1, 10, 100], tag="losses/value_loss")
    card = fed.card()
    fed.tab.tools.come_to(card)
    fed.tab.tools.log.click()
    fed.until(lambda: card.log)
    ((_, y),) = items_of(fed.chart())
    np.testing.assert_allclose(y, [0, 1, 2, NAN])
    assert "≤ 0" in card.remarks.toolTip()
    assert not fed.card("losses/value_loss").log
    fed.tab.controls.log.click()
    fed.until(lambda: fed.card("losses/value_loss").log and card.log)


def test_x_is_steps_time_since_the_start_or_the_clock(fed: Fed) -> None:
    run_id = fed.select(1)[0]
    fed.tab.controls.smoothing.setValue(1)
    fed.feed(run_id, [0.0], tag="losses/value_loss")
    fed.feed(run_id, range(5), first=10)
    for axis, first in (("step", 10), ("relative", 10), ("wall", 1.7e9 + 10)):
        fed.tab.controls.x_axis.choose(axis)
        ((x, _),) = items_of(fed.chart())
        assert x[0] == first
        fed.chart().grab()


def test_seeds_are_one_curve_with_a_band_and_their_number(fed: Fed) -> None:
    ids = fed.select(4, group="g")
    for place, run_id in enumerate(ids):
        fed.feed(run_id, [float(place)] * (50 if place else 25))
    assert len(fed.chart().curves) == 4
    fed.tab.controls.seeds.choose("mean")
    chart = fed.chart()
    (curve,) = chart.curves
    assert (curve.name, curve.note, curve.at(10)) == (
        "ppo_cartpole",
        "mean, n = 4: every seed, no band below 5",
        (1.5, 4),
    )
    assert curve.at(40) == (2.0, 3)
    assert "n = 4" in fed.tab.legend.text()
    marks = [item.toPlainText() for item in chart.getPlotItem().items if hasattr(item, "toPlainText")]
    assert marks == ["n = 3"]
    fed.tab.controls.seeds.choose("IQM")
    assert fed.chart().curves[0].note == "IQM, n = 4: every seed, no band below 5"
    fed.studio.select(ids[:2])
    fed.chart()
    assert "n = 2 of 4 seeds" in fed.tab.legend.text()
    fed.tab.grab()


def test_gaps_are_drawn_and_told(fed: Fed) -> None:
    fed.tab.controls.smoothing.setValue(1)
    fed.feed(fed.select(1)[0], [1, NAN, 3, INF, 5, 6])
    ((_, y), *_) = items_of(fed.chart())
    np.testing.assert_allclose(y, [1, NAN, 3, NAN, 5, 6])
    assert "2 values are not finite" in fed.card().remarks.toolTip()
    fed.tab.grab()


def test_a_chart_is_saved_as_csv_png_and_svg(fed: Fed, tmp_path: Path) -> None:
    ids = fed.select(2)
    for run_id in ids:
        fed.feed(run_id, [0.1 + step for step in range(5000)])
    fed.feed(ids[1], [NAN], first=5000)
    card = fed.card()
    told: list[Notice] = []
    fed.studio.noticed.connect(told.append)
    for kind in ("csv", "png", "svg"):
        fed.tab.save(card, kind)
        (dialog,) = [found for found in fed.tab.findChildren(QFileDialog) if found.isVisible()]
        (name,) = dialog.findChildren(QLineEdit)
        name.setText(str(tmp_path / f"chart.{kind}"))
        dialog.accept()
        fed.until(lambda kind=kind: (tmp_path / f"chart.{kind}").exists(), f"the {kind}")
    with (tmp_path / "chart.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10_001
    assert rows[4999] == {
        "run_id": ids[0],
        "run": "ppo_cartpole_s1",
        "group": "",
        "tag": RETURN,
        "step": "4999",
        "time": str(1.7e9 + 4999),
        "value": "4999.1",
    }
    assert rows[-1]["value"] == "nan"
    image = QImage(str(tmp_path / "chart.png"))
    assert (image.width(), image.height()) == (1920, 1200)
    renderer = QSvgRenderer(str(tmp_path / "chart.svg"))
    assert renderer.isValid()
    assert "ppo_cartpole_s1" in (tmp_path / "chart.svg").read_text()
    fed.until(lambda: len(told) == 3)
    fed.tab.saving.save_points(tmp_path / "nowhere" / "chart.csv", RETURN, fed.tab.charts.points(RETURN, []))
    fed.until(lambda: len(told) == 4)
    assert "could not be written" in told[3].message


def test_one_chart_fills_the_tab_and_gives_the_room_back(fed: Fed) -> None:
    run_id = fed.select(1)[0]
    for number in range(30):
        fed.feed(run_id, range(10), tag=f"custom/{number:02}")
    card = fed.card("custom/00")
    small, order = card.size(), list(fed.tab.grid.tags)
    fed.tab.grid.verticalScrollBar().setValue(100)
    card.opened.emit(card.tag)
    assert card.width() > small.width()
    assert fed.tab.grid.seen() == [card]
    QTest.keyClick(fed.tab, Qt.Key.Key_Escape)
    assert (card.size(), fed.tab.grid.tags, fed.tab.grid.verticalScrollBar().value()) == (small, order, 100)


def test_five_hundred_tags_make_cards_only_where_one_looks(fed: Fed) -> None:
    run_id = fed.select(1)[0]
    points = {f"custom/{n:03}": Points([1.0, 2.0], [0.0, 1.0], [1.0, 2.0]) for n in range(500)}
    fed.studio.take(Batch(points=(NewPoints(run_id, points),)))
    fed.tab.refresh()
    assert len(fed.tab.grid.cards()) < 30
    fed.card("custom/000")
    assert len(fed.tab.grid.tags) == 500
    assert len(fed.tab.grid.cards()) < 30
    bar = fed.tab.grid.verticalScrollBar()
    for place in range(0, bar.maximum(), 1500):
        bar.setValue(place)
        fed.tab.grid.seen()
    bar.setValue(bar.maximum())
    fed.card("custom/499")
    assert len(fed.tab.grid.cards()) <= 70
    fed.tab.controls.search.setText("custom/123")
    assert fed.tab.grid.tags == ["custom/123"]


def test_an_empty_tab_says_why(fed: Fed) -> None:
    fed.tab.refresh()
    assert fed.tab.grid.empty.text() == "Select one or more runs on the left."
    run_id = fed.select(1)[0]
    assert "No metrics yet" in fed.tab.grid.empty.text()
    fed.feed(run_id, range(3))
    fed.card()
    assert not fed.tab.grid.empty.isVisible()
    fed.tab.controls.search.setText("nothing")
    assert (fed.tab.grid.empty.isVisible(), fed.tab.grid.empty.text()) == (True, "No chart matches “nothing”.")


def test_a_low_or_narrow_tab_has_room_for_all(fed: Fed) -> None:
    for run_id in fed.select(24):
        fed.feed(run_id, range(10))
    for width, height in ((1600, 900), (990, 260), (600, 300), (600, 700)):
        fed.tab.resize(width, height)
        fed.card()
        assert fed.tab.width() == width
        assert fed.tab.legend.parentWidget().isVisible()
        assert "more" in fed.tab.legend.text() or "24 curves" in fed.tab.legend.text()


def test_a_name_is_text_and_not_markup(fed: Fed) -> None:
    run_id = new_run_id()
    fed.studio.take(Batch(records=(RunRecord(run_id=run_id, label="<b>a & b", state=RunState.RUNNING),)))
    fed.studio.select([run_id])
    fed.feed(run_id, range(3))
    fed.card()
    assert "&lt;b&gt;a &amp; b" in fed.tab.legend.text()


class Hurrying:
    """A clock by which each piece of work takes longer than a turn of the event loop may."""

    now_s = 0.0

    def monotonic(self) -> float:
        self.now_s += 2 * SLICE_S
        return self.now_s

    def thread_time(self) -> float:
        return 0.0


def test_a_lot_of_data_is_taken_in_one_curve_after_the_other(
    fed: Fed, application: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fed.select(10)
    values = np.random.default_rng(5).normal(size=30_000)
    for run_id in ids:
        fed.feed(run_id, values)
    card = fed.card()
    clock = Hurrying()
    monkeypatch.setattr(metrics_tab, "time", clock)
    monkeypatch.setattr(charts_model, "time", clock)
    worked: list[bool] = []
    update = Line.update

    def counted(line: Line) -> bool:
        worked.append(update(line))
        return worked[-1]

    monkeypatch.setattr(Line, "update", counted)
    fed.tab.controls.smoothing.setValue(50)
    turns = [sum(worked)]
    while card.drawn != fed.tab.charts.signature(RETURN, fed.tab.members(), fed.tab.controls.view):
        worked.clear()
        application.processEvents()
        turns.append(sum(worked))
    assert max(turns) <= 2, "of one run: its smoothed curve and, behind it, the plain one"
    assert sum(turns) >= len(ids)


def test_runs_of_a_real_daemon_grow_in_their_charts_and_meet_as_a_group(show: Show, client: Client) -> None:
    shown = show()
    runs = client.train("ppo", env_id="CartPole-v1", total_timesteps=8_192, seeds=(1, 2), label="pair")
    tab = shown.window.tabs["Metrics"]
    assert isinstance(tab, MetricsTab)
    shown.window.bench.bring_up("Metrics")
    shown.until(lambda: all(shown.studio.runs.get(run.run_id) for run in runs), "the runs")
    shown.studio.select([run.run_id for run in runs])
    tab.controls.seeds.choose("mean")
    shown.until(lambda: drawn(tab, RETURN) is not None, "a chart")
    chart = drawn(tab, RETURN)
    assert chart is not None
    chart.getPlotItem().getViewBox().setXRange(1000, 2000, padding=0)
    shown.until(lambda: all(has_ended(shown.studio, run.run_id) for run in runs), "their end", timeout_s=300)
    shown.until(lambda: "losses/value_loss" in tab.grid.tags)
    assert chart.viewRange()[0] == [1000, 2000]
    chart.show_all()
    shown.until(lambda: chart.viewRange()[0][1] > 6_000, "all of the curve")
    # The last rows of a run may come after its end is known.
    shown.until(lambda: [curve.at(4_000)[1] for curve in chart.curves] == [2], "both runs in the curve")
    (curve,) = chart.curves
    assert (curve.name, curve.note) == ("pair", "mean, n = 2: every seed, no band below 5")


def drawn(tab: MetricsTab, tag: str) -> ScalarChart | None:
    return next((card.chart for card in tab.grid.cards() if card.tag == tag), None)


def has_ended(studio: Studio, run_id: str) -> bool:
    record = studio.runs.get(run_id)
    return record is not None and record.state in TERMINAL
