"""The script of `mosaic compare`: which actors play which environments from which seeds, and what is wrong with it.

    environments = ["CartPole-v1", "FrozenLake-v1"]
    episodes = 20                      # from seed (1) on; or: seeds = "1-20", seeds = [1, 5, 9]
    [actors]
    chance = "random"                  # the first one is what the others are compared with
    trained = "policy:@last"
    [env."FrozenLake-v1"]              # settings of an environment
    is_slippery = false
    wrappers = ["TimeLimit:50"]

TOML, or JSON where the name ends in .json.
"""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le, MinLen

from mosaic import config
from mosaic.config import JsonObject, JsonValue
from mosaic.errors import ConfigError, Problem
from mosaic.near_names import near_names
from mosaic.spec import wrappers
from mosaic.spec.actors import split
from mosaic.spec.environment_flags import EnvironmentFlags
from mosaic.spec.seat_names import has_several
from mosaic.spec.seed_list import MAX_SEED, MAX_SEEDS, parse_seeds


@dataclass(frozen=True, kw_only=True)
class Script:
    """A comparison."""

    environments: Annotated[list[Annotated[str, MinLen(1)]], MinLen(1)]
    """Environments, each for one."""
    actors: Annotated[dict[str, str], MinLen(1)]
    """Who plays, by a name for the table."""
    seeds: list[Annotated[int, Ge(0), Le(MAX_SEED)]] | str = field(default_factory=list[int])
    """Seeds, an episode each: a list, or 1-20."""
    seed: Annotated[int, Ge(0), Le(MAX_SEED)] = 1
    """The first one, where they are not named one by one."""
    episodes: Annotated[int, Ge(0), Le(MAX_SEEDS)] = 0
    """How many, from `seed` on."""
    deterministic: bool = False
    """Policies take the likeliest action."""
    record_observations: bool = False
    """Record whole observations."""
    actor_timeout_s: Annotated[float, Gt(0)] = 60.0
    """An actor that takes longer for an action counts as failed."""
    actor_params: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of actors, by the actor's id."""
    env: dict[str, dict[str, JsonValue]] = field(default_factory=dict[str, dict[str, JsonValue]])
    """Settings of environments, by their ids; `wrappers` is a list of what `--wrap` takes."""


def read(path: Path) -> Script:
    """The script, or ConfigError with all that is wrong with it."""
    try:
        data = path.read_bytes()
        content: JsonObject = _parsed(path, data)
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror}")], what=str(path)) from error
    except ValueError as error:
        raise ConfigError([Problem("", f"is not TOML: {error}")], what=str(path)) from error
    known = [each.name for each in fields(Script)]
    strange = [
        Problem(key, f"is not known; did you mean {near[0]}?")
        for key in content
        if key not in known and (near := near_names(key, known, most=1))
    ]
    if strange:
        raise ConfigError(strange, what=str(path))
    script = config.from_json(Script, content, what=str(path))
    if problems := _problems(script):
        raise ConfigError(problems, what=str(path))
    return script


def _parsed(path: Path, data: bytes) -> JsonObject:
    return config.loads(data, what=str(path)) if path.suffix.lower() == ".json" else tomllib.loads(data.decode())


def _problems(script: Script) -> list[Problem]:
    found = [
        Problem("environments", f"{env_id} is for several players; 'mosaic match' is for those")
        for env_id in script.environments
        if has_several(env_id)
    ]
    if len(set(script.environments)) < len(script.environments):
        found.append(Problem("environments", "names one twice"))
    found += [
        Problem(f"env.{env_id}", "is not one of the environments that are played")
        for env_id in script.env
        if env_id not in script.environments
    ]
    if script.seeds and script.episodes:
        found.append(Problem("episodes", "says how many seeds there are, and so do the seeds: give one of them"))
    try:
        if not seeds_of(script):
            found.append(Problem("episodes", "is missing: how many, or which seeds?"))
    except ValueError as error:
        found.append(Problem("seeds", str(error)))
    for name, word in script.actors.items():
        if split(word)[0] in ("human", "replay"):
            found.append(Problem(f"actors.{name}", f"'{word}' cannot be compared unattended"))
    return found


def environment_flags_of(script: Script, env_id: str) -> EnvironmentFlags:
    """Its settings and wrappers, as a command line would give them."""
    settings = dict(script.env.get(env_id, {}))
    wraps = settings.pop(wrappers.SETTING, None)
    if wraps is None:
        return EnvironmentFlags(kwargs=settings)
    if not isinstance(wraps, list) or not all(isinstance(word, str) for word in wraps):
        raise ConfigError([Problem(f"env.{env_id}.{wrappers.SETTING}", 'is a list of texts, ["TimeLimit:50"]')])
    return EnvironmentFlags(kwargs=settings, wraps=[str(word) for word in wraps])


def seeds_of(script: Script) -> list[int]:
    if isinstance(script.seeds, str):
        return parse_seeds(script.seeds)
    seeds = script.seeds or list(range(script.seed, script.seed + script.episodes))
    if len(set(seeds)) < len(seeds) or any(seed > MAX_SEED for seed in seeds):
        raise ValueError(f"must be different from each other and at most {MAX_SEED}")
    return seeds
