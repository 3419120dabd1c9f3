"""The run config of a play session, as the command line and the window make it."""

from collections.abc import Mapping
from typing import Any


def document_of(
    env_id: str,
    actors: Mapping[str, str],
    options: Mapping[str, Any],
    *,
    seed: int,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`options` are those of `PlayExtras`, `settings` those of the environment."""
    extras = {"mode": "play", "actors": dict(actors), **options}
    worker = {"module": "mosaic.play", "config": {"env_id": env_id, "seed": seed, "extras": extras}}
    environment = {"env_id": env_id, "settings": dict(settings or {})}
    return {"environment": environment, "artifacts": {}, "metadata": {"worker": worker}}
