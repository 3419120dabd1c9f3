"""Filters as users type them: `algo:ppo lr<1e-3 return>200 tag:paper`.

    all       = some { or some }
    some      = one { one }                       all of them must hold
    one       = [ - | not ] ( "(" all ")" | comparison | word )
    comparison = name ( : | = | != | < | <= | > | >= ) value

`:` compares whole values whatever their capitals, `*` stands for any letters, and of free text (label, notes, reason) a
part is enough; `a:x,y` is either. `=` is the same without `*` and parts. A word alone is looked for in name, algorithm,
environment, state, tags, notes and id. Quotes keep a text with spaces together. A value that is not there fits no
comparison but `:none`.
"""

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import translate

import numpy as np

from mosaic.errors import MosaicError
from mosaic.numbers import parse_float
from mosaic.run_table.run_columns import (
    CONTAINED,
    NONE,
    SEARCHED,
    Kind,
    UnknownColumn,
    Value,
    kind_of,
    metric_of,
    resolve,
    source_of,
    text_of,
)
from mosaic.run_table.table_rows import Column, Mask, TableRows

_COMPARISON = re.compile(
    r"""(?P<name>[A-Za-z_][\w./-]*?)(?P<space>\s*)(?P<sign>!=|>=|<=|==|=|:|<|>)\s*"""
    r"""(?P<value>(?:"[^"]*"|[^\s()"])+)?"""
)
_WORD = re.compile(r"""(?:"[^"]*"|[^\s()"])+""")
_PART = re.compile(r"""(?:"[^"]*"|[^,"])+""")
_DURATION = re.compile(r"(.+?)\s*(s|min|h|d)", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
AGE = "age"
"""Time since the submit: `age<2d`."""
_ORDERED: Mapping[str, Callable[[np.ndarray, float], np.ndarray]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class FilterError(MosaicError):
    """A filter that cannot be understood: what is wrong, and where in the text."""

    exit_code = 2

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.start, self.end = start, end


class Expression(ABC):
    """A filter, understood."""

    @abstractmethod
    def columns(self) -> set[str]:
        """Whole names of the columns that it looks at."""

    @abstractmethod
    def fits(self, table: TableRows) -> Mask:
        """Of each row whether it is left."""


@dataclass(frozen=True)
class Everything(Expression):
    def columns(self) -> set[str]:
        return set()

    def fits(self, table: TableRows) -> Mask:
        return np.ones(len(table), dtype=np.bool_)


@dataclass(frozen=True)
class Several(Expression):
    """Expressions of which all hold, or any."""

    parts: Sequence[Expression]
    combined: np.ufunc

    def columns(self) -> set[str]:
        return {name for part in self.parts for name in part.columns()}

    def fits(self, table: TableRows) -> Mask:
        return self.combined.reduce([part.fits(table) for part in self.parts])


@dataclass(frozen=True)
class Not(Expression):
    part: Expression

    def columns(self) -> set[str]:
        return self.part.columns()

    def fits(self, table: TableRows) -> Mask:
        return ~self.part.fits(table)


@dataclass(frozen=True)
class Ordered(Expression):
    """`lr<1e-3`."""

    name: str
    sign: str
    bound: float

    def columns(self) -> set[str]:
        return {self.name}

    def fits(self, table: TableRows) -> Mask:
        return _ORDERED[self.sign](table.column(self.name).numbers, self.bound)


@dataclass(frozen=True)
class Equal(Expression):
    """`algo:ppo,dqn`: one of these words."""

    name: str
    words: tuple[str, ...]
    is_loose: bool
    """With `*`, and parts of free text."""

    def columns(self) -> set[str]:
        return {self.name}

    def fits(self, table: TableRows) -> Mask:
        column = table.column(self.name)
        return np.logical_or.reduce([self._fits(column, word) for word in self.words])

    def _fits(self, column: Column, word: str) -> Mask:
        number = _number(word, kind_of(self.name))
        matches = self._matcher(word)
        found = column.where(lambda value: _any_text(value, matches))
        if word == NONE:
            found = found | column.where(lambda value: value is None)
        if number is not None:
            found = found | (column.numbers == number)
        return found

    def _matcher(self, word: str) -> Callable[[str], bool]:
        wanted = word.lower()
        if self.name == "run":
            return lambda text: text.lower().startswith(wanted) or text.lower().endswith(wanted)
        if not self.is_loose:
            return lambda text: text.lower() == wanted
        if "*" in wanted:
            pattern = re.compile(translate(wanted.replace("[", "[[]").replace("?", "[?]")))
            return lambda text: pattern.match(text.lower()) is not None
        if self.name in CONTAINED:
            return lambda text: wanted in text.lower()
        return lambda text: text.lower() == wanted


@dataclass(frozen=True)
class Containing(Expression):
    """A word alone."""

    word: str

    def columns(self) -> set[str]:
        return {SEARCHED}

    def fits(self, table: TableRows) -> Mask:
        wanted = self.word.lower()
        texts = table.column(SEARCHED).values
        return np.fromiter((isinstance(text, str) and wanted in text for text in texts), np.bool_, len(texts))


def parse(text: str, settings: Iterable[str] = (), tags: Iterable[str] | None = None) -> Expression:
    """The filter; FilterError, which says where, if it is none. `settings` and `tags` are those of the runs."""
    return _Reader(text, set(settings), None if tags is None else set(tags)).whole()


def needed(names: Iterable[str]) -> tuple[bool, list[str]]:
    """Whether settings are needed for these columns, and which metrics."""
    names = set(names)
    return (
        any(source_of(name) == "setting" for name in names),
        sorted({metric_of(name)[0] for name in names if source_of(name) == "metric"}),
    )


def may_need_settings(text: str) -> bool:
    """Whether a filter names anything but facts and metrics, before the settings of the runs are known."""
    try:
        names = parse(text).columns()
    except FilterError:
        return True
    return needed(names)[0]


class _Reader:
    """Reads a filter from left to right."""

    def __init__(self, text: str, settings: set[str], tags: set[str] | None) -> None:
        self._text, self._settings, self._tags = text, settings, tags
        self._at = 0

    def whole(self) -> Expression:
        found = self._either(closing=False)
        if self._at < len(self._text):
            raise FilterError("there is a ) without its (", self._at, self._at + 1)
        return found

    def _either(self, *, closing: bool) -> Expression:
        parts = [self._both()]
        while self._keyword("or", "|"):
            before = self._at
            parts.append(self._both())
            if isinstance(parts[-1], Everything):
                raise FilterError("something is missing behind 'or'", before - 2, before)
        if closing:
            self._skip()
            if not self._text.startswith(")", self._at):
                raise FilterError("a ( is not closed", len(self._text) - 1, len(self._text))
            self._at += 1
        if len(parts) > 1 and isinstance(parts[0], Everything):
            raise FilterError("something is missing before 'or'", 0, 2)
        return parts[0] if len(parts) == 1 else Several(parts, np.logical_or)

    def _both(self) -> Expression:
        parts = list(self._ones())
        return Everything() if not parts else parts[0] if len(parts) == 1 else Several(parts, np.logical_and)

    def _ones(self) -> Iterator[Expression]:
        while True:
            self._skip()
            if self._at >= len(self._text) or self._text[self._at] == ")" or self._sees("or", "|"):
                return
            if not self._keyword("and", "&"):
                yield self._one()

    def _one(self) -> Expression:
        start = self._at
        if self._text.startswith("-", start) and not self._text.startswith("- ", start):
            self._at += 1
            return Not(self._operand(start))
        return Not(self._operand(start)) if self._keyword("not", "!") else self._operand(start)

    def _operand(self, start: int) -> Expression:
        self._skip()
        if self._text.startswith("(", self._at):
            self._at += 1
            return self._either(closing=True)
        comparison = _COMPARISON.match(self._text, self._at)
        if comparison and not (comparison["space"] and comparison["sign"] in (":", "=")):
            self._at = comparison.end()
            return self._compared(comparison)
        word = _WORD.match(self._text, self._at)
        if word is None:
            at = min(self._at, max(0, len(self._text) - 1))
            if self._text.startswith('"', at):
                raise FilterError("a quotation mark is not closed", at, len(self._text))
            raise FilterError("something is missing here", start, at + 1)
        self._at = word.end()
        return Containing(word[0].replace('"', ""))

    def _compared(self, found: re.Match[str]) -> Expression:
        word, sign, value = found["name"], found["sign"], found["value"]
        if value is None:
            if self._text.startswith('"', found.end()):
                raise FilterError("a quotation mark is not closed", found.end(), len(self._text))
            raise FilterError(f"a value is missing behind '{word}{sign}'", found.start(), found.end())
        start, end = found.span("value")
        if word.lower() == AGE:
            return self._aged(sign, value, start, end)
        try:
            name = resolve(word, self._settings, self._tags)
        except UnknownColumn as error:
            raise FilterError(str(error), *found.span("name")) from None
        if sign in _ORDERED:
            return Ordered(name, sign, self._bound(word, sign, value, kind_of(name), start, end))
        words = tuple(part.replace('"', "") for part in _PART.findall(value)) or (value,)
        if kind_of(name) in ("number", "count", "moment", "duration", "share"):
            for part in words:
                if part != NONE:
                    self._bound(word, sign, part, kind_of(name), start, end)
        equal = Equal(name, words, is_loose=sign == ":")
        return Not(equal) if sign == "!=" else equal

    def _bound(self, word: str, sign: str, value: str, kind: Kind, start: int, end: int) -> float:
        if kind in ("text", "words"):
            raise FilterError(f"'{word}' is text: it has no '{sign}'; write {word}:{value}", start, end)
        number = _number(value.replace('"', ""), kind)
        if number is None:
            raise FilterError(f"'{value}' is not a {_MEANT.get(kind, 'number; write 1e-3, 300k or 2M')}", start, end)
        return number

    def _aged(self, sign: str, value: str, start: int, end: int) -> Expression:
        seconds = self._bound(AGE, sign, value, "duration", start, end)
        if sign not in _TURNED:
            raise FilterError(f"'age' goes with < and >: write age<{value}", start, end)
        return Ordered("started", _TURNED[sign], time.time() - seconds)

    def _sees(self, word: str, sign: str) -> bool:
        return bool(re.compile(rf"(?i:{word})(?=[\s()]|$)|{re.escape(sign)}").match(self._text, self._at))

    def _keyword(self, word: str, sign: str) -> bool:
        self._skip()
        if not self._sees(word, sign):
            return False
        self._at += 1 if self._text.startswith(sign, self._at) else len(word)
        return True

    def _skip(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1


_MEANT = {
    "moment": "date; write 2026-11-30 or 2026-11-30T14:00",
    "duration": "time; write 90s, 15min, 2h or 3d",
    "share": "share; write 50% or 0.5",
}


def _number(word: str, kind: Kind) -> float | None:
    """None for a word that is not a number of this kind."""
    try:
        if kind == "moment":
            return datetime.fromisoformat(word).astimezone().timestamp()
        if kind == "share" and word.endswith("%"):
            return parse_float(word[:-1]) / 100
        if kind == "duration" and (found := _DURATION.fullmatch(word)):
            return parse_float(found[1]) * _SECONDS[found[2]]
        return parse_float(word)
    except ValueError:
        return None


def _any_text(value: Value, is_wanted: Callable[[str], bool]) -> bool:
    if isinstance(value, tuple):
        return any(map(is_wanted, value))
    return value is not None and is_wanted(text_of(value))
