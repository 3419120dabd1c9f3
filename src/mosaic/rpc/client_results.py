"""What the client makes of the daemon's replies about metrics, algorithms and environments."""

import json
from dataclasses import dataclass
from typing import Any

from mosaic.config import JsonObject
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.catalogue import known_environments


@dataclass(frozen=True)
class Series:
    """Points of one metric."""

    tag: str
    steps: list[int]
    values: list[float]
    times: list[float]
    total: int
    """Points before the reduction."""


@dataclass(frozen=True)
class NewRows:
    """Rows of a run's metrics that came after those that the client has."""

    generation: int
    """If it is not the one that was asked with, all rows from before are void."""
    rows: dict[str, tuple[int, bytes]]
    """Tag to the place of its first new row, and rows of three little-endian float64: step, value, unix seconds."""
    more: bool
    """There are more: ask again."""


@dataclass(frozen=True)
class Algorithm:
    """One algorithm of the catalogue."""

    name: str
    summary: str
    actions: str
    schema: JsonObject
    docs: str
    observations: str = ""
    """What it sees: vector or pixels; empty of a script."""
    place: str = ""
    """Of a user's: its file, or its module and package; empty for those of this version."""


@dataclass(frozen=True)
class BrokenAlgorithm:
    """An algorithm of a user's that cannot be trained with."""

    name: str
    place: str
    problem: str


def settings_by_environment(listed: pb.ListEnvironmentsReply) -> dict[str, dict[str, Any]]:
    """The schemas that families were listed with, each with what is known of wrappers."""
    known: list[dict[str, Any]] = json.loads(listed.wrappers_json or "[]")
    found: dict[str, dict[str, Any]] = {}
    for family in listed.families:
        about: dict[str, Any] = json.loads(family.settings_json) if family.settings_json else {}
        for env_id, settings in about.get("environments", {}).items():
            schema = known_environments.settings_of({"settings": settings}, {"settings": about["schemas"]})
            if schema is not None:
                found[env_id] = known_environments.with_wrappers(schema, known)
    return found


@dataclass(frozen=True)
class Engine:
    """What starts the workers of runs, and what it found when it looked for what it needs."""

    name: str
    """As `--engine` takes it."""
    is_default: bool
    """Runs that name no engine have this one."""
    found: tuple[str, ...]
    """What is there."""
    missing: tuple[str, ...]
    """What is not, each with what to do."""
    start: str
    """The line that a user types next."""
    ready: bool
    """Whether it can start runs."""
