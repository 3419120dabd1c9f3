"""Address and key of the actor `llm`, as the command line and the studio hand them on to a worker."""

import os
from collections.abc import Iterable
from urllib.parse import urlsplit

from mosaic.spec.actors import split

LANGUAGE_MODEL = "llm"

BASE_URL = "MOSAIC_LLM_BASE_URL"
"""Where the endpoint is, with its path: http://127.0.0.1:11434/v1."""
MODEL = "MOSAIC_LLM_MODEL"
"""Which model to ask for."""
KEY = "MOSAIC_LLM_API_KEY"
"""The key, where the endpoint wants one. It is never written anywhere."""


def told_here(actors: Iterable[str], *, base_url: str = "") -> dict[str, str]:
    """Address, if none is given, and model from this process's environment, if one plays: the daemon has its own."""
    found = {"base_url": base_url or os.environ.get(BASE_URL, ""), "model": os.environ.get(MODEL, "")}
    return {name: value for name, value in found.items() if value} if plays(actors) else {}


def secrets_of(actors: Iterable[str], *, variable: str = KEY) -> dict[str, str]:
    """The key in a variable of this process's environment, which the daemon hands to the worker and writes nowhere."""
    return {"llm_api_key": os.environ[variable]} if plays(actors) and os.environ.get(variable) else {}


def plays(actors: Iterable[str]) -> bool:
    """Whether a language model is one of them."""
    return any(split(actor)[0] == LANGUAGE_MODEL for actor in actors)


def address_problem(address: str) -> str:
    """Why this is not an address of an endpoint; empty if it is one."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        return f"'{address}' is not an http or https address: {error}"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"'{address}' is not an http or https address"
    if parts.username or parts.password or parts.query:
        return f"the address of the endpoint must not hold a password or a key: that belongs into {KEY}"
    return ""
