"""Which extra of mosaic-rl a thing comes with, told by names alone.

Nothing is imported, so a daemon can ask at every submit and a command before it begins. An extra is there if all of its
modules can be found. A further family, tracker or actor with an extra of its own is a line here.
"""

import importlib.util
import re
from dataclasses import dataclass

from mosaic.errors import MissingExtra
from mosaic.spec.seat_names import PETTINGZOO_IDS


@dataclass(frozen=True)
class Extra:
    name: str
    """As in `mosaic-rl[atari]`."""
    modules: tuple[str, ...]
    """What must be importable; the last one of a family registers its ids."""

    @property
    def is_there(self) -> bool:
        return all(_is_found(module) for module in self.modules)

    def require(self, what: str) -> None:
        """MissingExtra unless it is installed."""
        if not self.is_there:
            raise MissingExtra(what, self.name)


MUJOCO = Extra("mujoco", ("mujoco",))
BOX2D = Extra("box2d", ("Box2D", "pygame"))
ATARI = Extra("atari", ("cv2", "ale_py"))
PICTURES = Extra("atari", ("cv2",))
"""What makes pictures 84×84 of any environment."""
MINIGRID = Extra("minigrid", ("minigrid",))
PETTINGZOO = Extra("pettingzoo", ("pygame", "mpe2", "pettingzoo"))
ENVPOOL = Extra("envpool", ("envpool",))
DM_CONTROL = Extra("dmcontrol", ("mujoco", "dm_control"))
PROCGEN = Extra("procgen", ("PyQt5", "envpool"))
"""Its games are envpool's; PyQt5 is the folder of the Qt libraries that these are linked with."""
SB3 = Extra("sb3", ("stable_baselines3",))
GUI = Extra("gui", ("PySide6", "pyqtgraph"))
HUB = Extra("hub", ("huggingface_hub",))
PLOTS = Extra("plots", ("matplotlib",))
SWEEP = Extra("sweep", ("optuna", "yaml"))
ASSISTANT = Extra("mcp", ("mcp",))
BROWSER = Extra("browser", ("starlette", "uvicorn", "websockets"))
ONNX = Extra("onnx", ("onnx", "onnxscript", "onnxruntime"))
MINARI = Extra("minari", ("h5py", "minari"))
TRACKERS = {
    "wandb": Extra("wandb", ("wandb",)),
    "trackio": Extra("trackio", ("trackio",)),
    "mlflow": Extra("mlflow", ("sqlalchemy", "alembic", "mlflow")),
}
ACTORS = {
    "bdi": Extra("bdi", ("agentspeak",)),
    "bdi_q": Extra("bdi", ("agentspeak",)),
    "bdi_spade": Extra("spade", ("agentspeak", "spade", "spade_bdi")),
    "llm": Extra("llm", ("httpx",)),
}
ALGORITHMS = {"bdi_q": ACTORS["bdi_q"]}
"""Those that need more than every one does."""
SETTINGS = {("bdi_q", "spade"): ACTORS["bdi_spade"]}
"""Of algorithms: switches that need an extra when they are on."""

MUJOCO_IDS = (
    r"^(Ant|HalfCheetah|Hopper|Humanoid|HumanoidStandup|InvertedDoublePendulum|InvertedPendulum|Pusher|Reacher|Swimmer"
    r"|Walker2d)-v\d+$"
)
BOX2D_IDS = r"^(BipedalWalker|BipedalWalkerHardcore|CarRacing|LunarLander|LunarLanderContinuous)-v\d+$"
ATARI_IDS = r"^ALE/|NoFrameskip-v\d+$"
MINIGRID_IDS = r"^(MiniGrid|BabyAI)-"
DM_CONTROL_IDS = r"^dm_control/"
PROCGEN_IDS = r"^procgen/"
ENVPOOL_IDS = r"^envpool/"
PETTINGZOO_FURTHER = (
    (r"pistonball|waterworld", "pymunk"),
    (r"multiwalker", "Box2D"),
    (r"chess", "chess"),
    (r"holdem", "rlcard"),
)
"""Games that need a package more than the others."""
ENVIRONMENTS = (
    (MUJOCO_IDS, MUJOCO),
    (BOX2D_IDS, BOX2D),
    (ATARI_IDS, ATARI),
    (MINIGRID_IDS, MINIGRID),
    (PETTINGZOO_IDS, PETTINGZOO),
    (DM_CONTROL_IDS, DM_CONTROL),
    (PROCGEN_IDS, PROCGEN),
    (ENVPOOL_IDS, ENVPOOL),
)


def of_environment(env_id: str) -> Extra | None:
    """The extra that an id comes with; None if it needs none, or nothing is known of it."""
    if ":" in env_id:
        return None  # A module of the user's own registers it.
    found = next((extra for pattern, extra in ENVIRONMENTS if re.search(pattern, env_id)), None)
    if found is PETTINGZOO:
        further = tuple(module for pattern, module in PETTINGZOO_FURTHER if re.search(pattern, env_id))
        return Extra(PETTINGZOO.name, (*further, *PETTINGZOO.modules))
    return found


def of_module(module: str) -> Extra | None:
    """The extra that brings a package which a script imports."""
    further = (Extra(PETTINGZOO.name, (each,)) for _, each in PETTINGZOO_FURTHER)
    known = (
        MUJOCO,
        BOX2D,
        ATARI,
        MINIGRID,
        PETTINGZOO,
        ENVPOOL,
        DM_CONTROL,
        SB3,
        HUB,
        MINARI,
        ONNX,
        SWEEP,
        *TRACKERS.values(),
        *ACTORS.values(),
        *further,
    )
    return next((extra for extra in known if module in extra.modules), None)


def _is_found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):  # A package that is half removed, or a module without a spec.
        return False
