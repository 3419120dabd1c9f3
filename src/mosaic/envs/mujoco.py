"""Gymnasium's MuJoCo robots: HalfCheetah, Hopper, Walker2d, Ant, Humanoid and the others."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray

    from mosaic.envs.camera import Camera


def _configure() -> None:
    from importlib import import_module

    mujoco: Any = import_module("mujoco")  # its stubs lack MjLogConfig
    # MuJoCo writes its warnings to MUJOCO_LOG.TXT in the working directory as well; stderr is enough.
    log = mujoco.MjLogConfig.get()
    log.logto_file = False
    log.set()


def _quick_step(env: "Env[Any, Any]") -> Step | None:
    from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv

    return quick_half_cheetah(env) if type(env) is HalfCheetahEnv and env.render_mode != "human" else None


def quick_half_cheetah(cheetah: Any) -> Step:
    """`HalfCheetahEnv.step` on views of the simulator's memory: the same bits, with half the time outside of MuJoCo.

    The other robots compute their rewards each in its own way; this one is what continuous control is measured by.
    """
    import mujoco
    import numpy as np

    functions: Any = mujoco  # Compiled, without types.
    advance, accelerations, add, square = functions.mj_step, functions.mj_rnePostConstraint, np.add.reduce, np.square
    model, data, option = cheetah.model, cheetah.data, cheetah.model.opt
    positions, velocities, controls = data.qpos, data.qvel, data.ctrl
    observed = positions[1:] if cheetah._exclude_current_positions_from_observation else positions

    def step(action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        before = positions[0]
        controls[:] = action
        advance(model, data, nstep=cheetah.frame_skip)
        accelerations(model, data)
        after = positions[0]
        velocity = (after - before) / (option.timestep * cheetah.frame_skip)
        forward = cheetah._forward_reward_weight * velocity
        cost = cheetah._ctrl_cost_weight * add(square(action))
        info = {"x_position": after, "x_velocity": velocity, "reward_forward": forward, "reward_ctrl": -cost}
        return np.concatenate((observed, velocities)), forward - cost, False, False, info

    return step


def _camera(envs: "Sequence[Env[Any, Any]]") -> "Camera | None":
    from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

    robots = [env.unwrapped for env in envs]
    own = all(isinstance(robot, MujocoEnv) and type(robot).render is MujocoEnv.render for robot in robots)
    return MujocoCamera(robots) if robots and own and robots[0].render_mode == "rgb_array" else None


class MujocoCamera:
    """Copies a robot's state and draws the copy: one OpenGL context for all of them, none of it in the learner's time.

    Each robot's own `render()` would open a context of its own, which takes a second on software OpenGL.
    """

    quick = True

    def __init__(self, robots: "Sequence[Any]") -> None:
        import mujoco

        functions: Any = mujoco  # Compiled, without types.
        self._copy = functions.mj_copyData
        self._robots = robots
        self._model = robots[0].model
        self._data = functions.MjData(self._model)
        self._renderer: Any = None

    def expose(self, slot: int) -> None:
        self._copy(self._data, self._model, self._robots[slot].data)

    def develop(self, width: int) -> "NDArray[np.uint8] | None":
        robot = self._robots[0]
        if self._renderer is None:
            from gymnasium.envs.mujoco.mujoco_rendering import MujocoRenderer

            own = robot.mujoco_renderer
            self._renderer = MujocoRenderer(
                self._model,
                self._data,
                own.default_cam_config,
                robot.width,
                robot.height,
                own.max_geom,
                own.camera_id,
                visual_options=own._vopt,
            )
            self._renderer._get_viewer("rgb_array")
        viewport = self._renderer.viewer.viewport
        viewport.width = min(width, robot.width)
        viewport.height = max(1, round(viewport.width * robot.height / robot.width))
        return self._renderer.render("rgb_array")

    def close(self) -> None:
        if self._renderer is not None:
            self._renderer.close()


FAMILY = Family(
    name="mujoco",
    title="MuJoCo",
    observation_rule="the float64 vector, rounded to float32",
    distribution="mujoco",
    extra="mujoco",
    modules=("mujoco",),
    entry_points=("gymnasium.envs.mujoco",),
    configure=_configure,
    # EGL first: it uses a GPU where there is one and Mesa's software renderer where there is none.
    graphics=({"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}),
    debian_packages=("libegl1", "libgl1", "libosmesa6"),
    quick_step=_quick_step,
    camera=_camera,
)
