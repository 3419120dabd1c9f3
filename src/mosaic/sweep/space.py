"""The space of a sweep: which settings it changes, and which values each may take.

How a user types it is in `space_words`; where an algorithm says it itself, in `mosaic.search_range`.
"""

import json
import math
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from mosaic.errors import ConfigError, Problem
from mosaic.search_range import Scale, found_in
from mosaic.spec import environment_settings, setting_values
from mosaic.sweep import wrapper_arguments

Value: TypeAlias = bool | int | float | str | None
Params: TypeAlias = dict[str, Value]
Schema: TypeAlias = Mapping[str, Any]

ENVIRONMENT = "env."
"""What the name of a setting of the environment begins with."""
SCRIPT = "script."
"""What the name of a flag begins with that a script reads itself."""
DIGITS = 4
"""Significant digits of a proposed number: what is printed can be typed, and is the very same setting."""
OUTSIDE = {
    "env_id": "returns in different environments do not compare; make a sweep for each",
    "seed": "is not a setting to tune; --seeds and --confirm-seeds choose the seeds",
    "total_timesteps": "is the length of every trial; give it as --total-timesteps",
}
"""Settings that cannot be swept, and why."""
_MOST_WHOLE = 64
"""Whole numbers of a range that a grid takes one by one."""


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """One setting, and the values that it may take: a range, or choices."""

    name: str
    """Of the algorithm, or `env.` and one of the environment, or `wrap.`, a wrapper and its argument."""
    low: float = 0.0
    """Lower limit of a range."""
    high: float = 0.0
    """Upper limit of a range."""
    scale: Scale = "linear"
    """How values of a range are spread."""
    whole: bool = False
    """Whole numbers only."""
    choices: tuple[Value, ...] = ()
    """In place of a range."""

    @property
    def values(self) -> tuple[Value, ...] | None:
        """All values, where they can be counted; None of a range of numbers between any two of which is another."""
        if self.choices:
            return self.choices
        if self.scale == "power_of_two":
            first, last = self.exponents
            return tuple(2**exponent for exponent in range(first, last + 1))
        if self.whole and self.high - self.low < _MOST_WHOLE:
            return tuple(range(int(self.low), int(self.high) + 1))
        return None

    @property
    def exponents(self) -> tuple[int, int]:
        return math.ceil(math.log2(self.low)), math.floor(math.log2(self.high))

    def contains(self, value: Value) -> bool:
        if self.choices:
            return any(value == one and type(value) is type(one) for one in self.choices)
        return isinstance(value, (int, float)) and not isinstance(value, bool) and self.low <= value <= self.high

    def nearest(self, value: Value) -> Value:
        """The value of this range that is nearest to one which may lie outside; None where that says nothing."""
        if self.choices or not isinstance(value, (int, float)) or isinstance(value, bool):
            return value if self.contains(value) else None
        return min(max(value, self.low), self.high)

    def rounded(self, value: float) -> Value:
        """As it is tried: few digits, within the limits."""
        if self.whole:
            return int(min(max(round(value), self.low), self.high))
        if self.scale == "logit":
            distance = float(f"{1 - value:.{DIGITS - 1}g}")
            value = round(1 - distance, 12)
        else:
            value = float(f"{value:.{DIGITS}g}")
        return min(max(value, self.low), self.high)

    @property
    def text(self) -> str:
        """As a user types it."""
        if self.choices:
            return ",".join(setting_values.shown(one) for one in self.choices)
        word = {"linear": "", "log": "log:", "power_of_two": "pow2:", "logit": "logit:"}[self.scale]
        return f"{word}{_number(self.low)}..{_number(self.high)}"


def default_space(schema: Schema) -> list[Dimension]:
    """What the algorithm itself says, in the order of its settings."""
    made: list[Dimension] = []
    for name, field in schema["properties"].items():
        if (search := found_in(field)) is not None and name not in OUTSIDE:
            made.append(from_search(name, search, field))
    return made


def from_search(name: str, search: Mapping[str, Any], field: Schema) -> Dimension:
    if "choices" in search:
        return Dimension(name=name, choices=tuple(search["choices"]))
    return Dimension(
        name=name,
        low=float(search["low"]),
        high=float(search["high"]),
        scale=search["scale"],
        whole=is_whole(field),
    )


def checked(dimension: Dimension, field: Schema) -> Dimension:
    """ValueError for a range that is empty or holds values which the setting refuses."""
    name, kind = dimension.name, {"properties": {dimension.name: field}}
    if dimension.choices:
        if len(set(map(repr, dimension.choices))) < len(dimension.choices):
            raise ValueError("names a value twice")
        if len(dimension.choices) < 2:
            raise ValueError("has a single value; give it as a flag, or name a second one")
        ends: tuple[Value, ...] = dimension.choices
    else:
        low, high = dimension.low, dimension.high
        if not low < high:
            raise ValueError(f"the range {dimension.text} is empty: the lower limit comes first")
        if dimension.scale in ("log", "power_of_two") and low <= 0:
            raise ValueError(f"a {dimension.scale.replace('_', ' ')} range begins above 0 (got {_number(low)})")
        if dimension.scale == "logit" and not 0 <= low < high < 1:
            raise ValueError(f"a logit range lies between 0 and 1, without 1 (got {dimension.text})")
        if dimension.scale == "power_of_two" and dimension.exponents[0] >= dimension.exponents[1]:
            raise ValueError(f"{dimension.text} holds fewer than two powers of two")
        if dimension.whole and (low % 1 or high % 1):
            raise ValueError(f"takes whole numbers (got {dimension.text})")
        ends = (int(low), int(high)) if dimension.whole else (low, high)
    for value in ends:
        for problem in environment_settings.problems_of({name: value}, kind, env_id=""):
            raise ValueError(f"{setting_values.shown(value)} cannot be tried: {problem.message}")
    return dimension


def combinations(space: Sequence[Dimension]) -> int | None:
    """How many there are; None where they cannot be counted."""
    values = [one.values for one in space]
    return None if any(each is None for each in values) else math.prod(len(each or ()) for each in values)


def grid(space: Sequence[Dimension]) -> Iterable[Params]:
    """Every combination; ConfigError where a range cannot be counted."""
    endless = [one for one in space if one.values is None]
    if endless:
        shown = f"{endless[0].name}={endless[0].text}"
        raise ConfigError(
            [Problem("--space", f"a grid takes values, and {shown} is a range without steps; {shown}/5 makes five")],
            what="mosaic sweep",
        )
    names = [one.name for one in space]
    for values in product(*(one.values or () for one in space)):
        yield dict(zip(names, values, strict=True))


def forth(scale: Scale) -> Callable[[float], float]:
    """From a value to where equal distances are equally likely."""
    return _SPREAD[scale][0]


def spread(dimension: Dimension, count: int) -> tuple[Value, ...]:
    """So many values, evenly spread on the scale of a range."""
    ahead, back = _SPREAD[dimension.scale]
    low, high = ahead(dimension.low), ahead(dimension.high)
    made = [dimension.rounded(back(low + (high - low) * at / (count - 1))) for at in range(count)]
    return tuple(dict.fromkeys(made))


def _kinds(field: Schema) -> set[str]:
    return {str(one.get("type", "")) for one in field.get("anyOf", [field])}


def is_number(field: Schema) -> bool:
    return not field or bool(_kinds(field) & {"number", "integer"})


def is_whole(field: Schema) -> bool:
    kinds = _kinds(field)
    return "integer" in kinds and "number" not in kinds


def _number(value: float) -> str:
    return f"{value:g}" if abs(value) < 1e6 or value % 1 else f"{value:.0f}"


_SPREAD: Mapping[Scale, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "linear": (float, float),
    "log": (math.log, math.exp),
    "power_of_two": (math.log2, lambda exponent: 2.0 ** round(exponent)),
    "logit": (lambda value: -math.log(1 - value), lambda depth: 1 - math.exp(-depth)),
}


def applied(document: Mapping[str, Any], params: Mapping[str, Value]) -> dict[str, Any]:
    """A run config with these settings in place of its own."""
    made: dict[str, Any] = json.loads(json.dumps(document))
    settings = made["metadata"]["worker"]["config"]["extras"].setdefault("algo_params", {})
    for name, value in params.items():
        if name.startswith(ENVIRONMENT):
            made["environment"].setdefault("settings", {})[name.removeprefix(ENVIRONMENT)] = value
        elif name.startswith(wrapper_arguments.PREFIX):
            wrapper_arguments.put(made, name, value)
        elif name.startswith(SCRIPT):
            word = f"--{name.removeprefix(SCRIPT)}={value}"
            settings["script_flags"] = f"{settings.get('script_flags', '')} {shlex.quote(word)}".strip()
        else:
            settings[name] = value
    return made


def defaults(document: Mapping[str, Any], space: Sequence[Dimension], env_schema: Schema | None) -> Params:
    """What the settings of a space are in a run config; those of the environment that it does not name as they are."""
    settings: Mapping[str, Any] = document["metadata"]["worker"]["config"]["extras"].get("algo_params", {})
    given: Mapping[str, Any] = document["environment"].get("settings", {})
    of_wrappers = wrapper_arguments.given(document)
    found: Params = {}
    for one in space:
        if one.name in of_wrappers:
            found[one.name] = of_wrappers[one.name]
        elif one.name.startswith(ENVIRONMENT):
            own = one.name.removeprefix(ENVIRONMENT)
            known: Mapping[str, Any] = {} if env_schema is None else env_schema["properties"].get(own, {})
            if own in given or "default" in known:
                found[one.name] = given.get(own, known.get("default"))
        elif one.name in settings:
            found[one.name] = settings[one.name]
    return found
