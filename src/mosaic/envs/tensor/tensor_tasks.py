"""Which environments there are as functions of tensors, and how each is made from its id and settings."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymnasium.envs.registration import EnvSpec

    from mosaic.envs.tensor.tensor_task import TensorTask

CONTROL = "mosaic.envs.tensor.tensor_control"
TASKS = {
    "CartPole-v0": (CONTROL, "TensorCartPole"),
    "CartPole-v1": (CONTROL, "TensorCartPole"),
    "MountainCar-v0": (CONTROL, "TensorMountainCar"),
    "MountainCarContinuous-v0": (CONTROL, "TensorMountainCarContinuous"),
    "Pendulum-v1": (CONTROL, "TensorPendulum"),
    "Acrobot-v1": ("mosaic.envs.tensor.tensor_acrobot", "TensorAcrobot"),
    "mosaic/Bricks-v0": ("mosaic.envs.tensor.tensor_grids", "TensorBricks"),
    "mosaic/Lanes-v0": ("mosaic.envs.tensor.tensor_grids", "TensorLanes"),
}
CONTINUOUS = frozenset({"MountainCarContinuous-v0", "Pendulum-v1"})
"""Those among them whose actions are numbers; those of all others are choices."""
TABLES = ("FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "CliffWalkingSlippery-v1", "Taxi-v3", "Taxi-v4")
BEYOND_THE_TABLE = frozenset({"fickle_passenger", "fickle_probability"})
"""Settings of Taxi that its table of transitions does not show."""


def ids() -> list[str]:
    """Of all that can be made."""
    return sorted([*TASKS, *TABLES])


def ids_for(actions: Iterable[str]) -> list[str]:
    """Of those whose actions are of one of these kinds."""
    kinds = set(actions)
    return [one for one in ids() if ("continuous" if one in CONTINUOUS else "discrete") in kinds]


def is_known(env_id: str) -> bool:
    return env_id in TASKS or env_id in TABLES


def unknown_settings(env_id: str, settings: Mapping[str, Any]) -> list[str]:
    """Settings that an environment knows only in its usual form."""
    if env_id in TABLES:
        return [name for name, value in settings.items() if name in BEYOND_THE_TABLE and value]
    known = inspect.signature(_class_of(env_id)).parameters
    return [name for name in settings if name not in known]


def make_task(spec: "EnvSpec", kwargs: Mapping[str, Any], make: "Callable[[], Any]") -> "TensorTask":
    """The task of a registered id; `kwargs` are its settings, and `make` makes the usual form."""
    if spec.id in TABLES:
        from mosaic.envs.tensor.tensor_tables import TensorTable

        env = make()
        task: TensorTask = TensorTable(env)
        env.close()
    else:
        task = _class_of(spec.id)(**kwargs)
    task.time_limit = spec.max_episode_steps
    return task


def _class_of(env_id: str) -> Any:
    import importlib

    module, name = TASKS[env_id]
    return getattr(importlib.import_module(module), name)
