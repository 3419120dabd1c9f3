"""Wrappers of an environment, by name and in order: how they are typed, kept in a config, checked and shown.

They are the setting `wrappers` of an environment, the innermost first, and travel wherever its settings do:

    [{"name": "TimeLimit", "arguments": {"max_episode_steps": 200}}, {"name": "shaping.py:Bonus", "arguments": {}}]

A name is one of Gymnasium's own, of an installed module (`package.module:Class`), or of a file of the user's
(`mosaic.spec.own_code`). In a policy, one that normalises observations has the `moments` of the training, too
(`mean`, `var`, `count`), by which it goes on. On a command line: `TimeLimit:max_episode_steps=200`,
`FrameStackObservation:4`, `shaping.py:Bonus:scale=0.5`. What the catalogue knows of Gymnasium's own is a JSON Schema of
the arguments for each.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from mosaic.errors import Problem
from mosaic.near_names import did_you_mean
from mosaic.spec import own_code, setting_values

SETTING = "wrappers"
FLAG = "--wrap"
_OWN_NAME = re.compile(r"(?P<name>[^:]+(?:\.py|[.][A-Za-z_]\w*)?:[A-Za-z_][\w.-]*)(?::(?P<rest>.*))?", re.DOTALL)
_MODULE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_CLASS = re.compile(r"[A-Z]\w*")
_OPEN, _CLOSED = "[{(", "]})"

Known = Mapping[str, Mapping[str, Any]]
"""By the name of a wrapper: `properties` and `required` of its arguments, in their order."""


class Wrapper(NamedTuple):
    """One wrapper, parsed."""

    name: str
    arguments: Mapping[str, Any]
    moments: Mapping[str, Any] | None = None
    """By which a policy's observations were normalised."""

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "arguments": dict(self.arguments)}


class Worded(NamedTuple):
    """One wrapper as it was typed: its arguments are words."""

    name: str
    by_place: Sequence[str]
    by_name: Mapping[str, str]


class BadWords(ValueError):
    """What should be the words of a wrapper is something else; the message says what to type."""


def of(settings: Mapping[str, Any]) -> list[Wrapper]:
    """Those of checked settings."""
    found = cast("list[dict[str, Any]]", settings.get(SETTING) or [])
    return [Wrapper(one["name"], one.get("arguments", {}), one.get("moments")) for one in found]


def of_users(settings: Mapping[str, Any]) -> Iterator[str]:
    """References to files of the user's among them."""
    given = settings.get(SETTING)
    for one in cast("list[Any]", given) if isinstance(given, list) else ():
        name = cast("dict[str, Any]", one).get("name") if isinstance(one, dict) else None
        if isinstance(name, str) and own_code.is_reference(name):
            yield name


def is_gymnasiums(name: str) -> bool:
    return _CLASS.fullmatch(name) is not None


def without(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name != SETTING}


def merged(before: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings on top of others; an empty list of wrappers is none, and does not stay."""
    whole = {**before, **given}
    if SETTING in whole and not whole[SETTING]:
        del whole[SETTING]
    return whole


def split_words(text: str) -> Worded:
    """`FrameStackObservation:4`, `TimeLimit:max_episode_steps=200`, `./shaping.py:Bonus:0.5,name=x`."""
    text = text.strip()
    first, _, rest = text.partition(":")
    if not is_gymnasiums(first):
        found = _OWN_NAME.fullmatch(text)
        if found is None:
            raise BadWords(
                f"'{text}' names no wrapper; type NAME, NAME:VALUE or NAME:argument=VALUE,…, as in TimeLimit:200"
            )
        first, rest = found["name"], found["rest"] or ""
    by_place: list[str] = []
    by_name: dict[str, str] = {}
    for part in _parts(rest):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            if by_name:
                raise BadWords(f"{first}: '{part}' has no name, and stands behind one that has; type argument={part}")
            by_place.append(part)
        elif name.strip() in by_name:
            raise BadWords(f"{first}: {name.strip()} was given twice")
        else:
            by_name[name.strip()] = value.strip()
    return Worded(first, by_place, by_name)


def name_of(text: str) -> str:
    """Of a wrapper as it was typed; what is wrong with the words is told when they are read."""
    try:
        return split_words(text).name
    except BadWords:
        return text.strip().partition(":")[0]


def _parts(text: str) -> Iterator[str]:
    """Between commas that stand in no brackets and in no quotes."""
    if not text.strip():
        return
    depth, quote, begin = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSED:
            depth -= 1
        elif letter == "," and depth == 0:
            yield text[begin:at].strip()
            begin = at + 1
    yield text[begin:].strip()


def read_words(text: str, known: Known) -> Wrapper:
    """One wrapper as it was typed, with values instead of words."""
    worded = split_words(text)
    if worded.name in known:
        return _valued(worded, known[worded.name])
    if is_gymnasiums(worded.name) and known:
        raise BadWords(unknown(worded.name, known))
    if worded.by_place:
        shown = worded.by_place[0]
        raise BadWords(f"{worded.name}: only a worker knows its arguments; name them, as in argument={shown}")
    return _valued(worded, {"properties": {}})


def _valued(worded: Worded, schema: Mapping[str, Any]) -> Wrapper:
    """BadWords where there are more words than arguments."""
    if reason := schema.get("refused"):
        raise BadWords(f"{worded.name} {reason}")
    properties: Mapping[str, Any] = schema["properties"]
    if len(worded.by_place) > len(properties):
        has = f"it has {', '.join(properties)}" if properties else "it has none"
        raise BadWords(f"{worded.name} does not take {len(worded.by_place)} arguments; {has}")
    words = dict(zip(properties, worded.by_place, strict=False))
    if twice := words.keys() & worded.by_name.keys():
        raise BadWords(f"{worded.name}: {', '.join(sorted(twice))} was given twice, once by its place")
    words |= worded.by_name
    values = {name: setting_values.read_word(_unquoted(word), properties.get(name, {})) for name, word in words.items()}
    return Wrapper(worded.name, values)


def _unquoted(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] == word[-1] == "'" else word


def problems_of(given: Any, known: Known) -> Iterator[Problem]:
    """What is wrong with the setting. `known` has Gymnasium's wrappers, and those of users that are to be checked."""
    if not isinstance(given, list):
        yield Problem(FLAG, "wrappers are a list of objects with a name and arguments")
        return
    for one in cast("list[Any]", given):
        match one:
            case {"name": str(name), **rest} if rest.keys() <= {"arguments", "moments"} and _are_moments(rest):
                arguments: Any = rest.get("arguments", {})
                if not isinstance(arguments, dict):
                    yield Problem(FLAG, f"{name}: arguments must be an object")
                else:
                    yield from (
                        Problem(FLAG, wrong) for wrong in wrong_with(name, cast("dict[str, Any]", arguments), known)
                    )
            case _:
                yield Problem(FLAG, f"{json.dumps(one)} is not a wrapper; one is an object with a name and arguments")


def _are_moments(rest: Mapping[str, Any]) -> bool:
    match rest.get("moments", {"mean": [], "var": [], "count": 0}):
        case {"mean": list(), "var": list(), "count": int() | float()}:
            return True
        case _:
            return False


def wrong_with(name: str, arguments: Mapping[str, Any], known: Known) -> Iterator[str]:
    if name not in known:
        if is_gymnasiums(name) and known:
            yield unknown(name, known)
        elif not is_gymnasiums(name) and not own_code.is_reference(name) and not _MODULE.fullmatch(name):
            yield f"'{name}' names no wrapper; a file stands without its folder, as in shaping.py:Bonus"
        return
    schema = known[name]
    if reason := schema.get("refused"):
        yield f"{name} {reason}"
        return
    properties: Mapping[str, Any] = schema["properties"]
    for argument, value in arguments.items():
        if argument in properties:
            if not setting_values.fits(value, properties[argument]):
                wanted = setting_values.wanted(properties[argument])
                yield f"{name}: {argument} must be {wanted} (got {setting_values.shown(value)})"
        elif not schema.get("additionalProperties", False):
            has = f"it has {', '.join(properties)}" if properties else "it has none"
            yield f"{name} has no argument {argument}; {did_you_mean(argument, properties, most=2) or has}"
    missing = [argument for argument in schema.get("required", ()) if argument not in arguments]
    if missing:
        yield f"{name} needs {' and '.join(missing)}, as in {name}:{','.join(f'{one}=…' for one in missing)}"


def unknown(name: str, known: Known) -> str:
    usable = [one for one, schema in known.items() if not schema.get("refused") and is_gymnasiums(one)]
    advice = did_you_mean(name, usable) or "'mosaic envs wrappers' lists them."
    return f"Gymnasium has no wrapper {name}; {advice} One of your own is named with its file: ./shaping.py:{name}"


def spoken(given: Any, *, flag: bool = False) -> str:
    """`TimeLimit:max_episode_steps=200 FrameStackObservation:stack_size=4`; with the flag as it may be typed."""
    before = f"{FLAG} " if flag else ""
    return " ".join(before + worded(one) for one in cast("list[dict[str, Any]]", given)) or "no wrappers"


def in_words(given: Any) -> Any:
    """The setting of an unchecked config, as it may be typed; what is not a list of wrappers stays as it is."""
    match given:
        case [{"name": str()}, *others] if all(isinstance(one, dict) and "name" in one for one in others):
            return spoken(given)
        case _:
            return given


def words_of(settings: Mapping[str, Any]) -> list[str]:
    """Each wrapper as it may be typed."""
    return [worded(one._asdict()) for one in of(settings)]


def worded(one: Mapping[str, Any]) -> str:
    arguments: Mapping[str, Any] = one.get("arguments", {})
    said = ",".join(f"{name}={setting_values.shown(value)}" for name, value in arguments.items())
    return f"{one['name']}:{said}" if said else str(one["name"])
