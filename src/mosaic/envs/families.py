"""The table of environment families, and which of them an id belongs to."""

import importlib
from functools import cache
from typing import TYPE_CHECKING, Any

from mosaic.envs import (
    atari,
    box2d,
    choices,
    classic_control,
    dm_control,
    envpool,
    grids,
    memory,
    minigrid,
    mujoco,
    other,
    pettingzoo,
    procgen,
    toy_text,
)
from mosaic.envs.family import Family
from mosaic.envs.own import own_family
from mosaic.errors import EnvironmentFailed, MissingExtra, UnknownEnvironment
from mosaic.python_wheels import OF_MODULE, no_wheel
from mosaic.spec.catalogue import fitting, known_environments

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

FAMILIES: tuple[Family, ...] = (
    classic_control.FAMILY,
    toy_text.FAMILY,
    box2d.FAMILY,
    mujoco.FAMILY,
    atari.FAMILY,
    minigrid.FAMILY,
    dm_control.FAMILY,
    procgen.FAMILY,
    envpool.FAMILY,
    grids.FAMILY,  # these two before memory, whose pattern has all that is ours
    choices.FAMILY,
    memory.FAMILY,
    pettingzoo.FAMILY,
    other.FAMILY,  # last: it owns all ids that no family above owns
)


def family_of(env_id: str) -> Family:
    """The family that owns `env_id`, whether or not its extra is installed; UnknownEnvironment if none does."""
    if own_family.owns(env_id):
        return own_family.FAMILY
    module, name = split_id(env_id)
    for family in FAMILIES:
        if family.matches(name):
            return family
    import gymnasium

    if module:
        _import_registering(module, env_id)
    if name not in gymnasium.registry:
        if module and pettingzoo.is_registered(name):
            return pettingzoo.FAMILY
        raise unknown(env_id)
    return owner_of(gymnasium.registry[name])


def owner_of(spec: "EnvSpec") -> Family:
    """The family that implements a registered environment."""
    return next((family for family in FAMILIES if family.owns(spec)), other.FAMILY)


def find_spec(env_id: str) -> "tuple[Family, EnvSpec]":
    """The family and the Gymnasium spec of `env_id`, everything imported that it needs."""
    import gymnasium

    family = family_of(env_id)
    family.prepare()
    if family is own_family.FAMILY:
        return family, own_family.spec_of(env_id)
    if family.listed is not None:
        raise EnvironmentFailed(fitting.for_several(env_id))
    _, name = split_id(env_id)
    spec = gymnasium.registry.get(name)
    if spec is None or _is_dead(spec):
        raise unknown(env_id)
    return family, spec


def split_id(env_id: str) -> tuple[str, str]:
    """`module:Env-v0` as ("module", "Env-v0"); a plain id has no module."""
    module, colon, name = env_id.rpartition(":")
    return (module, name) if colon else ("", env_id)


def list_ids(family: str | None = None) -> tuple[str, ...]:
    """The ids of one family (MissingExtra if it is not installed), or of every installed one.

    Current versions first, then outdated ones, each alphabetically.
    """
    if family is not None:
        return _ids(family_named(family))
    ids: list[str] = []
    for each in FAMILIES:
        try:
            ids += _ids(each)
        except MissingExtra:
            continue  # this lists what is installed; `list_ids(name)` says what is missing
    return tuple(ids)


def _ids(family: Family) -> tuple[str, ...]:
    import gymnasium

    family.prepare()
    if family.listed is not None:
        return family.listed()
    ours = [
        spec
        for spec in gymnasium.registry.values()
        if isinstance(spec.entry_point, str)
        and owner_of(spec) is family
        and not (family.unlisted and spec.entry_point.startswith(family.unlisted))
    ]
    newest: dict[tuple[str | None, str], int] = {}
    for spec in ours:
        key = (spec.namespace, spec.name)
        newest[key] = max(newest.get(key, 0), spec.version or 0)
    ours.sort(key=lambda spec: ((spec.version or 0) < newest[spec.namespace, spec.name], spec.id))
    return tuple(spec.id for spec in ours)


def unlisted_ids(family: Family) -> list[str]:
    """Ids that can be made and are not worth listing, sorted."""
    import gymnasium

    listed = set(_ids(family))
    if family.listed is not None:
        return sorted(set(pettingzoo.registered()) - listed)
    ours = [spec for spec in gymnasium.registry.values() if owner_of(spec) is family and not _is_dead(spec)]
    return sorted({spec.id for spec in ours} - listed)


def _is_dead(spec: "EnvSpec") -> bool:
    # Gymnasium keeps dead ids (Walker2d-v2) registered with a function that raises.
    return getattr(spec.entry_point, "__name__", "").startswith("_raise")


def family_named(name: str) -> Family:
    for family in FAMILIES:
        if family.name == name:
            return family
    known = ", ".join(family.name for family in FAMILIES)
    raise UnknownEnvironment(name, hint=f"families are {known}")


def current_version(env_id: str) -> str | None:
    """The newest registered version of this environment if `env_id` is an older one, else None."""
    import gymnasium
    from gymnasium.envs.registration import parse_env_id

    try:
        namespace, name, version = parse_env_id(split_id(env_id)[1])
    except gymnasium.error.Error:
        return None
    if version is None:
        return None
    siblings = [spec for spec in gymnasium.registry.values() if (spec.namespace, spec.name) == (namespace, name)]
    newest = max(siblings, key=lambda spec: spec.version or 0, default=None)
    return newest.id if newest is not None and (newest.version or 0) > version else None


def unknown(env_id: str) -> UnknownEnvironment:
    """The error for an id that nothing answers to: its current version if it is outdated, else what is spelt alike."""
    ids = list_ids()
    current = current_version(env_id)
    if current is not None:
        return UnknownEnvironment(env_id, [current])
    return known_environments.no_such(env_id, known_environments.near(env_id, ids))


@cache
def _import_registering(module: str, env_id: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        advice = no_wheel(OF_MODULE.get(module)) or "install it or correct the id"
        if ours := known_environments.instead_of_minatar(env_id.partition(":")[2]):
            advice = f"{advice}. {ours}"
        raise EnvironmentFailed(
            f"'{env_id}' names the module '{module}', which cannot be imported ({error}); {advice}"
        ) from error
