"""Gymnasium's MuJoCo robots: HalfCheetah, Hopper, Walker2d, Ant, Humanoid and the others."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, Step
from mosaic.envs.vector.twin import Twin
from mosaic.spec.catalogue.extras import MUJOCO

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray


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


def _is_drawn_by_gymnasium(env: "Env[Any, Any]") -> bool:
    from gymnasium.envs.mujoco.mujoco_env import MujocoEnv

    return isinstance(env, MujocoEnv) and type(env).render is MujocoEnv.render


def _follow(robot: Any) -> None:
    """Gymnasium's camera stays where the first episode began, and a robot that learned to run is soon out of sight."""
    import numpy as np

    viewer = robot.mujoco_renderer.viewer
    if viewer is not None:
        viewer.cam.lookat[:2] = np.median(robot.data.geom_xpos[:, :2], axis=0)


def _simplify(robot: Any) -> None:
    """Without shadows, reflections and smooth edges: on software OpenGL these are 95 % of a picture's 75 ms."""
    robot.model.vis.quality.shadowsize = 0
    robot.model.vis.quality.offsamples = 0
    robot.model.mat_reflectance[:] = 0


def _freeze(robot: Any) -> "NDArray[np.float64]":
    import mujoco
    import numpy as np

    functions: Any = mujoco
    # All that the next step depends on, and so all that a picture does.
    parts = functions.mjtState.mjSTATE_INTEGRATION.value
    state = np.empty(functions.mj_stateSize(robot.model, parts), np.float64)
    functions.mj_getState(robot.model, robot.data, state, parts)
    return state


def _thaw(robot: Any, state: "NDArray[np.float64]") -> None:
    import mujoco

    functions: Any = mujoco
    functions.mj_setState(robot.model, robot.data, state, functions.mjtState.mjSTATE_INTEGRATION.value)
    functions.mj_forward(robot.model, robot.data)


FAMILY = Family(
    name="mujoco",
    title="MuJoCo",
    observation_rule="the float64 vector, rounded to float32",
    actions="continuous",
    observations="vector",
    distribution="mujoco",
    extra=MUJOCO.name,
    modules=MUJOCO.modules,
    entry_points=("gymnasium.envs.mujoco",),
    # It needs MuJoCo 2 (Gymnasium says so when it is made).
    unlisted=("gymnasium.envs.mujoco.pusher_v4",),
    configure=_configure,
    # EGL first: it uses a GPU where there is one and Mesa's software renderer where there is none.
    graphics=({"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}),
    debian_packages=("libegl1", "libgl1", "libosmesa6"),
    quick_step=_quick_step,
    # On software OpenGL a picture takes milliseconds and the first one a second: not in the learner's time.
    twin=Twin(
        fits=_is_drawn_by_gymnasium,
        freeze=_freeze,
        thaw=_thaw,
        follow=_follow,
        simplify=_simplify,
        sized=lambda width: {"width": width, "height": width},
    ),
)
