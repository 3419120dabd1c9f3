"""Gymnasium's MuJoCo robots: HalfCheetah, Hopper, Walker2d, Ant, Humanoid and the others."""

from mosaic.envs.family import Family

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
)
