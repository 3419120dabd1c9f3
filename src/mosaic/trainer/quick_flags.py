"""Flags as programs write them: `--name VALUE`, `--name=VALUE`, `--switch`, `--no-switch`.

The daemon is started by other programs, and answers sooner without the parser that is made for users. What is not
plain or not right here (help, a misspelt name, a value out of bounds) is left to that parser, which says it well.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge

T = TypeVar("T")
_KINDS = (str, int, float, Path)


class _NotPlain(Exception):
    """A word for the other parser."""


def parsed(cls: type[T], words: Sequence[str]) -> T | None:
    """What the flags say, or None if they are not plain."""
    hints = get_type_hints(cls, include_extras=True)
    hints = {field.name: hints[field.name] for field in fields(cls)}  # type: ignore[arg-type]
    try:
        return cls(**dict(_values(hints, iter(words))))
    except (_NotPlain, ValueError):
        return None


def _values(hints: dict[str, Any], words: Iterator[str]) -> Iterator[tuple[str, Any]]:
    for word in words:
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not flag.startswith("--"):
            raise _NotPlain
        if not equals and hints.get(name) is bool:
            yield name, True
        elif not equals and hints.get(positive := name.removeprefix("no_")) is bool and positive != name:
            yield positive, False
        elif name in hints and hints[name] is not bool:
            yield name, _value(hints[name], value if equals else next(words, "--"))
        else:
            raise _NotPlain


def _value(hint: Any, word: str) -> Any:
    """A word as the kind of its field; None is a word of the other parser."""
    kind, lowest = _kind(hint)
    if word == "None" or word.startswith("-"):
        raise _NotPlain
    value = kind(word)
    if isinstance(value, float) and not math.isfinite(value):
        raise _NotPlain
    if lowest is not None and value < lowest:
        raise _NotPlain
    return value


def _kind(hint: Any) -> tuple[type[Any], Any]:
    """The kind of a field, and its lowest value if it has one."""
    if get_origin(hint) in (Union, UnionType):
        members = [member for member in get_args(hint) if member is not NoneType]
        if len(members) == 1:
            return _kind(members[0])
    elif get_origin(hint) is Annotated:
        kind, *bounds = get_args(hint)
        if kind in _KINDS and len(bounds) == 1 and isinstance(bounds[0], Ge):
            return kind, bounds[0].ge
    elif hint in _KINDS:
        return hint, None
    raise _NotPlain
