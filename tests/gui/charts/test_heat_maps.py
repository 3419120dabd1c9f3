"""Heat maps say what the histograms of a run say."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip

from mosaic.gui.models.charts.heat_maps import HeatMap
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.heat_map_view import HeatMapView
from mosaic.spec.files.histogram_file import BINS, Histogram, HistogramRow


def heat_map(*histograms: Histogram, name: str = "actor.0.weight") -> HeatMap:
    rows = [
        HistogramRow(100 * at, at, 1.7e9 + at, {name: one}, {name: one}) for at, one in enumerate(histograms, start=1)
    ]
    return HeatMap(name, rows, histograms)


def spread(low: float, high: float) -> Histogram:
    """As many values in each bin."""
    return Histogram(BINS, low, high, (1,) * BINS)


def test_every_value_lies_in_its_cell_whatever_the_bins_were() -> None:
    one = heat_map(spread(0, 1), spread(0, 4), Histogram(5, 2.0, 2.0, (5,)))
    low, high = one.scale
    assert (low, high) == (0, 4)
    shares = one.shares(np.arange(3), 8)
    np.testing.assert_allclose(shares[0], [0.5, 0.5, 0, 0, 0, 0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(shares[1], 0.125, atol=1e-9)
    assert shares[2].sum() == pytest.approx(1)
    assert shares[2][3:5].sum() == pytest.approx(1)
    cell = one.cell(1, 0.0, 1.0)
    assert (cell.row.global_step, cell.share) == (200, pytest.approx(0.25))


def test_a_few_outliers_do_not_take_the_room_of_the_others() -> None:
    counts = [0] * BINS
    counts[0], counts[-1] = 10_000, 1
    low, high = heat_map(Histogram(10_001, 0.0, 64.0, tuple(counts))).scale
    assert (low, high) == (0, 1)


def test_histograms_without_any_finite_value_are_no_error() -> None:
    one = heat_map(Histogram(3, 0.0, 0.0, (), 3))
    assert one.shares(np.array([0]), 4).sum() == 0
    assert one.scale[0] < one.scale[1]


def test_keys_read_every_cell_and_show_one_parameter_alone(application: QApplication) -> None:
    view = HeatMapView(Theme(application), "Weights")
    view.resize(700, 300)
    maps = [heat_map(spread(0, 1), spread(0, 2), name=f"layer.{at}") for at in range(30)]
    view.show_maps(maps)
    view.show()
    view.setFocus()
    assert len(view.places()) == 12
    QTest.keyClick(view, Qt.Key.Key_Left)
    assert view.cursor_cell is not None
    assert view.cursor_cell[0] == 0
    assert "step 100" in QToolTip.text()
    for _ in range(29):
        QTest.keyClick(view, Qt.Key.Key_PageDown)
    assert any(one.name == "layer.29" for one, _ in view.places())
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert [one.name for one, _ in view.places()] == ["layer.29"]
    QTest.keyClick(view, Qt.Key.Key_Return)
    assert len(view.places()) > 1
    assert not view.grab().isNull()
    view.show_maps([])
    assert view.places() == []
    QTest.keyClick(view, Qt.Key.Key_Left)
    view.deleteLater()
