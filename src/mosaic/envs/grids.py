"""Small games on a grid, in the manner of MinAtar, with rules of our own; they come with MOSAIC."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family
from mosaic.envs.vector.twin import Twin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def _is_own(env: Any) -> bool:
    return type(env).__module__.startswith("mosaic.envs.grid_games.")


def _freeze(env: Any) -> "NDArray[np.float64]":
    return env.seen().reshape(-1).astype("float64")


def _thaw(env: Any, state: "NDArray[np.float64]") -> None:
    env.shown = state.reshape(env.observation_space.shape).astype("bool")


FAMILY = Family(
    name="grids",
    title="Games on a grid",
    observation_rule="the planes as they are, in float32; as a picture with --network parts",
    actions="discrete",
    observations="vector",
    distribution="gymnasium",
    modules=("mosaic.envs.grid_games",),
    entry_points=("mosaic.envs.grid_games",),
    twin=Twin(fits=_is_own, freeze=_freeze, thaw=_thaw),
    id_pattern=r"^mosaic/(Bricks|Divers|Fleet|Hunt|Lanes)-v\d+$",
)
