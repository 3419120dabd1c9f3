"""The reader of a spool: every good line is taken once and in order, every damaged one is kept out and counted."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_directories import BODIES, healthy_lines, line_of

from mosaic import config
from mosaic.errors import SpoolCorrupt
from mosaic.spec import events
from mosaic.spec.events import KINDS, EventReader, RunCompleted, RunFailed
from mosaic.spec.files.spool_reader import LineReader

NASTY: list[Any] = [
    None,
    True,
    -1,
    0,
    7,
    2**31,
    2**53 + 1,
    2**63,
    2**70,
    10**400,
    1.5,
    -1e308,
    1e308,
    "7",
    "x",
    "nan",
    "-inf",
    "\0",
    "../../etc",
    "é" * 2000,
    [],
    [1],
    {},
    {"a": 1},
    {"a": "inf", "b": [2]},
]
RAW = [
    b"",
    b"garbage",
    b"\x00" * 40,
    b"\xff\xfe",
    b"[]",
    b"{}",
    b'"seq"',
    b"{" * 5000,
    b'{"v":1,"seq":2,"time":1.0,"kind":"scalars","global_step":4e664,"values":{}}',
    b'{"v":1,"seq":2,"time":NaN,"kind":"run.warning","message":"x"}',
    b'{"v":1,"seq":2,"time":1.0,"kind":"run.warning","message":"\\ud800"}',
    b'{"v":1,"seq":2,"time":1.0,"kind":"run.warning","message":' + b"[" * 5000 + b"]" * 5000 + b"}",
    b'{"v":1,"seq":' + b"9" * 5000 + b',"time":1.0,"kind":"run.warning","message":"x"}',
]
HEAD = ("v", "seq", "time", "kind")


def read_all(lines: list[bytes]) -> tuple[EventReader, list[events.Event]]:
    reader = EventReader()
    return reader, [*reader.read(lines), *reader.rest()]


def with_line(place: int, line: bytes) -> list[bytes]:
    lines = healthy_lines()
    lines[place] = line
    return lines


def check_all_others_are_taken(place: int, lines: list[bytes]) -> EventReader:
    reader, found = read_all(lines)
    others = [events.decode(line) for at, line in enumerate(lines) if at != place]
    assert [event for event in found if event in others] == others
    assert len(found) <= len(lines)
    assert reader.lines == len(lines)
    return reader


def test_a_healthy_spool_has_no_damage() -> None:
    reader, found = read_all(healthy_lines())
    assert [event.seq for event in found] == list(range(1, len(healthy_lines()) + 1))
    assert (reader.damaged, reader.first_damaged, reader.newer, reader.complaints) == (0, 0, 0, [])


@pytest.mark.parametrize("kind", BODIES)
def test_any_value_in_any_field_of_an_event_costs_that_line_at_most(kind: str) -> None:
    for field in (*HEAD, *BODIES[kind]):
        for value in NASTY:
            line = line_of(3, kind, BODIES[kind], **{field: value})
            reader = check_all_others_are_taken(2, with_line(2, line))
            assert reader.damaged <= 1


@pytest.mark.parametrize("line", RAW, ids=range(len(RAW)))
@pytest.mark.parametrize("place", [0, 1, 10])
def test_a_line_that_is_no_event_is_counted_with_its_place(line: bytes, place: int) -> None:
    reader = check_all_others_are_taken(place, with_line(place, line))
    assert (reader.damaged, reader.first_damaged) == (1, place + 1)
    assert reader.complaints[0].startswith(f"line {place + 1} of events.jsonl")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=150)
@given(changes=st.lists(st.tuples(st.sampled_from(sorted(BODIES)), st.integers(0, 30), JSON), min_size=10, max_size=20))
def test_any_json_anywhere_raises_nothing_and_loses_no_other_line(changes: list[tuple[str, int, Any]]) -> None:
    for kind, at, value in changes:
        names = [*HEAD, *BODIES[kind]]
        line = line_of(6, kind, BODIES[kind], **{names[at % len(names)]: value})
        check_all_others_are_taken(5, with_line(5, line))


def test_what_the_quick_check_takes_is_what_the_slow_check_makes() -> None:
    for kind, body in BODIES.items():
        quick = events.decode(line_of(1, kind, body)).body
        assert quick == config.from_json(KINDS[kind], body)
        assert type(quick) is KINDS[kind]
    whole = events.decode(line_of(1, "episode", BODIES["episode"] | {"episodic_return": 21}))
    assert whole == events.decode(line_of(1, "episode", BODIES["episode"]))
    old = {name: value for name, value in BODIES["eval.batch"].items() if name not in ("median", "iqm")}
    assert events.decode(line_of(1, "eval.batch", old)).body.median is None  # type: ignore[union-attr]
    for value in (2**53 + 1, 2**80):
        assert events.decode(line_of(1, "episode", BODIES["episode"] | {"episodic_return": value}))


def numbered(*seqs: int) -> list[bytes]:
    return [line_of(seq, "run.warning", {"message": str(at)}) for at, seq in enumerate(seqs, start=1)]


@pytest.mark.parametrize(
    ("seqs", "taken", "damaged", "first"),
    [
        ((1, 2, 2, 3), (1, 2, 3), 1, 3),
        ((1, 2, 5, 6), (1, 2, 5, 6), 1, 3),
        ((1, 2, 9_000, 4, 5), (1, 2, 4, 5), 1, 3),
        ((2**63 - 1, 2, 3), (2, 3), 1, 1),
        ((1, 2, 1, 2, 3), (1, 2, 3), 2, 3),
        ((4, 5, 6), (4, 5, 6), 1, 1),
        ((1, 2, 4), (1, 2, 4), 1, 3),
        ((1, 3, 2, 3, 4), (1, 2, 3, 4), 1, 2),
        ((7, 9, 5, 3), (3,), 3, 1),
    ],
)
def test_gaps_and_repeats_are_counted_and_the_rest_is_taken(
    seqs: tuple[int, ...], taken: tuple[int, ...], damaged: int, first: int
) -> None:
    reader, found = read_all(numbered(*seqs))
    assert tuple(event.seq for event in found) == taken
    assert (reader.damaged, reader.first_damaged) == (damaged, first)


@pytest.mark.parametrize("cut", range(6))
def test_lines_that_come_in_pieces_give_the_same(cut: int) -> None:
    lines = [*numbered(1, 2), b"?", *numbered(4, 9_000, 6, 7)]
    whole, together = read_all(lines)
    reader = EventReader()
    apart = [*reader.read(lines[:cut]), *reader.read(lines[cut:]), *reader.rest()]
    assert apart == together
    assert (reader.damaged, reader.first_damaged, reader.last_seq) == (whole.damaged, 3, 7)


def test_a_number_behind_a_gap_at_the_end_is_heard_and_not_believed() -> None:
    """The end of a run counts though the line before it is gone; a later line goes on from either number."""
    reader = EventReader()
    assert len(reader.read([*numbered(1, 2), line_of(10**18, "run.completed", BODIES["run.completed"])])) == 2
    assert [type(event.body) for event in reader.rest()] == [RunCompleted]
    assert [event.seq for event in reader.read(numbered(4, 5))] == [4, 5]


@pytest.mark.parametrize(
    ("head", "damaged", "newer"), [({"kind": "run.exploded"}, 0, 1), ({"v": 2}, 0, 1), ({"v": 0}, 1, 0)]
)
def test_an_event_of_a_newer_version_is_left_out_and_is_no_damage(
    head: dict[str, Any], damaged: int, newer: int
) -> None:
    reader = check_all_others_are_taken(4, with_line(4, line_of(5, "run.warning", {"message": "?"}, **head)))
    assert (reader.damaged, reader.newer) == (damaged, newer)


def test_a_field_that_a_newer_version_added_is_left_out() -> None:
    assert events.decode(line_of(1, "run.warning", {"message": "x", "colour": 1})).body == events.Warned(message="x")
    with pytest.raises(SpoolCorrupt, match="stoqped: is not a known key"):
        events.decode(line_of(1, "run.completed", {"global_step": 1, "stoqped": True, "reason": ""}))


def test_a_very_long_line_takes_bounded_memory_and_costs_itself_alone(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    first, *rest = healthy_lines()
    with path.open("wb") as file:
        file.write(first + b"\n" + b'{"v":1,"seq":2,"message":"')
        for _ in range(64):
            file.write(b"x" * 2**20)
        file.write(b'"}\n' + b"\n".join(rest[1:]) + b"\n")
    lines, reader, found = LineReader(path), EventReader(), list[events.Event]()
    tracemalloc.start()
    while new := lines.new_lines(2**18):
        found += reader.read(new)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * 2**20
    assert [event.seq for event in found] == [1, *range(3, len(rest) + 2)]
    assert (reader.damaged, reader.first_damaged) == (1, 2)


def test_a_long_line_that_is_still_being_written_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines, reader = LineReader(path), EventReader()
    path.write_bytes(b"x" * (9 * 2**20))
    assert reader.read(lines.new_lines(2**18)) == []
    assert lines.new_lines(2**18) == []
    with path.open("ab") as file:
        file.write(b"yyy\n" + line_of(2, "run.failed", BODIES["run.failed"]) + b"\n")
    assert [type(event.body) for event in reader.read(lines.new_lines(2**18))] == [RunFailed]
    assert reader.damaged == 1


def test_encoded_events_are_read_back_whatever_numbers_they_hold() -> None:
    for value in (float("nan"), float("inf"), 1e308, -0.0, 5e-324):
        body = events.Scalars(global_step=2**63 - 1, values={"x": events.number(value)})
        assert events.decode(events.encode(events.Event(2**63 - 1, 0.0, body))).body == body
    assert json.loads(events.encode(events.Event(1, 0.0, RunCompleted(global_step=1))))["seq"] == 1
