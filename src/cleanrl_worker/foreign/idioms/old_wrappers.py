"""Wrappers under the names and with the arguments that they had in 0.29."""

import functools
from typing import Any

import gymnasium as gym
from gymnasium import wrappers
from gymnasium.vector import VectorEnv

from cleanrl_worker.foreign.idioms.old_vector import with_arrays

known: Any = wrappers


class FrameStack(wrappers.FrameStackObservation[Any, Any, Any]):
    def __init__(self, env: gym.Env[Any, Any], num_stack: int, lz4_compress: bool = False) -> None:  # noqa: ARG002
        super().__init__(env, num_stack)
        self.num_stack = num_stack


class GrayScaleObservation(wrappers.GrayscaleObservation[Any, Any, Any]):
    def __init__(self, env: gym.Env[Any, Any], keep_dim: bool = False) -> None:
        super().__init__(env, keep_dim)


class AutoResetWrapper(gym.Wrapper[Any, Any, Any, Any]):
    """An ended episode is followed by the next one in the same step."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, info = self.env.step(action)
        if terminated or truncated:
            first, begun = self.env.reset()
            info = {**begun, "final_observation": obs, "final_info": with_arrays(info)}
            obs = first
        return obs, reward, terminated, truncated, info


def change() -> None:
    for cls in (FrameStack, GrayScaleObservation, AutoResetWrapper):
        setattr(known, cls.__name__, cls)
    known.PixelObservationWrapper = known.AddRenderObservation
    known.VectorListInfo = known.vector.DictInfoToList
    known.StepAPICompatibility = _StepAPI
    _optional_space("TransformObservation", "observation_space")
    _optional_space("TransformAction", "action_space")
    _size_of_one_number()
    # Not getattr: what is loaded lazily needs packages that may not be there.
    for name in vars(known.vector).keys() & vars(known).keys():
        if isinstance(vars(known)[name], type):
            _for_vectors_too(vars(known)[name], vars(known.vector)[name])
    _statistics_as_arrays()
    _hand_on_attributes()


class _StepAPI(gym.Wrapper[Any, Any, Any, Any]):
    """Between four and five values: `output_truncation_bool=False` gives (obs, reward, done, info)."""

    def __init__(self, env: gym.Env[Any, Any], output_truncation_bool: bool = True) -> None:
        super().__init__(env)
        self._five = output_truncation_bool

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return (
            (obs, reward, terminated, truncated, info) if self._five else (obs, reward, terminated or truncated, info)
        )


def _optional_space(name: str, argument: str) -> None:
    """1.x wants to be told the space that results; 0.29 took it to be the same."""
    cls = getattr(known, name)
    original = cls.__init__

    @functools.wraps(original)
    def __init__(this: Any, env: Any, func: Any = None, space: Any = None, **kwargs: Any) -> None:  # noqa: N807
        chosen = kwargs.pop(argument, space)
        original(this, env, kwargs.pop("f", func), getattr(env, argument) if chosen is None else chosen, **kwargs)

    cls.__init__ = __init__


def _size_of_one_number() -> None:
    """`ResizeObservation(env, 84)` was a square."""
    cls = known.ResizeObservation
    original = cls.__init__

    @functools.wraps(original)
    def __init__(this: Any, env: Any, shape: Any) -> None:  # noqa: N807
        original(this, env, (shape, shape) if isinstance(shape, int) else tuple(shape))

    cls.__init__ = __init__


def _for_vectors_too(cls: Any, vector_class: Any) -> None:
    """In 0.29 the same wrapper took a vector environment; now there is one of each kind."""

    def __new__(this: Any, env: Any = None, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        if this is cls and isinstance(env, VectorEnv):
            return vector_class(env, *args, **kwargs)
        return object.__new__(this)

    cls.__new__ = __new__


def _statistics_as_arrays() -> None:
    """Of a single environment; inside of a vector environment the info is turned when it becomes the final one."""
    cls = known.RecordEpisodeStatistics
    original_init, original_step = cls.__init__, cls.step

    @functools.wraps(original_init)
    def __init__(this: Any, env: Any, deque_size: int = 100, **kwargs: Any) -> None:  # noqa: N807
        original_init(this, env, kwargs.pop("buffer_length", deque_size), **kwargs)

    def step(this: Any, action: Any) -> Any:
        obs, reward, terminated, truncated, info = original_step(this, action)
        if terminated or truncated:
            info = with_arrays(info)
        return obs, reward, terminated, truncated, info

    cls.__init__, cls.step = __init__, step


def _hand_on_attributes() -> None:
    """`env.some_attribute` reached through all wrappers."""
    cls: Any = gym.Wrapper

    def __getattr__(this: Any, name: str) -> Any:  # noqa: N807
        if name.startswith("_") or name == "env":
            raise AttributeError(f"{type(this).__name__} has no attribute '{name}'")
        return getattr(this.env, name)

    cls.__getattr__ = __getattr__
