"""A curve in bins loses no value, however many come and in whatever pieces."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.web.binned_curve import BinnedCurve
from mosaic.web.wire import columns, text

ROWS = st.lists(st.tuples(st.integers(0, 10**7), st.floats(-1e6, 1e6)), min_size=1, max_size=200)


@given(ROWS, st.integers(1, 50))
def test_pieces_of_any_size_make_the_same_curve(rows: list[tuple[int, float]], size: int) -> None:
    steps, values = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    whole, pieces = BinnedCurve(16), BinnedCurve(16)
    whole.add(steps, values)
    for at in range(0, len(rows), size):
        pieces.add(steps[at : at + size], values[at : at + size])
    found, same = whole.points(), pieces.points()
    for name, column in vars(found).items():
        np.testing.assert_allclose(column, vars(same)[name], rtol=1e-9, atol=1e-6, err_msg=name)
    assert found.count.sum() == len(rows) == whole.rows
    assert found.low.min() == values.min()
    assert found.high.max() == values.max()
    assert (found.count * found.mean).sum() == pytest.approx(values.sum(), rel=1e-9, abs=1e-3)


def test_what_a_page_has_is_true_of_all_before_the_first_bin_that_changed() -> None:
    generator = np.random.default_rng(0)
    curve, page = BinnedCurve(64), np.empty((0, 2))
    for piece in np.array_split(np.arange(5000.0), 40):
        first = curve.add(piece, generator.normal(size=len(piece)))
        points = curve.points(first)
        page = np.concatenate([page[: curve.points_before(first)], np.stack([points.x, points.mean], axis=1)])
        whole = curve.points()
        np.testing.assert_array_equal(page, np.stack([whole.x, whole.mean], axis=1))


def test_a_value_that_is_not_a_number_is_counted_and_in_no_mean() -> None:
    curve = BinnedCurve(8)
    curve.add(np.array([0.0, 1, 2, 3]), np.array([1.0, np.nan, np.inf, 3.0]))
    assert (curve.rows, curve.not_finite) == (4, 2)
    assert curve.points().mean.tolist() == [1.0, 3.0]


def test_wider_bins_leave_the_curve_as_it_is() -> None:
    curve = BinnedCurve(16)
    curve.add(np.arange(16.0), np.arange(16.0))
    assert curve.points_of_width(8).mean.tolist() == [3.5, 11.5]
    assert len(curve.points().x) == 16


def test_json_without_nan_and_columns_at_multiples_of_eight() -> None:
    assert text({"a": float("nan"), "b": [1.5, float("inf")]}) == '{"a":null,"b":[1.5,null]}'
    message = columns({"name": "é"}, x=np.arange(3.0), y=np.arange(2.0))
    length = int.from_bytes(message[:4], "little")
    assert (4 + length) % 8 == 0
    assert np.frombuffer(message[4 + length :]).tolist() == [0, 1, 2, 0, 1]
