"""A script's command line: from words to settings, and from settings to the words that the script is given."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.numbers import parse_int
from mosaic.scripts.script import NAMED, OWN, STYLE, Script

OUTSIDE = ("env_id", "total_timesteps", "seed")
"""Settings that stand in the worker's config itself, not in `algo_params`."""


def settings_class(script: Script) -> type[Any]:
    return config.class_from_schema(script.schema, name=script.stem)


def settings_from(script: Script, words: Sequence[str], *, prog: str) -> dict[str, Any]:
    """What these words mean; a flag that the script does not have ends the process, as it would with tyro."""
    properties: dict[str, Any] = script.schema["properties"]
    settings = {name: spec.get("default") for name, spec in properties.items()}
    if script.style == "tyro":
        own = {script.named.get(name, name): name for name in properties if _is_flag(script.named, name)}
        schema = {"properties": {flag: properties[name] for flag, name in own.items()}}
        parsed = config.from_flags(config.class_from_schema(schema, name=script.stem), words, prog=prog, description="")
        return settings | {own[flag]: value for flag, value in config.to_json(parsed).items()}
    for outside, flag in script.named.items():
        given = _given(flag, words)
        if given is not None:
            settings[outside] = given if outside == "env_id" else _whole(flag, given)
            if outside != "env_id" and not _is_same(given, settings[outside]):
                # The script reads it once more, and knows no 300k.
                words = _replaced(words, flag, str(settings[outside]))
    return settings | {"script_flags": shlex.join(words)}


def words_for(schema: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """The script's own command line, by its schema: what differs from its defaults, then the free flags.

    A run is listed by environment, steps and seed, and several seeds are several runs: where a free flag says something
    else of these three, the run's own word comes last and counts.
    """
    free = shlex.split(str(settings.get("script_flags", "")))
    named: dict[str, str] = schema[NAMED]
    words: list[str] = []
    last: list[str] = []
    properties: dict[str, dict[str, Any]] = schema["properties"]
    for name, spec in properties.items():
        flag = named.get(name, name)
        value, default = settings.get(name, spec.get("default")), spec.get("default")
        if not _is_flag(named, name):
            continue
        given = _given(flag, free)
        if given is None and value != default:
            words += _words(flag, value, tyro=schema[STYLE] == "tyro")
        elif given is not None and name in OUTSIDE and not _is_same(given, value):
            last += _words(flag, value, tyro=schema[STYLE] == "tyro")
    return words + free + last


def _is_flag(named: Mapping[str, str], name: str) -> bool:
    return name not in OWN and (name not in OUTSIDE or name in named)


def _words(flag: str, value: Any, *, tyro: bool) -> Iterator[str]:
    spelled = "--" + (flag.replace("_", "-") if tyro else flag)
    if isinstance(value, bool):
        yield spelled if value else f"--no-{spelled[2:]}"
    elif isinstance(value, list | tuple):
        yield spelled
        yield from map(str, value)  # type: ignore[reportUnknownArgumentType]
    else:
        # One word, so that a value that begins with "-" is not read as a flag.
        yield f"{spelled}={value}"


def _given(flag: str, words: Sequence[str]) -> str | None:
    """The value of a flag among words; the last one counts."""
    found = None
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in _spellings(flag):
            found = value if equals else words[at + 1] if at + 1 < len(words) else ""
    return found


def _replaced(words: Sequence[str], flag: str, value: str) -> list[str]:
    """The same words with another value of a flag."""
    made = list(words)
    for at, word in enumerate(words):
        name, equals, _ = word.partition("=")
        if name in _spellings(flag):
            made[at : at + (1 if equals else 2)] = [f"{name}={value}"] if equals else [name, value]
    return made


def _spellings(flag: str) -> set[str]:
    return {"--" + flag, "--" + flag.replace("_", "-"), "--" + flag.replace("-", "_")}


def _is_same(text: str, value: Any) -> bool:
    """`5e4` is 50000."""
    try:
        return text == str(value) or float(text) == float(value)
    except (ValueError, TypeError):
        return False


def _whole(flag: str, text: str) -> int:
    try:
        return parse_int(text)
    except ValueError as error:
        raise ConfigError([Problem(f"--{flag}", f"{error} (got {text!r})")], what="script flags") from None
