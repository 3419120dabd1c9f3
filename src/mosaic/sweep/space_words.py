"""The space of a sweep as a user types it, read by the schemas of the algorithm and of the environment.

`learning_rate=log:1e-5..1e-2`, `num_envs=4,8,16`, `gamma=logit:0.9..0.999`, `num_steps=pow2:32..2048`,
`clip_coef=0.1..0.4`, `env.gravity=-11..-8`. `/5` behind a range makes five values of it. The word `default` is the
space that the algorithm has itself.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.near_names import no_such
from mosaic.numbers import parse_float
from mosaic.search_range import Scale
from mosaic.spec import environment_settings, setting_values
from mosaic.sweep import wrapper_arguments
from mosaic.sweep.space import (
    ENVIRONMENT,
    OUTSIDE,
    Dimension,
    Schema,
    Value,
    checked,
    default_space,
    is_number,
    is_whole,
    spread,
)

DEFAULT = "default"
_RANGE = re.compile(r"(?:(\w+):)?([^,]+?)\.\.([^,/]+)(?:/(\d{1,3}))?")
_SCALES: Mapping[str, Scale] = {
    "": "linear",
    "linear": "linear",
    "uniform": "linear",
    "log": "log",
    "pow2": "power_of_two",
    "power_of_two": "power_of_two",
    "logit": "logit",
}


def parse(
    words: Sequence[str],
    schema: Schema,
    env_schema: Schema | None,
    *,
    fixed: Iterable[str] = (),
    what: str,
    env_id: str = "",
) -> tuple[Dimension, ...]:
    """The space of a command line; `fixed` are settings that the user gave a value, which `default` then leaves out."""
    given = list(words) or [DEFAULT]
    problems: list[Problem] = []
    made: dict[str, Dimension] = {}
    own: dict[str, Dimension] = {}
    for word in given:
        name, equals, text = word.partition("=")
        if not equals and name == DEFAULT:
            own = {one.name: one for one in default_space(schema) if one.name not in set(fixed)}
            problems += _own_problems(own, schema)
            continue
        if not equals or not text or not name:
            problems.append(Problem("--space", f"'{word}' is not NAME=VALUES, as in learning_rate=log:1e-5..1e-2"))
            continue
        key = _key(name)
        if key in made:
            problems.append(Problem("--space", f"{key} is named twice"))
            continue
        field, wrong = _field(key, schema, env_schema, env_id)
        if field is None:
            problems.append(Problem("--space", wrong))
            continue
        try:
            made[key] = checked(_dimension(key, text, field), field)
        except ValueError as error:
            problems.append(Problem("--space", f"{key}: {error}"))
    if problems:
        raise ConfigError(problems, what=what)
    return (*(one for name, one in own.items() if name not in made), *made.values())


def _dimension(name: str, text: str, field: Schema) -> Dimension:
    found = _RANGE.fullmatch(text)
    if found is None:
        if ".." in text:
            raise ValueError(f"'{text}' is not a range, as in log:1e-5..1e-2")
        return Dimension(name=name, choices=tuple(_word(word, field) for word in text.split(",")))
    scale = found[1] or ""
    if scale not in _SCALES:
        raise ValueError(f"'{scale}' is not a scale; {no_such(scale, ['log', 'pow2', 'logit', 'linear'])}")
    if not is_number(field):
        raise ValueError("takes no numbers, so it has no range; list its values")
    made = Dimension(
        name=name,
        low=_limit(found[2]),
        high=_limit(found[3]),
        scale=_SCALES[scale],
        whole=is_whole(field) or _SCALES[scale] == "power_of_two",
    )
    if not found[4]:
        return made
    if int(found[4]) < 2:
        raise ValueError(f"'{text}': a range is cut into two values at least")
    return Dimension(name=name, choices=spread(checked(made, field), int(found[4])))


def _word(word: str, field: Schema) -> Value:
    read = setting_values.read_word(word, field)
    if isinstance(read, str) and is_number(field):
        try:
            number = parse_float(read)
        except ValueError as error:
            raise ValueError(f"'{word}': {error}") from None
        return int(number) if is_whole(field) and not number % 1 else number
    if isinstance(read, int) and not isinstance(read, bool) and not is_whole(field) and is_number(field):
        return float(read)
    return read


def _limit(text: str) -> float:
    number = parse_float(text.strip())
    if not math.isfinite(number):
        raise ValueError(f"'{text}' is not a limit")
    return number


def _key(name: str) -> str:
    name = name.removeprefix("--")
    if name.startswith(wrapper_arguments.PREFIX):
        before, dot, argument = name.rpartition(".")
        return before + dot + argument.replace("-", "_")
    if name.startswith(ENVIRONMENT):
        return ENVIRONMENT + name.removeprefix(ENVIRONMENT).replace("-", "_")
    return name.replace("-", "_")


def _field(name: str, schema: Schema, env_schema: Schema | None, env_id: str) -> tuple[Schema | None, str]:
    """The schema of a setting; where there is none, why."""
    if name in OUTSIDE:
        return None, f"{name} {OUTSIDE[name]}"
    if name.startswith(wrapper_arguments.PREFIX):
        return wrapper_arguments.field_of(name, env_schema)
    if name.startswith(ENVIRONMENT):
        own = name.removeprefix(ENVIRONMENT)
        known: Mapping[str, Any] = {} if env_schema is None else env_schema["properties"]
        if own in known:
            return known[own], ""
        if env_schema is None or env_schema.get("additionalProperties", True):
            return {}, ""  # The worker knows it, or refuses it.
        return None, f"{name} {environment_settings.unknown(own, known, env_id=env_id)}"
    if name in schema["properties"]:
        return schema["properties"][name], ""
    advice = no_such(name, [one for one in schema["properties"] if one not in OUTSIDE])
    return None, f"{name} is not a setting; {advice}"


def _own_problems(own: Mapping[str, Dimension], schema: Schema) -> Iterator[Problem]:
    """What is wrong with the space that an algorithm has itself."""
    if not own:
        yield Problem("--space", _nothing_to_search(schema))
    for name, one in own.items():
        try:
            checked(one, schema["properties"][name])
        except ValueError as error:
            yield Problem("--space", f"{name}: the Search(...) in the algorithm's file cannot be: {error}")


def _nothing_to_search(schema: Schema) -> str:
    named = ", ".join(name for name in schema["properties"] if name not in OUTSIDE)
    return f"is needed: the algorithm says of none of its settings where to search; name some of {named}"
