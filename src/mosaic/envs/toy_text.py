"""Gymnasium's toy text: FrozenLake, Taxi, CliffWalking, Blackjack."""

from mosaic.envs.family import Family

FAMILY = Family(
    name="toy_text",
    title="Toy text",
    observation_rule="the state number as a one-hot float32 vector; Blackjack's three numbers as three of them",
    distribution="gymnasium",
    entry_points=("gymnasium.envs.toy_text",),
    masks=True,
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
)
