"""DeepMind's Control Suite by the package's own interface; ids are Shimmy's, `dm_control/cheetah-run-v0`."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family
from mosaic.envs.vector.twin import Twin
from mosaic.spec.catalogue.extras import DM_CONTROL, DM_CONTROL_IDS

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env
    from numpy.typing import NDArray

_DRAWN_FROM_MODEL = ("body_pos", "body_quat", "geom_pos", "geom_size", "site_pos", "site_size", "hfield_data")
"""What tasks change of a model at the beginning of an episode, and a picture shows: targets, props, terrain."""


def _is_of_the_suite(env: "Env[Any, Any]") -> bool:
    return hasattr(env, "physics")


def _model_arrays(task: Any) -> "list[NDArray[np.float64]]":
    model = task.physics.model.ptr
    return [getattr(model, name).reshape(-1) for name in _DRAWN_FROM_MODEL]


def _freeze(task: Any) -> "NDArray[np.float64]":
    import mujoco
    import numpy as np

    functions: Any = mujoco
    model, data = task.physics.model.ptr, task.physics.data.ptr
    parts = functions.mjtState.mjSTATE_INTEGRATION.value
    state = np.empty(functions.mj_stateSize(model, parts), np.float64)
    functions.mj_getState(model, data, state, parts)
    return np.concatenate([state, *_model_arrays(task)])


def _thaw(task: Any, frozen: "NDArray[np.float64]") -> None:
    import mujoco

    functions: Any = mujoco
    model, data = task.physics.model.ptr, task.physics.data.ptr
    parts = functions.mjtState.mjSTATE_INTEGRATION.value
    start = functions.mj_stateSize(model, parts)
    for array in _model_arrays(task):
        array[:] = frozen[start : start + array.size]
        start += array.size
    task.forget_terrain()
    functions.mj_setState(model, data, frozen[: functions.mj_stateSize(model, parts)], parts)
    functions.mj_forward(model, data)


def _simplify(task: Any) -> None:
    """As for Gymnasium's robots: on software OpenGL shadows, reflections and smooth edges are most of the time."""
    model = task.physics.model.ptr
    model.vis.quality.shadowsize = 0
    model.vis.quality.offsamples = 0
    model.mat_reflectance[:] = 0


FAMILY = Family(
    name="dm_control",
    title="dm_control",
    observation_rule="all parts in one float32 vector, in the order in which the task names them",
    actions="continuous",
    observations="composite",
    distribution="dm_control",
    extra=DM_CONTROL.name,
    modules=(*DM_CONTROL.modules, "mosaic.envs.dm_control_tasks"),
    entry_points=("mosaic.envs.dm_control_tasks",),
    id_pattern=DM_CONTROL_IDS,
    graphics=({"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}),
    debian_packages=("libegl1", "libgl1", "libosmesa6"),
    twin=Twin(
        fits=_is_of_the_suite,
        freeze=_freeze,
        thaw=_thaw,
        simplify=_simplify,
        sized=lambda width: {"width": width, "height": width},
    ),
)
