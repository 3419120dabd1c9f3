"""Gymnasium's MuJoCo robots: HalfCheetah, Hopper, Walker2d, Ant, Humanoid and the others."""

from typing import Any

from mosaic.envs.family import Family


def _configure() -> None:
    from importlib import import_module

    mujoco: Any = import_module("mujoco")  # its stubs lack MjLogConfig
    # MuJoCo writes its warnings to MUJOCO_LOG.TXT in the working directory as well; stderr is enough.
    log = mujoco.MjLogConfig.get()
    log.logto_file = False
    log.set()


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
)
