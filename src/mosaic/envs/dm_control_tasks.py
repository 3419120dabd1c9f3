"""The environments of the dm_control family; importing this registers every task of the suite.

A task draws from a generator of its own, which is seeded from the environment's at each reset: so an episode follows
from the state of one generator, and can be lived again. Suite and Gymnasium agree on all else: a step that ends by the
task's own rule has the discount 0 and terminates, and the limit of 1000 steps truncates.
"""

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

STEPS = 1000
"""Steps of an episode; the suite says it in seconds, which make so many in every domain but lqr, which has no limit."""
_FOR_ANY_SEED = 0
"""The models of lqr are drawn when they are built: the same ones each time."""

_functions: Any = mujoco  # Compiled, without types.


def _import_suite() -> Any:
    """Without OpenGL, which it would load at once, to draw in its own way: here pictures are MuJoCo's."""
    chosen = os.environ.get("MUJOCO_GL")
    os.environ["MUJOCO_GL"] = "disabled"
    try:
        found = import_module("dm_control.suite")
    finally:
        del os.environ["MUJOCO_GL"]
        if chosen is not None:
            os.environ["MUJOCO_GL"] = chosen
    tables: Any = import_module("dm_control.mujoco.wrapper.mjbindings").sizes.array_sizes
    for table, struct in (("mjmodel", _functions.MjModel), ("mjdata", _functions.MjData)):
        # dm_control 1.0.50 names fields of flexible bodies that MuJoCo 4 has no longer, and no task has.
        for name in [name for name in tables[table] if not hasattr(struct, name)]:
            del tables[table][name]
    return found


_suite = _import_suite()
PhysicsError: type[Exception] = import_module("dm_control.rl.control").PhysicsError


class ControlTask(gymnasium.Env[Any, Any]):
    """One task of the suite: observations are a Dict of its parts, actions a Box."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 50}  # noqa: RUF012

    def __init__(
        self,
        domain: str,
        task: str,
        *,
        camera_id: int = 0,
        width: int = 320,
        height: int = 240,
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        made = _suite.load(domain, task, task_kwargs={"time_limit": float("inf"), "random": _FOR_ANY_SEED})
        self._control, self.physics = made, _without_contexts(made.physics)
        self.metadata = {**self.metadata, "render_fps": round(1 / made.control_timestep())}
        self._camera = camera_id if camera_id < made.physics.model.ncam else -1
        self._size = (height, width)
        self._renderer: Any = None
        self._last: Mapping[str, NDArray[np.float64]] = {}
        allowed = made.action_spec()
        self._low, self._high = allowed.minimum, allowed.maximum
        # float32 as in all of Gymnasium's robots; the suite itself calculates in float64.
        self.action_space = spaces.Box(
            allowed.minimum.astype(np.float32), allowed.maximum.astype(np.float32), dtype=np.float32
        )
        parts = {
            name: spaces.Box(-np.inf, np.inf, part.shape, np.float64) for name, part in made.observation_spec().items()
        }
        self.observation_space: Any = spaces.Dict(list(parts.items()))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._control.task.random.seed(int(self.np_random.integers(2**32)))
        self.forget_terrain()
        self._last = _plain(self._control.reset().observation)
        return self._last, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        try:
            told = self._control.step(np.clip(action, self._low, self._high))
        except PhysicsError as error:
            # Forces that no robot survives: the episode is over, as it is in the suite's own composer.
            return self._last, 0.0, True, False, {"diverged": str(error)}
        self._last = _plain(told.observation)
        return self._last, float(told.reward), told.last() and told.discount == 0.0, False, {}

    def render(self) -> Any:
        """What the task's first camera sees; with it the robot stays in the picture."""
        if self._renderer is None:
            self._renderer = _functions.Renderer(self.physics.model.ptr, *self._size)
        self._renderer.update_scene(self.physics.data.ptr, camera=self._camera)
        return self._renderer.render()

    def forget_terrain(self) -> None:
        """Terrain was handed to OpenGL once; where it is made anew, so is the renderer."""
        if self.physics.model.ptr.nhfield:
            self.close()

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


def _without_contexts(physics: Any) -> Any:
    """Physics that does not ask for dm_control's own OpenGL to show new terrain to (quadruped-escape does)."""
    physics.__class__ = type("Physics", (physics.__class__,), {"contexts": None})
    return physics


def _plain(observation: Any) -> Mapping[str, NDArray[np.float64]]:
    # Some parts are numbers without a shape, and some are views of the simulator's memory.
    return {name: np.array(part, np.float64) for name, part in observation.items()}


def env_id_of(domain: str, task: str) -> str:
    return f"dm_control/{domain}-{task}-v0"


for _domain, _task in _suite.ALL_TASKS:
    # Shimmy registers the same ids where it is installed; its environments cannot be lived again.
    gymnasium.registry.pop(env_id_of(_domain, _task), None)
    gymnasium.register(
        env_id_of(_domain, _task),
        f"{__name__}:ControlTask",
        max_episode_steps=STEPS,
        kwargs={"domain": _domain, "task": _task},
    )
