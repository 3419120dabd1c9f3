"""Events survive their line; a broken line is SpoolCorrupt and nothing else."""

import contextlib
import dataclasses
import json
import math
from typing import Any, get_type_hints

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mosaic import config
from mosaic.errors import SpoolCorrupt
from mosaic.spec import events
from mosaic.spec.events import KINDS, Episode, Event, EventReader, RunCompleted, Scalars, Warned

NUMBERS = st.floats().map(events.number)
TIMES = st.floats(0, 4e9).map(lambda seconds: round(seconds, 3))


def field_names(kind: str) -> list[str]:
    return [field.name for field in dataclasses.fields(KINDS[kind])]


def bodies(kind: str) -> st.SearchStrategy[Any]:
    hints = get_type_hints(KINDS[kind], include_extras=True)
    return st.builds(KINDS[kind], **{name: values(hints[name]) for name in field_names(kind)})


def values(hint: Any) -> st.SearchStrategy[Any]:
    if hint is float:
        return st.floats(allow_nan=False, allow_infinity=False)
    if hint == events.Number:
        return NUMBERS
    if hint == events.Number | None:
        return st.none() | NUMBERS
    if hint == dict[str, events.Number]:
        return st.dictionaries(st.text(), NUMBERS, max_size=4)
    return st.from_type(hint)


def line_of(**changes: object) -> bytes:
    good = {"v": 1, "seq": 1, "time": 1.5, "kind": "run.completed", "global_step": 3}
    data = {key: value for key, value in (good | changes).items() if value is not ...}
    return json.dumps(data).encode() + b"\n"


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_every_kind_of_event_survives_its_line(kind: str, data: st.DataObject) -> None:
    event = Event(data.draw(st.integers(1, 2**60)), data.draw(TIMES), data.draw(bodies(kind)))
    line = events.encode(event)
    assert "\n" not in line
    assert events.decode(line) == event
    assert events.decode(line.encode() + b"\n") == event


@pytest.mark.parametrize("kind", KINDS)
def test_no_kind_has_a_field_that_hides_a_field_of_the_head(kind: str) -> None:
    assert not {"v", "seq", "time", "kind"} & set(field_names(kind))


def test_the_line_is_flat_and_starts_with_its_head() -> None:
    body = Episode(global_step=512, slot=3, episodic_return=200.0, episodic_length=200)
    assert events.encode(Event(7, 1763200000.1234, body)) == (
        '{"v":1,"seq":7,"time":1763200000.123,"kind":"episode",'
        '"global_step":512,"slot":3,"episodic_return":200.0,"episodic_length":200}'
    )


@pytest.mark.parametrize(("value", "word"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf"), (1.5, 1.5)])
def test_numbers_that_json_cannot_carry_become_words(value: float, word: object) -> None:
    assert events.number(value) == word
    event = Event(1, 0.0, Scalars(global_step=1, values={"losses/value_loss": events.number(value)}))
    assert events.decode(events.encode(event)) == event


def test_a_raw_nan_is_not_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        events.encode(Event(1, 0.0, Scalars(global_step=1, values={"x": math.nan})))


def test_a_text_that_is_no_utf8_is_written_with_question_marks() -> None:
    event = Event(1, 0.0, Warned(message="cannot read caf\udce9 é"))
    assert events.decode(events.encode(event).encode()).body == Warned(message="cannot read caf? é")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused(number: str) -> None:
    line = '{"v":1,"seq":1,"time":1.0,"kind":"scalars","global_step":1,"values":{"x":%s}}'
    assert events.decode(line % "1.0").body == Scalars(global_step=1, values={"x": 1.0})
    with pytest.raises(SpoolCorrupt):
        events.decode(line % number)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "run.exploded"}, "unknown kind 'run.exploded'"),
        ({"kind": ["run.completed"]}, "unknown kind"),
        ({"kind": None}, "unknown kind"),
        ({"v": 2}, "version 2 is not 1"),
        ({"v": "1"}, "version"),
        ({"v": True}, "version"),
        ({"v": ...}, "without 'v'"),
        ({"seq": ...}, "without 'seq'"),
        ({"time": ...}, "without 'time'"),
        ({"kind": ...}, "without 'kind'"),
        ({"seq": 0}, "seq 0"),
        ({"seq": True}, "seq True"),
        ({"seq": 1.0}, "seq 1.0"),
        ({"seq": "1"}, "seq '1'"),
        ({"time": "now"}, "time 'now'"),
        ({"time": True}, "time True"),
        ({"time": 10**400}, "time 1000"),
        ({"global_step": -1}, "global_step: must be greater than or equal to 0"),
        ({"global_step": "3"}, "global_step: must be a valid integer"),
        ({"global_step": ...}, "global_step: is missing"),
        ({"extra": 1}, "extra: is not a known key"),
    ],
)
def test_a_line_that_breaks_a_rule_says_which(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(SpoolCorrupt) as caught:
        events.decode(line_of(**changes))
    assert reason in str(caught.value)


@settings(max_examples=200)
@given(line=st.binary(max_size=200) | st.text(max_size=200))
@example(line=b"")
@example(line=b"\xef\xbb\xbf{}")
@example(line=b"[" * 100_000)
@example(line=b'{"v":1,"seq":' + b"9" * 5000 + b"}")
@example(line="\ud800")
def test_random_bytes_are_spool_corrupt_and_nothing_else(line: bytes | str) -> None:
    with pytest.raises(SpoolCorrupt):
        events.decode(line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200)
@given(
    changes=st.dictionaries(st.sampled_from(["v", "seq", "time", "kind", "global_step", "stopped", "x"]), JSON),
    kind=st.sampled_from(list(KINDS)),
)
def test_an_event_with_any_json_in_its_fields_decodes_or_is_spool_corrupt(changes: dict[str, Any], kind: str) -> None:
    line = line_of(**{"kind": kind} | changes)
    try:
        event = events.decode(line)
    except SpoolCorrupt:
        return
    assert events.decode(events.encode(event)).body == event.body


@settings(max_examples=200)
@given(position=st.integers(0, 10**6), byte=st.integers(0, 255))
def test_a_flipped_byte_decodes_or_is_spool_corrupt(position: int, byte: int) -> None:
    line = bytearray(line_of(kind="episode", slot=1, episodic_return="nan", episodic_length=9))
    line[position % len(line)] = byte
    with contextlib.suppress(SpoolCorrupt):
        events.decode(bytes(line))


def test_events_of_an_attempt_and_its_resume_are_one_sequence() -> None:
    started = KINDS["run.started"]
    first = started(algo="ppo", env_id="E-v0", seed=1, total_timesteps=10)  # type: ignore[call-arg]
    again = dataclasses.replace(first, attempt=2, resumed_from_step=4)  # type: ignore[type-var]
    lines = [events.encode(Event(seq, 0.0, body)).encode() + b"\n" for seq, body in enumerate((first, again), 1)]
    assert [event.body for event in EventReader().read(lines)] == [first, again]


def test_the_schema_of_every_kind_describes_every_field() -> None:
    for body in KINDS.values():
        schema: Any = config.json_schema(body)
        assert all(described.get("description") for described in schema["properties"].values())


def test_decoded_defaults_are_those_of_the_class() -> None:
    assert events.decode(line_of()).body == RunCompleted(global_step=3, stopped=False)
