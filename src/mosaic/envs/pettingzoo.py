"""PettingZoo: games and worlds for several, with a seat for each; played (`mosaic play`), not trained.

Ids are those of PettingZoo's own registry: `classic/tictactoe-v3`, `butterfly/pistonball-v6`; those of the MPE, which
is the package mpe2 today, are `mpe/simple_tag-v3`. The module's spelling (`classic/tictactoe_v3`, `tictactoe_v3`) means
the same, behind `pettingzoo/` too. `module:namespace/name-v0` imports a user's module that registers it there.
"""

import importlib
import re
import sys
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from mosaic.envs.family import Family
from mosaic.errors import EnvironmentFailed, MissingExtra, UnknownEnvironment
from mosaic.spec.catalogue.extras import BOX2D, PETTINGZOO, of_module
from mosaic.spec.seat_names import PETTINGZOO_IDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gymnasium import Space

NAMESPACES = ("classic", "butterfly", "sisl", "mpe")
"""Those that are listed; the Atari games for several need ROMs of their own, which are asked for by name."""
UNLISTED = ("classic/hanabi",)
"""It needs OpenSpiel through Shimmy, which adds environments to Gymnasium that need further packages."""
_MPE = re.compile(r"(\w+)_v(\d+)")

MASK = "action_mask"
"""Where an observation keeps which actions are allowed."""

Order = Literal["turns", "together"]


@dataclass(frozen=True)
class Made:
    """An environment for several, by one of PettingZoo's two interfaces."""

    env: Any
    order: Order
    """turns: AEC, one acts after the other; together: parallel, all act and then a step is made."""


def _listed() -> tuple[str, ...]:
    return tuple(
        env_id for env_id in registered() if env_id.partition("/")[0] in NAMESPACES and not env_id.startswith(UNLISTED)
    )


FAMILY = Family(
    name="pettingzoo",
    title="PettingZoo",
    observation_rule="as the environment gives it to the seat whose turn it is, its action mask apart",
    distribution="pettingzoo",
    extra=PETTINGZOO.name,
    modules=("pettingzoo", "mpe2"),
    optional=("Box2D", "chess", "pygame", "pymunk", "rlcard", "scipy"),
    id_pattern=PETTINGZOO_IDS,
    actions="by seat",
    listed=_listed,
)


def make_for_several(env_id: str, *, render_mode: str | None, settings: "Mapping[str, Any] | None" = None) -> Made:
    """Together where it can be played so, else in turns."""
    name = registered_name(env_id)
    given = dict(settings or {})
    from pettingzoo import aec_registry, make, parallel_registry

    registry: dict[str, Any] = parallel_registry if name in parallel_registry else aec_registry
    try:
        if registry is parallel_registry:
            return Made(make("parallel", name, render_mode=render_mode, **given), "together")
        return Made(make("aec", name, render_mode=render_mode, **given), "turns")
    except Exception as error:  # A border: a user's environment may raise anything.
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError):
            if (brought := of_module(cause.name or "")) is not None and brought.name in (PETTINGZOO.name, BOX2D.name):
                raise MissingExtra(f"'{env_id}' (it uses {cause.name})", PETTINGZOO.name) from error
            raise EnvironmentFailed(f"'{env_id}' needs the package '{cause.name}', which is not installed") from error
        raise EnvironmentFailed(f"'{env_id}' could not be made: {error}") from error


def entry_of(name: str) -> Any:
    """What PettingZoo makes a registered environment with: the function itself, or `module:name`."""
    from pettingzoo import aec_registry, parallel_registry

    found: Any = aec_registry.get(name) or parallel_registry.get(name)
    return getattr(found, "entry_point", found)


def without_mask(space: "Space[Any]") -> "Space[Any]":
    """The space of what a seat sees, without that of its action mask."""
    from gymnasium import spaces

    parts: Any = getattr(space, "spaces", ())
    if MASK not in parts:
        return space
    rest: dict[str, Space[Any]] = {key: parts[key] for key in parts if key != MASK}
    made: Any = rest["observation"] if set(rest) == {"observation"} else spaces.Dict(rest)
    return made


def registered_name(env_id: str) -> str:
    """The id under which PettingZoo knows it, everything imported that it needs."""
    FAMILY.prepare()
    module, _, name = env_id.rpartition(":")
    if module:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise EnvironmentFailed(f"'{env_id}' names the module '{module}', which cannot be imported") from error
        registered.cache_clear()
    known = registered()
    wanted = re.sub(r"_(v\d+)$", r"-\1", name.removeprefix("pettingzoo/"))
    found = [each for each in known if wanted in (each, each.partition("/")[2])]
    if not found:
        import difflib

        near = difflib.get_close_matches(wanted, known, n=3) or difflib.get_close_matches(
            wanted.rpartition("/")[2], [each.partition("/")[2] for each in known], n=3
        )
        raise UnknownEnvironment(env_id, near, hint="'mosaic envs pettingzoo' lists what is installed")
    return found[0]


def is_registered(name: str) -> bool:
    """Whether a module that was imported already registered it; imports nothing."""
    pettingzoo: Any = sys.modules.get("pettingzoo")
    return pettingzoo is not None and (name in pettingzoo.aec_registry or name in pettingzoo.parallel_registry)


@cache
def registered() -> tuple[str, ...]:
    """Every id, listed or not."""
    from pettingzoo import aec_registry, parallel_registry

    _register_mpe()
    return tuple(sorted({*aec_registry, *parallel_registry}))


def _register_mpe() -> None:
    """The MPE registers nothing by itself."""
    import pkgutil

    import mpe2
    from pettingzoo import aec_registry, parallel_registry, register

    for module in pkgutil.iter_modules(mpe2.__path__):
        if match := _MPE.fullmatch(module.name):
            env_id = f"mpe/{match[1]}-v{match[2]}"
            if env_id not in aec_registry:
                register("aec", env_id, f"mpe2.{module.name}:env")
            if env_id not in parallel_registry:
                register("parallel", env_id, f"mpe2.{module.name}:parallel_env")


def versions() -> dict[str, str]:
    """Of the packages that hold these environments."""
    from importlib import metadata

    return {name: metadata.version(name) for name in ("pettingzoo", "mpe2")}
