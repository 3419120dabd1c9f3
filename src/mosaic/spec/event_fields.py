"""Quick checks of the fields of an event, made once from the types of its class.

A field that passes is what the slow check (`config.from_json`) would make of it; one that does not pass may still be
right, and the slow check decides and says why. A daemon reads tens of thousands of events a second: the quick check
takes about a microsecond, the slow one ten.
"""

import dataclasses
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le

Reader: TypeAlias = Callable[[Any], Any]
REFUSED = object()
"""What a reader returns for a value that does not pass."""
MAX_WHOLE = 2**63 - 1
_LARGEST_EXACT = 2**53
"""Whole numbers up to here are the same as a float."""


class QuickCheck:
    """The fields of one class."""

    def __init__(self, cls: type[Any]) -> None:
        hints = get_type_hints(cls, include_extras=True)
        self._cls = cls
        self._readers = tuple((field.name, reader_of(hints[field.name])) for field in dataclasses.fields(cls))

    def without_unknown(self, data: dict[str, Any]) -> dict[str, Any]:
        """Only the fields that are known: a newer version writes all of them, and further ones."""
        return {name: data[name] for name, _ in self._readers if name in data}

    def make(self, data: dict[str, Any]) -> Any:
        """An object of the class that takes `data` over, or None if a field is missing, unknown or does not pass."""
        if len(data) != len(self._readers):
            return None
        for name, read in self._readers:
            given = data.get(name, REFUSED)
            value = read(given)
            if value is REFUSED:
                return None
            if value is not given:
                data[name] = value
        made = object.__new__(self._cls)
        # Not by its constructor: that of a frozen class sets each field by a call.
        object.__setattr__(made, "__dict__", data)
        return made


def reader_of(hint: Any) -> Reader:
    """The quick check of a type, as the fields of events have them."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, members = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds: dict[Any, Any] = {type(bound): bound for bound in hint.__metadata__}
        low = bounds[Ge].ge if Ge in bounds else -MAX_WHOLE - 1
        return _whole_between(low, bounds[Le].le if Le in bounds else MAX_WHOLE)
    if origin is Literal:
        return _one_of(members)
    if origin is dict and members[0] is str:
        return _object_of(reader_of(members[1]))
    if origin in (Union, UnionType):
        return _any_of(members)
    raise TypeError(f"no quick check for {hint}")


def _text(value: Any) -> Any:
    return value if type(value) is str else REFUSED


def _flag(value: Any) -> Any:
    return value if type(value) is bool else REFUSED


def _number(value: Any) -> Any:
    """A finite number; one minus itself is not 0 for the others."""
    if type(value) is float:
        return value if value - value == 0.0 else REFUSED
    if type(value) is int and -_LARGEST_EXACT <= value <= _LARGEST_EXACT:
        return float(value)
    return REFUSED


_PLAIN: Mapping[Any, Reader] = {str: _text, bool: _flag, float: _number}


def _whole_between(low: int, high: int) -> Reader:
    def read(value: Any) -> Any:
        return value if type(value) is int and low <= value <= high else REFUSED

    return read


def _one_of(words: tuple[Any, ...]) -> Reader:
    def read(value: Any) -> Any:
        return value if type(value) is str and value in words else REFUSED

    return read


def _object_of(read_value: Reader) -> Reader:
    def read(values: Any) -> Any:
        if type(values) is not dict:
            return REFUSED
        given = cast("dict[str, Any]", values)
        for key, value in given.items():
            if type(value) is not float or value - value != 0.0:
                made = read_value(value)
                if made is REFUSED:
                    return REFUSED
                given[key] = made
        return given

    return read


def _any_of(members: tuple[Any, ...]) -> Reader:
    is_optional, has_float = NoneType in members, float in members
    readers = tuple(reader_of(member) for member in members if member is not NoneType)

    def read(value: Any) -> Any:
        # The most frequent one first: a finite number.
        if has_float and type(value) is float and value - value == 0.0:
            return value
        if value is None:
            return None if is_optional else REFUSED
        for one in readers:
            made = one(value)
            if made is not REFUSED:
                return made
        return REFUSED

    return read
