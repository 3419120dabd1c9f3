"""Making one environment, wrapped as Gymnasium wraps it, or bare for our own vector environment."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mosaic.envs.families import current_version, find_spec
from mosaic.envs.family import Family
from mosaic.envs.wrapping import chosen_wrappers
from mosaic.errors import EnvironmentFailed, MissingExtra
from mosaic.spec.wrappers import without as without_wrappers

if TYPE_CHECKING:
    from gymnasium import Env
    from gymnasium.envs.registration import EnvSpec

Wrap = Callable[[Any], Any]
"""Takes an environment and returns it wrapped: `gymnasium.wrappers.ClipAction`, or a function of your own."""


def make(
    env_id: str,
    *,
    render_mode: str | None = "rgb_array",
    settings: Mapping[str, Any] | None = None,
    wrappers: Sequence[Wrap] = (),
    pixels: bool = False,
    whole_games: bool = False,
    **kwargs: Any,
) -> "Env[Any, Any]":
    """One environment with Gymnasium's own wrappers (checker, order, time limit) and then `wrappers`.

    `settings` are those of a run config (`mosaic.envs.settings`); `kwargs` go to the constructor as they are.
    With `pixels` it shows the stacks of pictures that its family's rule makes; with `whole_games` too, an episode is
    one as a person plays it, with its true rewards.
    """
    family, spec = find_with_settings(env_id, settings)
    if pixels:
        rule = family.pixels(spec, settings or {})
        wrap = (rule.wrap_whole if whole_games else None) or rule.wrap
        wrappers, kwargs = (*wrappers, wrap), {**kwargs, **rule.kwargs}
    named = chosen_wrappers.chosen(settings)
    return make_from(family, spec, render_mode=render_mode, wrappers=(*wrappers, *named), **kwargs)


def find_with_settings(env_id: str, settings: Mapping[str, Any] | None) -> "tuple[Family, EnvSpec]":
    """The family and the spec of an environment, the spec with these settings: all that is made of it has them."""
    family, spec = find_spec(env_id)
    if not settings:
        return family, spec
    from mosaic.envs.settings import arguments

    return family, arguments.with_settings(spec, without_wrappers(settings))


def make_from(
    family: Family, spec: "EnvSpec", *, render_mode: str | None, wrappers: Sequence[Wrap] = (), **kwargs: Any
) -> "Env[Any, Any]":
    import gymnasium

    newer = current_version(spec.id)
    if newer is not None:
        from mosaic.log import get_logger

        get_logger().warning("env.outdated", env_id=spec.id, current=newer)
    try:
        if render_mode is not None and _declares(spec, render_mode):
            kwargs["render_mode"] = render_mode
        # The spec instead of the id: Gymnasium's own warning about outdated versions is our log line above.
        env = gymnasium.make(spec, **kwargs)
        for wrap in wrappers:
            env = wrap(env)
    except gymnasium.error.DependencyNotInstalled as error:
        if family.extra is None:
            raise EnvironmentFailed(f"'{spec.id}' could not be made: {error}") from error
        raise MissingExtra(f"'{spec.id}'", family.extra) from error
    except (ImportError, TypeError, ValueError, gymnasium.error.Error) as error:
        hint = f"; try {newer}" if newer else ""
        raise EnvironmentFailed(f"'{spec.id}' could not be made: {error}{hint}") from error
    return env


def _declares(spec: "EnvSpec", render_mode: str) -> bool:
    """Whether the environment's class says that it can render so; one made by a function may, so it is asked."""
    from gymnasium.envs.registration import load_env_creator

    entry = spec.entry_point
    creator: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    # A function has no metadata; an entry of a user's file says what the class or function has.
    modes = getattr(creator, "metadata", {}).get("render_modes")
    return modes is None or render_mode in modes


def bare_spec(spec: "EnvSpec", *, keep_time_limit: bool) -> "EnvSpec":
    """The spec without checker and order wrapper and, unless kept, without its time limit."""
    bare = copy.copy(spec)
    bare.disable_env_checker = True
    bare.order_enforce = False
    if not keep_time_limit:
        bare.max_episode_steps = None
    return bare
