"""`gym.make` and the vector environments: each environment that a script makes is shown and counted.

Environments are asked to be able to render, which changes nothing but what `render()` returns, and only where the
script itself said nothing about it.
"""

import functools
import importlib.util
import threading
import weakref
from time import monotonic
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import load_env_creator
from gymnasium.vector import AsyncVectorEnv
from gymnasium.vector.async_vector_env import AsyncState
from gymnasium.wrappers import OrderEnforcing

from cleanrl_worker.foreign.counted_classes import KEY, CountedClasses, add, vector_count
from cleanrl_worker.foreign.shown_environments import Picture, ShownEnvironments
from cleanrl_worker.foreign.step_counts import EnvCount, StepCounts
from mosaic.envs.families import owner_of

PLUGINS = ("ale_py", "minigrid", "gymnasium_robotics")
"""Packages whose environments 0.29 found by itself."""


class MadeSlot:
    """An environment of this process."""

    def __init__(self, env: Any, count: EnvCount) -> None:
        # The script's own; it may let go of it without closing it.
        self._env = weakref.ref(env)
        self._count = count

    @property
    def env(self) -> Any:
        return self._env()

    @property
    def is_there(self) -> bool:
        return self._env() is not None

    def picture(self) -> Picture | None:
        bare = self.env.unwrapped
        return np.asarray(bare.render(), np.uint8) if bare.render_mode == "rgb_array" else None

    def so_far(self) -> tuple[float, int]:
        return float(self._count.total), self._count.steps


class ProcessSlot:
    """An environment of an AsyncVectorEnv's process, which is asked over its pipe between two steps.

    Its answers come in the order of the questions: while the script waits for one, no thread may ask, and while it is
    asked here the script's next question waits (`drawing`).
    """

    def __init__(self, envs: Any, index: int) -> None:
        self._envs = envs
        self._index = index
        self._last: Picture | None = np.zeros((64, 64, 3), np.uint8)

    @property
    def is_there(self) -> bool:
        return not self._envs.closed

    def picture(self) -> Picture | None:
        if self._envs._state is not AsyncState.DEFAULT:
            return self._last
        pipe = self._envs.parent_pipes[self._index]
        with self._envs.drawing:
            pipe.send(("_call", ("render", [], {})))
            drawn, worked = pipe.recv()
        if not worked:
            index, error, message, *_ = self._envs.error_queue.get()
            raise RuntimeError(f"environment {index}: {error.__name__}: {message}")
        self._last = np.asarray(drawn, np.uint8) if isinstance(drawn, np.ndarray) else None
        return self._last

    def so_far(self) -> tuple[float, int]:
        return 0.0, 0


class EnvironmentPatches:
    def __init__(self, shown_environments: ShownEnvironments, counts: StepCounts, *, old: bool) -> None:
        self._shown_environments = shown_environments
        self._counts = counts
        self._classes = CountedClasses(counts)
        self._old = old
        """For a script that was written for Gymnasium 0.29."""

    def change(self) -> None:
        self._classes.change()
        self._make()
        self._steps()
        self._processes()

    def _make(self) -> None:
        original, making = gym.make, self

        @functools.wraps(original)
        def make(id: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
            _find_plugin(id)
            autoreset = making._old and _take_old_arguments(kwargs)
            env: Any = None
            making._classes.making += 1
            try:
                if making._shown_environments.wanted and "render_mode" not in kwargs and _can_render(id):
                    env = _with_pictures(original, id, *args, **kwargs)
                if env is None:
                    env = original(id, *args, **kwargs)
            finally:
                making._classes.making -= 1
            making._enter(env, id if isinstance(id, str) else id.id, kwargs)
            return known.wrappers.AutoResetWrapper(env) if autoreset else env

        known: Any = gym
        known.make = known.envs.registration.make = make

    def _enter(self, env: Any, env_id: str, arguments: dict[str, Any]) -> None:
        count = EnvCount(self._counts)
        slot = MadeSlot(env, count)
        place = count.slot = self._shown_environments.enter(slot)
        self._shown_environments.made[place] = (
            env_id,
            {key: value for key, value in arguments.items() if key != "render_mode"},
        )
        self._classes.place(count, env)

    def _steps(self) -> None:
        """Every environment of `gym.make` has this wrapper, so a change of the class reaches all of them.

        What the wrapper itself does at a step is done here: two calls less pay for the counting.
        """
        cls: Any = OrderEnforcing
        original, begin, end, shown_environments = cls.step, cls.reset, cls.close, self._shown_environments
        setattr(cls, KEY, None)

        def step(this: Any, action: Any) -> Any:
            count = this._mosaic_count
            if count is None or not this._has_reset:
                result = original(this, action)
            else:
                result = this.env.step(action)
                try:
                    count.left -= 1
                    count.total += result[1]
                    if result[2] or result[3] or not count.left:
                        count.end()
                except Exception:  # A border: an environment may return what cannot be added up; the script goes on.
                    this._mosaic_count = None
            if monotonic() >= shown_environments.eye.due_at:
                shown_environments.eye.show()
            return result

        def reset(this: Any, **kwargs: Any) -> Any:
            if this._mosaic_count is not None:
                this._mosaic_count.reset()
            return begin(this, **kwargs)

        def close(this: Any) -> None:
            for slot in list(shown_environments.slots):
                if isinstance(slot, MadeSlot) and slot.is_there and slot.env.unwrapped is this.unwrapped:
                    shown_environments.leave(slot)
            end(this)

        cls.step, cls.reset, cls.close = step, reset, close

    def _processes(self) -> None:
        cls: Any = AsyncVectorEnv
        begin, wait, restart, end = cls.__init__, cls.step_wait, cls.reset_wait, cls.close_extras
        shown_environments, counts = self._shown_environments, self._counts

        @functools.wraps(begin)
        def __init__(this: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            this.seen = []
            this.drawing = threading.Lock()
            begin(this, *args, **kwargs)
            this.seen = [ProcessSlot(this, index) for index in range(this.num_envs)]
            for slot in this.seen:
                shown_environments.enter(slot)
            this._mosaic_count = vector_count(counts, this)

        def step_wait(this: Any, *args: Any, **kwargs: Any) -> Any:
            result = wait(this, *args, **kwargs)
            if this._mosaic_count is not None:
                add(this, this._mosaic_count.take_step, result)
            shown_environments.look()
            return result

        def reset_wait(this: Any, *args: Any, **kwargs: Any) -> Any:
            if this._mosaic_count is not None:
                this._mosaic_count.reset()
            return restart(this, *args, **kwargs)

        def close_extras(this: Any, *args: Any, **kwargs: Any) -> None:
            for slot in this.seen:
                shown_environments.leave(slot)
            end(this, *args, **kwargs)

        cls.__init__, cls.step_wait, cls.reset_wait, cls.close_extras = __init__, step_wait, reset_wait, close_extras
        for name in ("step_async", "reset_async", "call_async"):
            setattr(cls, name, _after_drawing(getattr(cls, name)))


def _after_drawing(ask: Any) -> Any:
    """A picture may take longer than the view waits for it: a late answer must not be taken for another."""

    @functools.wraps(ask)
    def asked(this: Any, *args: Any, **kwargs: Any) -> Any:
        if this.drawing.locked():
            with this.drawing:
                pass
        return ask(this, *args, **kwargs)

    return asked


def _take_old_arguments(kwargs: dict[str, Any]) -> bool:
    """Arguments of `gym.make` that 1.x does not know; whether the environment is to be reset by itself."""
    kwargs.pop("apply_api_compatibility", None)
    return bool(kwargs.pop("autoreset", False))


def _find_plugin(env_id: Any) -> None:
    """0.29 imported the packages of environments by itself: `gym.make("BreakoutNoFrameskip-v4")` just worked."""
    if not isinstance(env_id, str) or ":" in env_id or env_id in gym.registry:
        return
    for name in PLUGINS:
        if importlib.util.find_spec(name) is not None:
            gym.register_envs(importlib.import_module(name))
            if env_id in gym.registry:
                return


def _with_pictures(make: Any, *args: Any, **kwargs: Any) -> Any:
    """None if it cannot be made so: the script did not ask for pictures, and must not fail for them."""
    try:
        env = make(*args, **kwargs, render_mode="rgb_array")
    except Exception:  # A border: without pictures it either works, or says itself what is wrong.
        return None
    if env.spec is not None:
        owner_of(env.spec).keep_nothing_for_pictures(env)
    return env


def _can_render(env_id: Any) -> bool:
    try:
        spec = gym.spec(env_id) if isinstance(env_id, str) else env_id
        point: Any = spec.entry_point
        creator = load_env_creator(point) if isinstance(point, str) else point
        metadata: Any = getattr(creator, "metadata", {})
        return "rgb_array" in metadata.get("render_modes", ()) and "render_mode" not in spec.kwargs
    except Exception:  # A border: gym.make itself is about to say what is wrong with this environment.
        return False
