"""Gymnasium's Box2D games: LunarLander, BipedalWalker, CarRacing."""

from mosaic.envs.family import Family
from mosaic.spec.catalogue.extras import BOX2D

FAMILY = Family(
    name="box2d",
    title="Box2D",
    observation_rule="the float32 vector as it is; CarRacing's 96×96×3 picture stays uint8",
    distribution="Box2D",
    extra=BOX2D.name,
    modules=BOX2D.modules,
    entry_points=("gymnasium.envs.box2d",),
    costly=("CarRacing",),
    # BipedalWalker keeps one Box2D world over all episodes, and its contact order depends on what lived in it before.
    not_replayable=("BipedalWalker",),
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
)
