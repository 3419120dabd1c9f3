"""Gymnasium's MuJoCo robots: HalfCheetah, Hopper, Walker2d, Ant, Humanoid and the others."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family, Step

if TYPE_CHECKING:
    from gymnasium import Env


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


FAMILY = Family(
    name="mujoco",
    title="MuJoCo",
    observation_rule="the float64 vector, rounded to float32",
    distribution="mujoco",
    extra="mujoco",
    modules=("mujoco",),
    entry_points=("gymnasium.envs.mujoco",),
    # EGL first: it uses a GPU where there is one and Mesa's software renderer where there is none.
    graphics=({"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}),
    debian_packages=("libegl1", "libopengl0", "libosmesa6"),
    quick_step=_quick_step,
)
