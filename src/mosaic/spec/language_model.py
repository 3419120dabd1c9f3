"""The environment variables of the actor `llm`, as the command line and the studio hand them on to a worker."""

import os
from collections.abc import Iterable

from mosaic.spec.actors import split

LANGUAGE_MODEL = "llm"

BASE_URL = "MOSAIC_LLM_BASE_URL"
"""Where the endpoint is, with its path: http://127.0.0.1:11434/v1."""
MODEL = "MOSAIC_LLM_MODEL"
"""Which model to ask for."""
KEY = "MOSAIC_LLM_API_KEY"
"""The key, where the endpoint wants one. It is never written anywhere."""


def told_here(actors: Iterable[str]) -> dict[str, str]:
    """Address and model from this process's environment, if one plays: the daemon has an environment of its own."""
    found = {"base_url": os.environ.get(BASE_URL, ""), "model": os.environ.get(MODEL, "")}
    return {name: value for name, value in found.items() if value} if _plays(actors) else {}


def secrets_of(actors: Iterable[str]) -> dict[str, str]:
    """The key of this process's environment, which the daemon hands to the worker and writes nowhere."""
    return {"llm_api_key": os.environ[KEY]} if _plays(actors) and os.environ.get(KEY) else {}


def _plays(actors: Iterable[str]) -> bool:
    return any(split(actor)[0] == LANGUAGE_MODEL for actor in actors)
