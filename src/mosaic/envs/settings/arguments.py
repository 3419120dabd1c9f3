"""Settings, as a run config has them, made into the arguments of a constructor: the one place where that is done.

JSON has no tuples and no infinity. A list becomes a tuple where the constructor's own default is one, or its annotation
has a tuple and no list; "inf" and "-inf" in a list become numbers.
"""

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast, get_args, get_origin

from mosaic.envs.settings.constructor import Argument, arguments_of
from mosaic.envs.settings.settings_schema import INFINITE, STEP_LIMIT, creator_of

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec


def with_settings(spec: "EnvSpec", settings: Mapping[str, Any]) -> "EnvSpec":
    """A copy of a Gymnasium spec whose environments have these settings."""
    named = arguments_of(creator_of(spec)).named
    own = {name: value for name, value in settings.items() if name != STEP_LIMIT or name in named}
    changed = copy.copy(spec)
    changed.kwargs = {**spec.kwargs, **for_constructor(named, own)}
    if STEP_LIMIT in settings.keys() - own.keys():
        changed.max_episode_steps = settings[STEP_LIMIT]
    return changed


def for_constructor(named: Mapping[str, Argument], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(item, named.get(name)) for name, item in settings.items()}


def _value(value: Any, argument: Argument | None) -> Any:
    if not isinstance(value, list):
        return value
    items = [INFINITE.get(item, item) if isinstance(item, str) else item for item in cast("list[Any]", value)]
    return tuple(items) if argument is not None and _wants_tuple(argument) else items


def _wants_tuple(argument: Argument) -> bool:
    if isinstance(argument.default, (tuple, list)):
        return isinstance(argument.default, tuple)
    kinds = {get_origin(one) or one for one in (argument.hint, *get_args(argument.hint))}
    # ale_py has `tuple[int, int] | int` with the default 4, and refuses a list.
    return tuple in kinds and list not in kinds
