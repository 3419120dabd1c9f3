"""`--param ACTOR.NAME=VALUE`, and what a language model is to be told from this terminal's environment."""

import json
import os
from collections.abc import Iterable, Sequence
from typing import Any

from mosaic.cli.reach import BadArguments
from mosaic.spec.actors import split
from mosaic.spec.language_model import BASE_URL, KEY, MODEL

LANGUAGE_MODEL = "llm"


def params_of(words: Sequence[str] | None, actors: Iterable[str]) -> dict[str, dict[str, Any]]:
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
            f"--param is for {', '.join(sorted(unused))}, who does not play; {', '.join(sorted(ids))} does"
        )
    if LANGUAGE_MODEL in ids:
        told = found.setdefault(LANGUAGE_MODEL, {})
        for setting, variable in (("base_url", BASE_URL), ("model", MODEL)):
            if os.environ.get(variable):
                told.setdefault(setting, os.environ[variable])
    return found


def secrets_of(actors: Iterable[str]) -> dict[str, str]:
    """The key of this terminal, which the daemon hands to the worker and writes nowhere."""
    plays = any(split(actor)[0] == LANGUAGE_MODEL for actor in actors)
    return {"llm_api_key": os.environ[KEY]} if plays and os.environ.get(KEY) else {}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
