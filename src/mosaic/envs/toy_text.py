"""Gymnasium's toy text: FrozenLake, Taxi, CliffWalking, Blackjack."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family
from mosaic.envs.vector.twin import Twin

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_ACTION = -1


def _has_states(env: Any) -> bool:
    """Not Blackjack, whose picture shows cards."""
    return type(env).__module__.startswith("gymnasium.envs.toy_text.") and hasattr(env, "P")


def _freeze(env: Any) -> "NDArray[np.float64]":
    import numpy as np

    action = NO_ACTION if env.lastaction is None else env.lastaction
    return np.array([env.s, action], np.float64)


def _thaw(env: Any, state: "NDArray[np.float64]") -> None:
    env.s, action = int(state[0]), int(state[1])
    env.lastaction = None if action == NO_ACTION else action
    if hasattr(env, "taxi_orientation"):
        # The way that the last taxi looked, which was another one's.
        env.taxi_orientation = 0


FAMILY = Family(
    name="toy_text",
    title="Toy text",
    observation_rule="the state number as a one-hot float32 vector; Blackjack's three numbers as three of them",
    distribution="gymnasium",
    entry_points=("gymnasium.envs.toy_text",),
    masks=True,
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
    twin=Twin(fits=_has_states, freeze=_freeze, thaw=_thaw),
)
