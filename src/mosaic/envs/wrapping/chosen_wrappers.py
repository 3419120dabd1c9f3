"""The wrappers that a run's settings name, made: what is put around each environment, the innermost first."""

import importlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from mosaic.envs.own import loaded_code
from mosaic.envs.settings.arguments import for_constructor
from mosaic.envs.settings.constructor import arguments_of
from mosaic.envs.wrapping import wrapper_schema
from mosaic.errors import ConfigError, EnvironmentFailed, MosaicError, Problem
from mosaic.near_names import did_you_mean
from mosaic.spec import own_code, wrappers

if TYPE_CHECKING:
    from gymnasium import Env

_LIKE_OBSERVATIONS = ("min_obs", "max_obs")
_LIKE_ACTIONS = ("min_action", "max_action")


@dataclass(frozen=True)
class ChosenWrapper:
    """One wrapper, as a function that puts it around an environment; it can be sent to another process."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    file: str = ""
    """Of one of a user's."""
    moments: Mapping[str, Any] | None = None
    """With which one that normalises observations is to go on, as a policy was trained with them."""

    @property
    def creator(self) -> Any:
        """The class, or a function of the user's."""
        return creator_of(self.name, self.file)

    def __call__(self, env: "Env[Any, Any]") -> "Env[Any, Any]":
        try:
            creator = self.creator
            made = creator(env, **self._values(creator, env))
        except MosaicError:
            raise
        except Exception as error:  # A border: a wrapper may refuse an environment in any way.
            word = wrappers.worded({"name": self.name, "arguments": self.arguments})
            raise EnvironmentFailed(f"--wrap {word} cannot be put around this environment: {_said(error)}") from error
        if not _is_environment(made):
            raise EnvironmentFailed(f"--wrap {self.name} gave {type(made).__name__}, which is not an environment")
        if self.moments is not None:
            from mosaic.envs.wrapping.kept_state import set_normaliser

            set_normaliser(made, self.moments)
        return made

    def _values(self, creator: Any, env: "Env[Any, Any]") -> dict[str, Any]:
        """JSON has lists only: of what bounds an array it is one, and of the rest what the constructor's default is."""
        if not wrappers.is_gymnasiums(self.name):
            return for_constructor(arguments_of(creator).named, self.arguments)
        return {name: _as_gymnasium(name, value, env) for name, value in self.arguments.items()}


def chosen(settings: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """What is put around an environment with these settings: wrappers, and within them what counts raw rewards."""
    named = [
        ChosenWrapper(one.name, one.arguments, _file_of(one.name), one.moments) for one in wrappers.of(settings or {})
    ]
    if not named:
        return ()
    if any(wrapper_schema.may_change_rewards(one.name, one.creator) for one in named):
        from mosaic.envs.wrapping.raw_return import RawReturn

        return (RawReturn, *named)
    return tuple(named)


def with_normalisers(settings: Mapping[str, Any], moments: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of a policy: with what its wrappers normalised observations by at the end of the training."""
    left = list(moments)
    named = [
        {**one.as_json(), "moments": left.pop(0)} if left and _normalises(one.name) else one.as_json()
        for one in wrappers.of(settings)
    ]
    return {**settings, wrappers.SETTING: named} if named else dict(settings)


def _normalises(name: str) -> bool:
    from gymnasium.wrappers import NormalizeObservation

    creator = creator_of(name)
    return isinstance(creator, type) and issubclass(creator, NormalizeObservation)


def known_for(schema: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The schema of an environment's settings with what is known of wrappers: Gymnasium's, and those of users."""
    properties: Mapping[str, Any] = schema["properties"]
    if wrappers.SETTING not in properties:
        return dict(schema)
    others = {name for name in names if not wrappers.is_gymnasiums(name)}
    own = {name: wrapper_schema.of_user(name, creator_of(name)) for name in sorted(others)}
    known = {one["name"]: one for one in wrapper_schema.gymnasiums()} | own
    about = {**properties[wrappers.SETTING], "known": known}
    return {**schema, "properties": {**properties, wrappers.SETTING: about}}


def creator_of(name: str, file: str = "") -> Any:
    """What a name means: one of Gymnasium's, of a file of the user's, or of an installed module."""
    if wrappers.is_gymnasiums(name):
        if name not in wrapper_schema.USABLE:
            known = {one["name"]: one for one in wrapper_schema.gymnasiums()}
            raise ConfigError([Problem(wrappers.FLAG, next(wrappers.wrong_with(name, {}, known)))], what="environment")
        return wrapper_schema.class_of(name)
    if own_code.is_reference(name):
        path = loaded_code.Path(file) if file else loaded_code.file_of(name, "wrapper")
        found = loaded_code.named(name, "wrapper", path)
        if found is None:
            raise loaded_code.missing(name, path, "wrapper")
        return found
    return _of_module(name)


def _of_module(name: str) -> Any:
    module_name, _, attribute = name.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        message = (
            f"{name}: the module '{module_name}' cannot be imported ({error}); install it, or name its file, as in"
            f" ./{module_name.replace('.', '/')}.py:{attribute}"
        )
        raise ConfigError([Problem(wrappers.FLAG, message)], what="environment") from error
    found = getattr(module, attribute, None)
    if found is None:
        advice = did_you_mean(attribute, vars(module), most=2)
        raise ConfigError([Problem(wrappers.FLAG, f"{module_name} has no {attribute}; {advice}")], what="environment")
    return found


def _file_of(name: str) -> str:
    return str(loaded_code.file_of(name, "wrapper")) if own_code.is_reference(name) else ""


def _as_gymnasium(name: str, value: Any, env: "Env[Any, Any]") -> Any:
    import numpy as np

    if name == "dtype":
        return np.dtype(value).type
    if not isinstance(value, list):
        return value
    if name in _LIKE_OBSERVATIONS:
        return np.asarray(value, dtype=env.observation_space.dtype)
    if name in _LIKE_ACTIONS:
        return np.asarray(value, dtype=env.action_space.dtype)
    return tuple(cast("list[Any]", value))


def _is_environment(made: Any) -> bool:
    import gymnasium

    return isinstance(made, gymnasium.Env)


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
