"""The code of a user's that an environment and its wrappers are made of, as runs, checkpoints and policies keep it."""

from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.envs.own import loaded_code
from mosaic.spec import own_code, wrappers
from mosaic.spec.files import source_copy
from mosaic.spec.files.source_copy import SourceCopy


def own_sources(env_id: str, settings: Mapping[str, Any]) -> dict[str, SourceCopy]:
    """By reference; empty where nothing is of the user's. The files are executed for that."""
    found: dict[str, SourceCopy] = {}
    if own_code.is_reference(env_id):
        found[env_id] = loaded_code.source_of(env_id, "environment")
    for name in wrappers.of_users(settings):
        found[name] = loaded_code.source_of(name, "wrapper")
    return found


def changes(
    before: Mapping[str, SourceCopy], now: Mapping[str, SourceCopy], *, when: str, how_to_copy: str
) -> Iterator[str]:
    """What to say of code that is not what it was when something was saved."""
    for word, saved in before.items():
        if word in now and (difference := source_copy.difference(saved, now[word])):
            yield (
                f"{saved.file} is not what it was {when} ({difference}): {word} is made of the file as it is now;"
                f" '{how_to_copy} --version {saved.short}' writes it as it was"
            )
