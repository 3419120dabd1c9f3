"""Dataclasses to and from JSON, by pydantic: every broken rule at once, with its path and in the user's words."""

import dataclasses
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias, TypeVar, cast, get_args, get_type_hints

import pydantic
from pydantic_core import from_json as parse_json

from mosaic.errors import ConfigError, Problem

T = TypeVar("T")
JsonValue: TypeAlias = pydantic.JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]

BETWEEN = "__rules_between_settings__"
_RAISED = "Value error, "
"""What pydantic puts before the sentence of a rule in code."""
_FIRST_WORD = re.compile(r"(\w+) (.*)", re.DOTALL)
_SHOWN_CHARACTERS = 200
_RULES = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


def tagged_by(field: str) -> Any:
    """Mark a union of dataclasses as told apart by their `Literal` field, so that errors name one member only."""
    return pydantic.Field(discriminator=field)


def from_json(cls: type[T], data: object, *, what: str = "config") -> T:
    """Build `cls` from parsed JSON, or raise ConfigError with every broken rule and its path."""
    try:
        return _validate(cls, data, what=what)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from error


def from_json_text(cls: type[T], text: str | bytes, *, what: str = "config") -> T:
    """Build `cls` from JSON text; broken JSON is a ConfigError too."""
    return from_json(cls, loads(text, what=what), what=what)


def loads(text: str | bytes, *, what: str = "config") -> JsonObject:
    """Parse a JSON object; anything else is a ConfigError that says where the text breaks."""
    try:
        data: Any = parse_json(text, allow_inf_nan=False)
    except (TypeError, ValueError) as error:  # TypeError: a str with a lone surrogate
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from None
    if not isinstance(data, dict):
        raise ConfigError([Problem("", f"must be a JSON object, not {type(data).__name__}")], what=what)
    return cast(JsonObject, data)


def any_json(text: str | bytes) -> Any:
    """Parse JSON of any kind that may come from anywhere; ValueError for what is not JSON, or nested too deeply.

    Unlike `json.loads`, whose RecursionError few callers think of.
    """
    try:
        return parse_json(text)
    except TypeError as error:  # a str with a lone surrogate
        raise ValueError(str(error)) from None


def to_json(value: object) -> JsonObject:
    """The JSON face of a config: `from_json(type(value), to_json(value)) == value`."""
    return adapter_of(type(value)).dump_python(value, mode="json")


def validated(value: T, *, what: str = "config") -> T:
    """Check an already built config by the rules of its JSON face."""
    return _validate(type(value), unchecked_json(value), what=what)


def prepare(cls: type[Any]) -> None:
    """Make now what the first reading or writing of one would make."""
    adapter_of(cls)


def blamed(cls: Any, sentence: str) -> Problem:
    """ "gamma is 2, …" as a problem of `gamma`; a sentence that begins otherwise is one of the whole."""
    match = _FIRST_WORD.fullmatch(sentence)
    names = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set[str]()
    return Problem(match[1], match[2]) if match and match[1] in names else Problem("", sentence)


@cache
def adapter_of(cls: type[T]) -> "pydantic.TypeAdapter[T]":
    add_rules(cls)
    return pydantic.TypeAdapter(cls)


def _validate(cls: type[T], data: object, *, what: str) -> T:
    try:
        # Through JSON text, because strict mode accepts a list for a tuple there and only there.
        value, problems = adapter_of(cls).validate_json(json.dumps(data, default=os.fspath)), list[Problem]()
        problems += _broken_between(cls, value)
    except pydantic.ValidationError as error:
        value, problems = None, _problems(error, data, cls)
    # pydantic's JsonValue lets NaN through, which is not JSON.
    known = {problem.path for problem in problems}
    problems += [Problem(path, "must be a finite number") for path in _not_finite(data) if path not in known]
    if problems:
        raise ConfigError(problems, what=what)
    return cast(T, value)


def _broken_between(cls: type[Any], value: Any) -> list[Problem]:
    """Rules between settings that do not hold; one for each setting that is to blame."""
    found: dict[str, Problem] = {}
    for rule in getattr(cls, BETWEEN, ()):
        if sentence := rule.broken_by(vars(value)):
            problem = blamed(cls, sentence)
            found.setdefault(problem.path, problem)
    return list(found.values())


def _not_finite(data: Any, path: str = "") -> Iterator[str]:
    if isinstance(data, float) and not math.isfinite(data):
        yield path
    elif isinstance(data, (dict, list, tuple)):
        items: Any = cast(Any, data).items() if isinstance(data, dict) else enumerate(cast(Any, data))
        for key, item in items:
            yield from _not_finite(item, f"{path}.{key}" if path else str(key))


def add_rules(cls: Any) -> None:
    """Give a dataclass, and every dataclass in its fields, our rules; pydantic reads them from the class."""
    for member in get_args(cls):
        add_rules(member)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls) or "__pydantic_config__" in vars(cls):
        return
    cast(Any, cls).__pydantic_config__ = _RULES
    for hint in get_type_hints(cls, include_extras=True).values():
        add_rules(hint)


def _problems(error: pydantic.ValidationError, data: object, cls: Any) -> list[Problem]:
    found: list[Problem] = []
    for item in error.errors(include_url=False):
        problem = Problem(_path(item["loc"], data, absent=item["type"].startswith("missing")), _sentence(item))
        # A rule in code (`__post_init__`) is about the whole, and its sentence begins with the setting to blame.
        is_rule = item["type"] == "value_error" and not problem.path
        found.append(blamed(cls, problem.message) if is_rule else problem)
    return found


def _path(parts: tuple[int | str, ...], data: Any, *, absent: bool) -> str:
    """Where in `data`; pydantic also names the member of a union that it tried, which no writer of JSON knows."""
    path: list[str] = []
    for part in parts:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            continue
        path.append(str(part))
    return ".".join([*path, str(parts[-1])] if absent else path)


def _sentence(item: Mapping[str, Any]) -> str:
    if item["type"] == "unexpected_keyword_argument":
        return "is not a known key"
    if item["type"].startswith("missing"):
        return "is missing"
    message = str(item["msg"]).removeprefix(_RAISED).replace("Input should be", "must be")
    given = item["input"]
    if not isinstance(given, (bool, int, float, str)):
        return message
    shown = repr(given)
    return f"{message} (got {shown if len(shown) <= _SHOWN_CHARACTERS else shown[:_SHOWN_CHARACTERS] + '…'})"


def unchecked_json(value: object) -> object:
    # The adapter's own dump warns about values that break the rules, which is what is about to be checked.
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value
