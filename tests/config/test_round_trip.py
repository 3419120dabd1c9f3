"""A form that knows only the JSON Schema makes values that survive JSON and flags unchanged."""

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from annotated_types import Ge, Gt, Le, Lt, MaxLen, MinLen
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic import config

HOSTILE_TEXTS = [
    "", " ", "a b", "-", "--", "-1", "--help", "-x=1", "None", r"\None", r"\\None", "null", "True", "@file", "a=b",
    "'", '"', '"None"', "$HOME", "*", "line\nfeed", "tab\t", "é", "日本", "\u2028", "\U0001f600", "nan", "{}", "[]",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A nested part."""

    on: bool = True
    """A flag."""
    maybe: bool | None = None
    """A flag with a third value."""
    text: str = "x"
    """A text."""
    offsets: tuple[float, ...] = ()
    """Numbers that may be negative."""


@dataclass(frozen=True, kw_only=True)
class Everything:
    """A field of each type that a config may have."""

    rate: Annotated[float, Gt(0), Lt(1)] = 0.5
    """Open bounds."""
    share: Annotated[float, Ge(-1), Le(1)] = 0.0
    """Closed bounds."""
    limit: Annotated[float, Gt(0)] | None = None
    """An optional bounded number."""
    count: Annotated[int, Ge(-5), Le(2**70)] = 3
    """A whole number."""
    seed: int | None = 1
    """An optional whole number."""
    on: bool = False
    """A flag."""
    shape: Literal["round", "square", "-flat", "None"] = "round"
    """A choice."""
    size: Literal[1, 2, 4] = 2
    """A choice of numbers."""
    name: str = ""
    """A text."""
    label: Annotated[str, MinLen(1), MaxLen(8)] = "None"
    """A text with a length."""
    note: str | None = None
    """An optional text."""
    alias: Annotated[str, MaxLen(8)] | None = "None"
    """An optional text with a length."""
    sizes: tuple[int, ...] = (64, 64)
    """A list of any length."""
    pair: tuple[int, float] = (1, 0.5)
    """A list of two."""
    inner: Inner = Inner(on=False, text="parent's default")
    """A nested part."""


def form_values(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What a form could hand over for this schema; it sees the schema and nothing else."""
    if "$ref" in schema:
        return form_values(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    if "anyOf" in schema:
        return st.one_of([form_values(member, definitions) for member in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    return _BY_TYPE[schema["type"]](schema, definitions)


def _number(schema: dict[str, Any], _: object) -> st.SearchStrategy[float]:
    return st.floats(
        schema.get("minimum", schema.get("exclusiveMinimum")),
        schema.get("maximum", schema.get("exclusiveMaximum")),
        exclude_min="exclusiveMinimum" in schema,
        exclude_max="exclusiveMaximum" in schema,
        allow_nan=False,
        allow_infinity=False,
    )


def _text(schema: dict[str, Any], _: object) -> st.SearchStrategy[str]:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    fitting = [text for text in HOSTILE_TEXTS if shortest <= len(text) <= (longest or len(text))]
    # JSON text is UTF-8, which has no lone surrogates.
    free = st.text(st.characters(exclude_categories=["Cs"]), min_size=shortest, max_size=longest)
    return st.sampled_from(fitting) | free


def _array(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    if "prefixItems" in schema:
        return st.tuples(*(form_values(item, definitions) for item in schema["prefixItems"])).map(list)
    return st.lists(form_values(schema["items"], definitions), max_size=4)


def _object(schema: dict[str, Any], definitions: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: form_values(described, definitions) for name, described in schema["properties"].items()}
    needed = schema.get("required", [])
    return st.fixed_dictionaries(
        {name: fields[name] for name in needed},
        optional={name: values for name, values in fields.items() if name not in needed},
    )


_BY_TYPE = {
    "number": _number,
    "integer": lambda schema, _: st.integers(schema.get("minimum"), schema.get("maximum")),
    "boolean": lambda *_: st.booleans(),
    "null": lambda *_: st.none(),
    "string": _text,
    "array": _array,
    "object": _object,
}


def forms_of(cls: type[Any]) -> st.SearchStrategy[dict[str, Any]]:
    schema: Any = config.json_schema(cls)
    return form_values(schema, schema.get("$defs", {}))


@settings(max_examples=100)
@given(form=forms_of(Everything))
def test_form_json_and_flags_agree(form: dict[str, Any]) -> None:
    value = config.from_json(Everything, form)
    as_json = config.to_json(value)
    assert as_json == completed(form, config.to_json(Everything()), config.to_json(Inner()))
    assert config.from_json_text(Everything, json.dumps(as_json)) == value

    by_flags = config.from_flags(Everything, config.to_flags(value), prog="sample")
    assert by_flags == value
    assert config.to_json(by_flags) == as_json


def completed(form: dict[str, Any], defaults: dict[str, Any], inner: dict[str, Any]) -> dict[str, Any]:
    """The form's values over the defaults; a part that is given takes the rest from its own class."""
    whole = defaults | form
    return whole | {"inner": inner | form["inner"]} if "inner" in form else whole


@settings(max_examples=50)
@given(form=forms_of(Everything))
def test_the_changed_flags_alone_make_the_same_value(form: dict[str, Any]) -> None:
    value = config.from_json(Everything, form)
    words = config.to_flags(value, changed_only=True)
    assert config.from_flags(Everything, words, prog="sample") == value


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_texts_survive_in_every_text_field(text: str) -> None:
    value = Everything(name=text, note=text, inner=Inner(text=text))
    assert config.from_flags(Everything, config.to_flags(value), prog="sample") == value
    assert config.from_json(Everything, config.to_json(value)) == value


def test_the_word_none_is_null_in_an_optional_text_and_a_text_elsewhere() -> None:
    value = config.from_flags(Everything, ["--note=None", "--name=None", r"--alias=\None"], prog="sample")
    assert (value.note, value.name, value.alias) == (None, "None", "None")
