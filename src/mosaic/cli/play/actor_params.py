"""`--param ACTOR.NAME=VALUE`, and what a language model is to be told from this terminal's environment."""

import json
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from mosaic.cli.daemon.connection import BadArguments
from mosaic.numbers import parse_float, parse_int
from mosaic.spec.actors import split
from mosaic.spec.processes.language_model import LANGUAGE_MODEL, told_here


def params_of(words: Sequence[str] | None, actors: Collection[str]) -> dict[str, dict[str, Any]]:
    """Settings by the actor's id. The daemon has an environment of its own: address and model go with the run."""
    found: dict[str, dict[str, Any]] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        actor, dot, setting = name.partition(".")
        if not (equals and dot and actor and setting):
            raise BadArguments(f"--param takes ACTOR.NAME=VALUE, for example llm.memory=2; '{word}' is not that")
        found.setdefault(actor, {})[setting] = _value(value)
    ids = {split(actor)[0] for actor in actors}
    if unused := found.keys() - ids:
        raise BadArguments(
            f"--param is for {', '.join(sorted(unused))}, which does not play; {', '.join(sorted(ids))} does"
        )
    if told := told_here(actors):
        found[LANGUAGE_MODEL] = told | found.get(LANGUAGE_MODEL, {})
    return found


def _value(text: str) -> Any:
    """A number as users write them, any other JSON, or a text."""
    for read in (parse_int, parse_float, json.loads):
        with suppress(ValueError):
            return read(text)
    return text
