"""Counting in the classes that a script steps: its own wrappers, and environments that it makes without `gym.make`.

A class is changed when its first instance is made, and only where it defines `step` or `reset` itself, so that a script
pays for what it uses. What an environment returns is its own affair: what cannot be added up is not counted. Counts are
attributes, never looked up in `__dict__`: Python then reads all attributes of that environment more slowly.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv, VectorWrapper
from gymnasium.wrappers import OrderEnforcing, TimeLimit

from cleanrl_worker.foreign.step_counts import EnvCount, StepCounts, VectorCount

KEY = "_mosaic_count"
"""Attribute of an environment: its count, or None if it is counted elsewhere or cannot be counted."""
UNKNOWN: Any = object()
"""Its value before the first step."""
REPEATING = ("AtariPreprocessing", "MaxAndSkipObservation")
"""Gymnasium's own wrappers that step more than once for a step."""
COUNTED_ELSEWHERE = (gym.Wrapper, SyncVectorEnv, AsyncVectorEnv, VectorWrapper)
Method = Callable[..., Any]
C = TypeVar("C", EnvCount, VectorCount)


class CountedClasses:
    def __init__(self, counts: StepCounts) -> None:
        self.counts = counts
        self.making = 0
        """Calls of `gym.make` that go on: what they make is counted in its OrderEnforcing."""
        self._seen: set[type] = set()

    def change(self) -> None:
        self._watch_wrappers()
        self._watch_limits()
        self._watch_instances(gym.Env, self._env_step, self._env_reset)
        self._watch_instances(VectorEnv, self._vector_step, self._vector_reset)

    def place(self, count: EnvCount, env: Any) -> None:
        """Count an environment of `gym.make`: in its OrderEnforcing, or in its own class if it has none."""
        layers: list[Any] = [env]
        while isinstance(layers[-1], gym.Wrapper):
            layers.append(layers[-1].env)
        for layer in layers:
            if isinstance(layer, TimeLimit):
                count.limit_to(layer._max_episode_steps)  # type: ignore[reportPrivateUsage]
        count.watch(layers[-1])
        place = next((layer for layer in layers if isinstance(layer, OrderEnforcing)), None)
        _keep(layers[-1], count if place is None else None)
        if place is not None:
            _keep(place, count)
        else:
            _change(type(layers[-1]), "step", self._env_step, but_not=gym.Env)
            _change(type(layers[-1]), "reset", self._env_reset, but_not=gym.Env)

    def count_of(self, env: Any) -> EnvCount | None:
        """Of the environment within all wrappers."""
        while isinstance(env, gym.Wrapper):
            within: Any = env
            found = getattr(within, KEY, UNKNOWN)
            if found is not UNKNOWN and not (found is None and isinstance(within, OrderEnforcing)):
                return found
            env = within.env
        found = getattr(env, KEY, UNKNOWN)
        if found is UNKNOWN:
            found = EnvCount(self.counts)
            if not _keep(env, found):
                self.counts.counting.discard(found)
                return None
            found.watch(env)
        return found

    def _watch_instances(self, base: Any, step: Callable[[Method], Method], reset: Callable[[Method], Method]) -> None:
        classes = self

        def __new__(cls: type[Any], *_: Any, **__: Any) -> Any:  # noqa: N807
            if cls not in classes._seen and not classes.making and not issubclass(cls, COUNTED_ELSEWHERE):
                classes._seen.add(cls)
                _change(cls, "step", step, but_not=base)
                _change(cls, "reset", reset, but_not=base)
            return object.__new__(cls)

        base.__new__ = __new__

    def _watch_wrappers(self) -> None:
        wrapper: Any = gym.Wrapper
        original, classes = wrapper.__init__, self

        @functools.wraps(original)
        def __init__(this: Any, env: Any) -> None:  # noqa: N807
            original(this, env)
            if classes.making:
                return
            if type(this) not in classes._seen:
                classes._seen.add(type(this))
                _change(type(this), "step", classes._wrapper_step)
                _change(type(this), "reset", classes._wrapper_reset)

        wrapper.__init__ = __init__

    def _watch_limits(self) -> None:
        """Of a TimeLimit that the script puts around an environment itself."""
        wrapper: Any = TimeLimit
        original, classes = wrapper.__init__, self

        @functools.wraps(original)
        def __init__(this: Any, env: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            original(this, env, *args, **kwargs)
            if not classes.making and (count := classes.count_of(env)) is not None:
                count.limit_to(this._max_episode_steps)

        wrapper.__init__ = __init__

    def _count_at(self, this: Any) -> EnvCount | None:
        """Looked up once: the wrappers below do not change."""
        count = this._mosaic_count
        if count is UNKNOWN:
            count = self.count_of(this)
            _keep(this, count)
        return count

    def _wrapper_step(self, original: Method) -> Method:
        def step(this: Any, *args: Any, **kwargs: Any) -> Any:
            count = self._count_at(this)
            if count is None:
                return original(this, *args, **kwargs)
            count.depth += 1
            if count.depth == 1:
                count.has_steps_of_a_wrapper = True
                count.length += 1
            try:
                result = original(this, *args, **kwargs)
            finally:
                count.depth -= 1
            if not count.depth:
                count.over = _is_over(result)
            return result

        return step

    def _wrapper_reset(self, original: Method) -> Method:
        """Steps within a reset (no-ops, FIRE) are not the script's."""

        def reset(this: Any, *args: Any, **kwargs: Any) -> Any:
            count = self._count_at(this)
            if count is None:
                return original(this, *args, **kwargs)
            count.depth += 1
            before = count.left
            try:
                return original(this, *args, **kwargs)
            finally:
                count.depth -= 1
                if not count.depth:
                    # A reset of the environment itself has filled up what is left.
                    count.skipped += (before if count.left <= before else count.limit) - count.left

        return reset

    def _env_step(self, original: Method) -> Method:
        return _step(original, self._count_at, lambda count: count.take)

    def _env_reset(self, original: Method) -> Method:
        def reset(this: Any, *args: Any, **kwargs: Any) -> Any:
            count = self._count_at(this)
            if count is not None and not count.inside:
                count.reset()
            return original(this, *args, **kwargs)

        return reset

    def _vector_step(self, original: Method) -> Method:
        return _step(original, self._vector_count, lambda count: count.take_step)

    def _vector_reset(self, original: Method) -> Method:
        def reset(this: Any, *args: Any, **kwargs: Any) -> Any:
            count = self._vector_count(this)
            if count is not None:
                count.reset()
            return original(this, *args, **kwargs)

        return reset

    def _vector_count(self, this: Any) -> VectorCount | None:
        count = this._mosaic_count
        if count is UNKNOWN:
            count = vector_count(self.counts, this)
            return count if _keep(this, count) else None
        return count


def _step(original: Method, count_of: Callable[[Any], C | None], take_of: Callable[[C], Method]) -> Method:
    def step(this: Any, *args: Any, **kwargs: Any) -> Any:
        count = count_of(this)
        if count is None or count.inside:
            # Counted elsewhere, or by the class that is derived from this one.
            return original(this, *args, **kwargs)
        count.inside = True
        try:
            result = original(this, *args, **kwargs)
        finally:
            count.inside = False
        add(this, take_of(count), result)
        return result

    return step


def vector_count(counts: StepCounts, envs: Any) -> VectorCount:
    mode = (envs.metadata or {}).get("autoreset_mode", AutoresetMode.NEXT_STEP)
    return VectorCount(counts, envs.num_envs, resets_by_a_step=mode == AutoresetMode.NEXT_STEP)


def _change(cls: type[Any], name: str, change: Callable[[Method], Method], *, but_not: type | None = None) -> None:
    """Change a method in the class that defines it, once; those of Gymnasium's wrappers only if they repeat steps."""
    owner = next((one for one in cls.__mro__ if name in vars(one)), None)
    if owner is None or owner is but_not or KEY in getattr(vars(owner)[name], "__dict__", {KEY: None}):
        return
    if issubclass(owner, gym.Wrapper) and owner.__module__.startswith("gymnasium.") and owner.__name__ not in REPEATING:
        return
    original = vars(owner)[name]
    changed = functools.wraps(original)(change(original))
    changed.__dict__[KEY] = True
    setattr(owner, name, changed)
    if not hasattr(owner, KEY):
        setattr(owner, KEY, UNKNOWN)


def _keep(env: Any, count: EnvCount | VectorCount | None) -> bool:
    """False for an environment that takes no attributes of others: it is not counted."""
    try:
        setattr(env, KEY, count)
    except (AttributeError, TypeError):
        return False
    return True


def add(this: Any, take: Method, *result: Any) -> None:
    """Count a step of `this`, and no further one if it cannot be counted."""
    try:
        take(*result)
    except Exception:  # A border: whatever an environment returns, the script goes on; it is just not counted.
        _keep(this, None)


def _is_over(result: Any) -> bool:
    """Of five values as Gymnasium has them, or of gym's four."""
    try:
        return bool(result[2]) or (len(result) == 5 and bool(result[3]))
    except Exception:  # A border: as above.
        return False
