"""`random`: any action that is allowed, each as likely as the others; the same ones again for the same seed."""

from typing import Any

import numpy as np
from gymnasium import Space, spaces

from mosaic.envs.observations.action_masks import any_allowed
from mosaic.play.actor import Choice, Context, Outcome, View
from mosaic.spec.actors import ActorDescriptor

DESCRIPTOR = ActorDescriptor(
    id="random", label="Random", description="Any allowed action, each as likely as the others."
)


class RandomActor:
    def __init__(self, space: Space[Any]) -> None:
        self._space = space

    def reset(self, seed: int) -> None:
        self._space.seed(seed)

    def select_action(self, view: View) -> Choice:
        action = any_allowed(self._space, view.legal)
        if view.legal is None or not isinstance(self._space, spaces.Discrete):
            return Choice(action=action)
        mask = np.asarray(view.legal, dtype=np.int8)
        shares = mask / max(int(mask.sum()), 1)
        return Choice(action=action, probabilities=tuple(shares.tolist()))

    def observe(self, outcome: Outcome) -> None:
        """It does not learn."""

    def close(self) -> None:
        """It holds nothing."""


def make(_: str, context: Context) -> RandomActor:
    # A copy: sampling must not draw from the generator that the environment itself may use.
    import copy

    return RandomActor(copy.deepcopy(context.arena.action_space))
