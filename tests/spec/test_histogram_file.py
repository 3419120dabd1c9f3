"""The file of histograms: read as written, small for ever, damaged line by line."""

import json

import pytest

from mosaic.spec.files.histogram_file import (
    WHOLE,
    DamagedRow,
    Histogram,
    HistogramRow,
    decode,
    encode,
    is_due,
    rows_of,
)

ROW = HistogramRow(
    global_step=512,
    update=4,
    time=1.7e9,
    weights={"actor.0.weight": Histogram(3, -0.5, 0.25, (1, 0, 2)), "actor.0.bias": Histogram(2, 0.0, 0.0, (), 2)},
    gradients={"actor.0.weight": Histogram(3, 0.125, 0.125, (3,))},
)


def test_a_row_is_read_as_it_was_written() -> None:
    assert decode(encode(ROW).encode()) == ROW


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": None},
        {"update": 0},
        {"global_step": -1},
        {"global_step": 1.5},
        {"time": "now"},
        {"weights": []},
        {"weights": {"a": {"count": 1, "low": 2, "high": 1, "counts": [1]}}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 1, "counts": [-1]}}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 1, "counts": [1] * 65}}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 1e999, "counts": [1]}}},
        {"weights": {str(number): {"count": 1, "low": 0, "high": 1, "counts": [1]} for number in range(65)}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 1e308, "counts": [1]}}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 10**400, "counts": [1]}}},
        {"weights": {"a": {"count": 1e999, "low": 0, "high": 1, "counts": [1]}}},
        {"weights": {"a": {"count": -1, "low": 0, "high": 1, "counts": [1]}}},
        {"weights": {"a": {"count": 1, "low": 0, "high": 1, "counts": [1], "not_finite": "x"}}},
        {"time": 10**400},
        {"global_step": 10**400},
        {"gradients": {"a": 3}},
    ],
)
def test_what_breaks_a_rule_is_damaged(change: dict[str, object]) -> None:
    with pytest.raises(DamagedRow):
        decode(json.dumps(json.loads(encode(ROW)) | change).encode())


def test_damaged_lines_are_left_out_and_counted() -> None:
    good = encode(ROW).encode()
    assert rows_of([good, b"", b"\xff\xfe", good[:40], b"[1, 2]", b"3", good]) == ([ROW, ROW], 5)


def test_lines_get_rarer_so_that_the_file_of_any_run_stays_small() -> None:
    due = [update for update in range(1, 40 * WHOLE * 3 + 1) if is_due(update, 3)]
    assert due[:WHOLE] == [3 * number for number in range(1, WHOLE + 1)]
    for doubling in range(5):
        low, high = 3 * WHOLE << doubling, 3 * WHOLE << (doubling + 1)
        assert sum(low < update <= high for update in due) == WHOLE // 2
    assert not any(is_due(update, 0) for update in range(1, 100))
