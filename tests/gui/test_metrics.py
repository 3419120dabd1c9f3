"""The Metrics tab and its models: what is drawn is what was logged, at every zoom, for every seed."""

import csv
import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QPoint, Qt
from PySide6.QtGui import QImage
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit

from mosaic.gui.models.batch import Batch, NewPoints, Notice, Points
from mosaic.gui.models.chart_view import ChartView
from mosaic.gui.models.charts import Member, group_name
from mosaic.gui.models.feed import Feed
from mosaic.gui.models.line import BLOCK, Line
from mosaic.gui.models.link import Link
from mosaic.gui.models.plotted import SeedsCurve
from mosaic.gui.models.seeds import OUTSIDE, RESAMPLES, interpolated, summary
from mosaic.gui.models.series import Column, Series, trailing_mean
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.ticks import clock_text, log_ticks, span_text, time_ticks
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.card_grid import places_of
from mosaic.gui.widgets.chart_card import ChartCard
from mosaic.gui.widgets.scalar_chart import ScalarChart
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState

from .conftest import Show

pytestmark = pytest.mark.usefixtures("application")
NAN, INF = math.nan, math.inf
ALL = (-INF, INF)
RETURN = "charts/episodic_return"


def a_series(values: Sequence[float] | Column, steps: Sequence[float] | Column | None = None) -> Series:
    series = Series()
    x = np.arange(len(values), dtype=float) if steps is None else np.asarray(steps, dtype=float)
    series.extend(Points(x.tolist(), (1.7e9 + x).tolist(), np.asarray(values, dtype=float).tolist()))
    return series


def a_line(values: Sequence[float] | Column, steps: Sequence[float] | None = None, **how: int) -> Line:
    line = Line(a_series(values, steps), how.get("window", 1), log=bool(how.get("log")))
    line.update()
    return line


@pytest.mark.parametrize("window", [1, 7])
@pytest.mark.parametrize("log", [False, True])
def test_a_line_that_grew_bit_by_bit_is_the_line_of_the_whole(window: int, log: bool) -> None:
    random = np.random.default_rng(1)
    values = random.normal(size=1000)
    values[[50, 51, 700]] = NAN, INF, -INF
    whole = a_line(values, window=window, log=log)
    series = Series()
    growing = Line(series, window, log=log)
    done = 0
    while done < 1000:
        count = int(random.integers(1, 40))
        part = values[done : done + count].tolist()
        series.extend(Points([float(done + n) for n in range(len(part))], [0.0] * len(part), part))
        growing.update()
        done += count
    np.testing.assert_allclose(growing.y, whole.y)
    for columns in (3, 20):
        np.testing.assert_allclose(
            growing.reduced(series.steps, *ALL, columns).y, whole.reduced(whole.series.steps, *ALL, columns).y
        )
    assert (growing.missing, growing.not_positive) == (whole.missing, whole.not_positive)
    assert growing.missing == 3


def test_a_spike_in_a_million_points_is_seen_from_afar_and_exact_from_near() -> None:
    values = np.random.default_rng(2).normal(size=1_000_000)
    values[654_321] = 99.0
    line = a_line(values)
    x = line.series.steps
    far = line.reduced(x, *ALL, 800)
    assert len(far.x) <= 2 * 800 + 4
    assert (far.y.max(), far.x[far.y.argmax()]) == (99.0, 654_321)
    assert far.y.min() == values.min()
    near = line.reduced(x, 654_300.0, 654_350.0, 800)
    np.testing.assert_array_equal(near.y, values[654_299:654_352])


@pytest.mark.parametrize("place", [0, 1, BLOCK, 99_999, 99_990, 77_777])
def test_no_place_hides_a_spike(place: int) -> None:
    values = np.zeros(100_003)
    values[place] = -5.0
    line = a_line(values)
    assert line.reduced(line.series.steps, *ALL, 40).y.min() == -5.0
    assert line.reduced(line.series.steps, place - 20_000.0, place + 20_000.0, 40).y.min() == -5.0


def test_what_is_not_finite_is_a_gap_and_counted() -> None:
    values = np.ones(10_000)
    values[4000:6000] = NAN
    values[9000] = INF
    line = a_line(values, window=5)
    drawn = line.reduced(line.series.steps, *ALL, 100)
    gap = drawn.x[np.isnan(drawn.y)]
    assert gap.min() >= 3900
    assert gap.max() <= 6100
    assert line.missing == 2001
    near = line.reduced(line.series.steps, 8998.0, 9002.0, 100)
    assert np.isnan(near.y).sum() == 1


def test_an_exploded_loss_does_not_spoil_the_mean_after_it() -> None:
    values = np.full(100, 0.5)
    values[10] = 1e25
    assert trailing_mean(values, 7)[50] == 0.5


def plain_interpolation(x: list[float], y: list[float], at: float) -> float:
    if not x[0] <= at <= x[-1]:
        return NAN
    before = max(index for index in range(len(x)) if x[index] <= at)
    if x[before] == at:
        return y[before] if math.isfinite(y[before]) else NAN
    share = (at - x[before]) / (x[before + 1] - x[before])
    value = y[before] + share * (y[before + 1] - y[before])
    return value if math.isfinite(value) else NAN


def seeds_of_different_length() -> list[tuple[Column, Column]]:
    random = np.random.default_rng(3)
    seeds: list[tuple[Column, Column]] = []
    for length in (60, 50, 60, 30, 55, 60):
        x = np.sort(random.integers(0, 3 * length, length)).astype(float)
        seeds.append((x, random.normal(size=length)))
    seeds[0][1][[20, 21]] = NAN, INF
    return seeds


def test_seeds_meet_at_a_common_x_as_in_a_plain_loop() -> None:
    for x, y in seeds_of_different_length():
        knots = np.arange(-5, 190, 0.5)
        expected = [plain_interpolation(x.tolist(), y.tolist(), at) for at in knots.tolist()]
        np.testing.assert_allclose(interpolated(x, y, knots), expected)


@pytest.mark.parametrize("middle", ["mean", "IQM"])
def test_middle_band_and_n_are_those_of_a_plain_loop(middle: str) -> None:
    knots = np.arange(-5.0, 190.0)
    values = np.stack([interpolated(x, y, knots) for x, y in seeds_of_different_length()])
    found = summary(values, "mean" if middle == "mean" else "IQM")
    for place in range(len(knots)):
        there = sorted(value for value in values[:, place] if math.isfinite(value))
        assert found.count[place] == len(there)
        if not there:
            assert math.isnan(found.middle[place])
            continue
        made = plain_mean(there) if middle == "mean" else plain_iqm(there)
        np.testing.assert_allclose([found.middle[place], found.bottom[place], found.top[place]], made)
    assert set(found.count.tolist()) >= {0, 3, 6}


def plain_mean(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1)) if len(values) > 1 else 0.0
    return [mean, mean - deviation, mean + deviation]


def plain_iqm(values: list[float]) -> list[float]:
    n, random = len(values), np.random.default_rng(0)

    def iqm(sample: list[float]) -> float:
        kept = sorted(sample)[n // 4 : n - n // 4]
        return sum(kept) / len(kept)

    again = sorted(iqm([values[index] for index in draw]) for draw in random.integers(0, n, (RESAMPLES, n)))
    return [iqm(values), again[OUTSIDE], again[-1 - OUTSIDE]]


def test_a_group_says_where_its_n_falls() -> None:
    lengths = (100, 60, 60, 30)
    lines = [a_line([1.0] * length) for length in lengths]
    curve = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "mean", False)
    assert [(fall.x, fall.n) for fall in curve.falls()] == [(29, 3), (59, 1)]
    assert curve.note == "mean ± std, n = 4"
    assert [curve.at(x)[1] for x in (10, 29, 29.5, 59.5, 99, 100)] == [4, 4, 3, 1, 1, 0]


def test_the_extremes_of_every_seed_are_knots_of_the_group() -> None:
    values = [np.zeros(50_000) for _ in range(5)]
    values[3][12_345] = 50.0
    lines = [a_line(each) for each in values]
    drawn = SeedsCurve("ppo", 0, [(line.series.steps, line) for line in lines], "mean", False).drawn(*ALL, 400)
    assert drawn.line.y.max() == 10.0
    assert len(drawn.line.x) < 600


def test_a_group_is_called_by_what_its_seeds_share() -> None:
    assert group_name([Member("a", "ppo_cartpole_s1", 0), Member("b", "ppo_cartpole_s12", 0)]) == "ppo_cartpole"
    assert group_name([Member("a", "walker, seed 1", 0), Member("b", "walker, seed 2", 0)]) == "walker"
    assert group_name([Member("a", "walker 3", 0), Member("b", "walker 3", 0)]) == "walker 3"


def test_marks_of_time_are_round_and_few() -> None:
    spacing, places = time_ticks(0, 7500, 8, is_clock=False)
    assert (spacing, places[:3]) == (1800, [0, 1800, 3600])
    assert [span_text(place, spacing) for place in places] == ["0 s", "30 min", "1 h 00", "1 h 30", "2 h 00"]
    assert [span_text(s, 15) for s in (0, 45, 75)] == ["0 s", "45 s", "1:15"]
    spacing, places = time_ticks(1.7e9, 1.7e9 + 86_400, 6, is_clock=True)
    assert all(clock_text(place, spacing).endswith(":00") or " " in clock_text(place, spacing) for place in places)


def test_marks_of_a_log_axis_are_decades_or_what_lies_between() -> None:
    assert log_ticks(-3, 3, 8) == [-3, -2, -1, 0, 1, 2, 3]
    assert [round(10**tick, 6) for tick in log_ticks(-0.1, 1.1, 8)] == [1, 2, 5, 10]
    within = [10**tick for tick in log_ticks(math.log10(210), math.log10(290), 6)]
    np.testing.assert_allclose(within, [220, 240, 260, 280])


def test_cards_lie_in_order_without_overlap_whatever_the_width() -> None:
    for width in (200, 700, 1000, 1600):
        for count in (1, 2, 3, 7, 500):
            places = places_of(count, width, 600)
            assert len(places) == count
            assert all(place.right() < width for place in places)
            assert not any(a.intersects(b) for a, b in pairwise(places))
            assert [(p.top(), p.left()) for p in places[1:]] == sorted((p.top(), p.left()) for p in places[1:])


class Fed:
    """The real tab on a studio that is fed by hand."""

    def __init__(self, application: QApplication, home: Home) -> None:
        self._application = application
        self.theme = Theme(application)
        link = Link(home)
        self.studio = Studio(home, Feed(link), link)
        self.tab = MetricsTab(self.studio, self.theme)
        self.tab.resize(1030, 620)
        self.tab.show()

    def select(self, count: int, group: str = "") -> list[str]:
        ids = [new_run_id() for _ in range(count)]
        records = [
            RunRecord(run_id=run_id, algo="ppo", env_id="CartPole-v1", seed=n, state=RunState.RUNNING, group=group)
            for n, run_id in enumerate(ids, start=1)
        ]
        self.studio.take(Batch(records=tuple(records)))
        self.studio.select(ids)
        return ids

    def feed(self, run_id: str, values: Sequence[float] | Column, *, first: int = 0, tag: str = RETURN) -> None:
        steps = [float(first + place) for place in range(len(values))]
        points = Points(steps, [1.7e9 + step for step in steps], np.asarray(values, dtype=float).tolist())
        self.studio.take(Batch(points=(NewPoints(run_id, {tag: points}),)))

    def until(self, holds: Callable[[], object], what: str = "") -> None:
        end = time.monotonic() + 15
        while not holds():
            assert time.monotonic() < end, f"waited for {what or holds}"
            self._application.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents, 20)

    def card(self, tag: str = RETURN) -> ChartCard:
        """Drawn, with all that was fed."""
        self.until(lambda: any(card.tag == tag for card in self.tab.grid.seen()), f"a card of {tag}")
        card = next(card for card in self.tab.grid.cards() if card.tag == tag)
        self.tab.refresh()

        def is_drawn() -> bool:
            view = self.tab.controls.view
            wanted = self.tab.charts.signature(
                tag, self.tab.members(), ChartView(view.x, view.seeds, view.window, card.log)
            )
            return card.chart is not None and card.drawn == wanted

        self.until(is_drawn, f"the chart of {tag}")
        return card

    def chart(self, tag: str = RETURN) -> ScalarChart:
        chart = self.card(tag).chart
        assert chart is not None
        return chart


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
    assert (curve.name, curve.note, curve.at(10)) == ("ppo_cartpole", "mean ± std, n = 4", (1.5, 4))
    assert curve.at(40) == (2.0, 3)
    assert "n = 4" in fed.tab.legend.text()
    marks = [item.toPlainText() for item in chart.getPlotItem().items if hasattr(item, "toPlainText")]
    assert marks == ["n = 3"]
    fed.tab.controls.seeds.choose("IQM")
    assert fed.chart().curves[0].note == "IQM 95 % CI, n = 4"
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
    began = time.thread_time()
    fed.tab.refresh()
    assert time.thread_time() - began < 0.1
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


def test_a_lot_of_data_never_stalls_the_window(fed: Fed, application: QApplication) -> None:
    ids = fed.select(10)
    values = np.random.default_rng(5).normal(size=300_000)
    for run_id in ids:
        fed.feed(run_id, values)
    card, turns = fed.card(), [0.0]
    fed.tab.controls.smoothing.setValue(50)
    while card.drawn != fed.tab.charts.signature(RETURN, fed.tab.members(), fed.tab.controls.view):
        began = time.thread_time()
        application.processEvents()
        turns.append(time.thread_time() - began)
    print(f"longest turn {max(turns) * 1000:.0f} ms")
    assert max(turns) < 0.25


def test_runs_of_a_real_daemon_grow_in_their_charts_and_meet_as_a_group(show: Show, client: Client) -> None:
    shown = show()
    runs = client.train("ppo", env_id="CartPole-v1", total_timesteps=40_000, seeds=(1, 2), label="pair")
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
    shown.until(lambda: all(has_ended(shown.studio, run.run_id) for run in runs), "their end", timeout_s=60)
    shown.until(lambda: "losses/value_loss" in tab.grid.tags)
    assert chart.viewRange()[0] == [1000, 2000]
    chart.show_all()
    shown.until(lambda: chart.viewRange()[0][1] > 30_000, "all of the curve")
    (curve,) = chart.curves
    assert (curve.name, curve.note) == ("pair", "mean ± std, n = 2")
    assert curve.at(20_000)[1] == 2


def drawn(tab: MetricsTab, tag: str) -> ScalarChart | None:
    return next((card.chart for card in tab.grid.cards() if card.tag == tag), None)


def has_ended(studio: Studio, run_id: str) -> bool:
    record = studio.runs.get(run_id)
    return record is not None and record.state in TERMINAL
