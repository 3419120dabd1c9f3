"""Gymnasium's Box2D games: LunarLander, BipedalWalker, CarRacing."""

from typing import TYPE_CHECKING, Any

from mosaic.envs.family import Family
from mosaic.spec.catalogue.extras import BOX2D

if TYPE_CHECKING:
    from gymnasium import Env


class _NoParticle:
    """Stands for a particle of exhaust that is not made."""

    def ApplyLinearImpulse(self, *_: Any) -> None:  # noqa: N802  as Box2D calls it
        ...


def _no_particle(*_: Any) -> _NoParticle:
    return _NoParticle()


def _without_exhaust(env: "Env[Any, Any]") -> None:
    """LunarLander with a render mode makes a Box2D body at each firing of an engine, and removes it only in `render()`.

    Hundreds of them live in an episode that is not drawn, and a step takes up to 24 times as long. They touch nothing
    but the ground, so an episode without them is the same, bit for bit.
    """
    lander: Any = env.unwrapped
    if hasattr(lander, "_create_particle"):
        lander._create_particle = _no_particle


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
    keep_nothing_for_pictures=_without_exhaust,
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
)
