"""One definition, three faces: a frozen dataclass becomes flags (tyro), validated JSON and JSON Schema (pydantic).

The only module that imports tyro or pydantic. A setting is a dataclass field: the string under it is the help text
and the schema's description, `Annotated[float, Gt(0)]` its bounds, `Literal` its choices. tyro ignores bounds, so
flags are validated a second time through the same adapter as JSON.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar, get_args, get_type_hints

import pydantic
import tyro
from pydantic_core import from_json as parse_json

from mosaic.errors import ConfigError, Problem

T = TypeVar("T")
JsonValue: TypeAlias = pydantic.JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]

_RULES = pydantic.ConfigDict(use_attribute_docstrings=True, extra="forbid", strict=True, allow_inf_nan=False)


def tagged_by(field: str) -> Any:
    """Mark a union of dataclasses as told apart by their `Literal` field, so that errors name one member only."""
    return pydantic.Field(discriminator=field)


def from_json(cls: type[T], data: object, *, what: str = "config") -> T:
    """Build `cls` from parsed JSON, or raise ConfigError with every broken rule and its path."""
    try:
        # Through JSON text, because strict mode accepts a list for a tuple there and only there.
        return _adapter(cls).validate_json(json.dumps(data))
    except pydantic.ValidationError as error:
        raise ConfigError(_problems(error), what=what) from None
    except (TypeError, ValueError) as error:
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from error


def from_json_text(cls: type[T], text: str | bytes, *, what: str = "config") -> T:
    """Build `cls` from JSON text; broken JSON is a ConfigError too."""
    return from_json(cls, loads(text, what=what), what=what)


def loads(text: str | bytes, *, what: str = "config") -> JsonObject:
    """Parse a JSON object; anything else is a ConfigError that says where the text breaks."""
    try:
        data = parse_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ConfigError([Problem("", f"not JSON: {error}")], what=what) from None
    if not isinstance(data, dict):
        raise ConfigError([Problem("", f"must be a JSON object, not {type(data).__name__}")], what=what)
    return data


def to_json(value: object) -> JsonObject:
    """The JSON face of a config: `from_json(type(value), to_json(value)) == value`."""
    return _adapter(type(value)).dump_python(value, mode="json")


def json_schema(cls: type[Any]) -> JsonObject:
    """JSON Schema with descriptions, defaults, bounds and choices: all that a form needs to know."""
    return _adapter(cls).json_schema()


def from_flags(
    cls: type[T], argv: Sequence[str], *, prog: str, description: str | None = None, default: T | None = None
) -> T:
    """Build `cls` from command-line flags; `default` replaces the dataclass's own defaults.

    An unknown or malformed flag ends the process with code 2 and a near match (tyro); a value out of bounds is a
    ConfigError whose paths are the flags.
    """
    _prepare(cls)
    parsed = tyro.cli(cls, args=list(argv), prog=prog, description=description, default=default)
    return validated(parsed, what=prog, as_flags=True)


def validated(value: T, *, what: str = "config", as_flags: bool = False) -> T:
    """Check an already built config by the rules of its JSON face."""
    try:
        return _adapter(type(value)).validate_json(json.dumps(_unchecked_json(value)))
    except pydantic.ValidationError as error:
        problems = _problems(error)
        if as_flags:
            problems = [Problem(flag_name(problem.path), problem.message) for problem in problems]
        raise ConfigError(problems, what=what) from None


def to_flags(value: object, *, changed_only: bool = False) -> list[str]:
    """The flags that make this value: `from_flags(type(value), to_flags(value)) == value`."""
    return list(_flags(value, prefix="", changed_only=changed_only))


def flag_name(path: str) -> str:
    """`num_envs` is `--num-envs`."""
    return "--" + path.replace("_", "-")


def _flags(value: Any, *, prefix: str, changed_only: bool) -> Iterator[str]:
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        path = prefix + field.name
        if dataclasses.is_dataclass(item):
            yield from _flags(item, prefix=f"{path}.", changed_only=changed_only)
        elif changed_only and item == _default_of(field):
            continue
        elif isinstance(item, bool):
            yield flag_name(path) if item else flag_name(f"{prefix}no_{field.name}")
        elif isinstance(item, (list, tuple)):
            yield flag_name(path)
            yield from (str(element) for element in item)
        else:
            # One word with "=", so that a value that begins with "-" is not read as a flag.
            yield f"{flag_name(path)}={item}"


def _default_of(field: "dataclasses.Field[Any]") -> object:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def _unchecked_json(value: object) -> object:
    # The adapter's own dump warns about values that break the rules, which is what is about to be checked.
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


@cache
def _adapter(cls: type[T]) -> "pydantic.TypeAdapter[T]":
    _prepare(cls)
    return pydantic.TypeAdapter(cls)


def _prepare(cls: Any) -> None:
    """Give a dataclass, and every dataclass in its fields, our rules; pydantic reads them from the class."""
    for member in get_args(cls):
        _prepare(member)
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls) or "__pydantic_config__" in vars(cls):
        return
    setattr(cls, "__pydantic_config__", _RULES)
    for hint in get_type_hints(cls, include_extras=True).values():
        _prepare(hint)


def _problems(error: pydantic.ValidationError) -> list[Problem]:
    return [
        Problem(".".join(str(part) for part in item["loc"]), _sentence(item))
        for item in error.errors(include_url=False)
    ]


def _sentence(item: Mapping[str, Any]) -> str:
    if item["type"] == "unexpected_keyword_argument":
        return "is not a known key"
    if item["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        return "is missing"
    message = str(item["msg"]).replace("Input should be", "must be")
    given = item["input"]
    return f"{message} (got {given!r})" if isinstance(given, (bool, int, float, str)) else message
