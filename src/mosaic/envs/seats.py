"""Who sits in an environment for several, and what each of them must be able to do."""

from dataclasses import dataclass

from mosaic.envs.description import action_kind, observation_kind
from mosaic.envs.pettingzoo import make_for_several, without_mask


@dataclass(frozen=True)
class SeatKind:
    """What one who sits there must be able to do."""

    name: str
    actions: str
    observations: str


def seats_of(env_id: str) -> list[SeatKind]:
    """The seats, in the order in which they act."""
    env = make_for_several(env_id, render_mode=None).env
    try:
        return [
            SeatKind(
                str(seat),
                action_kind(env.action_space(seat)),
                observation_kind(without_mask(env.observation_space(seat))),
            )
            for seat in env.possible_agents
        ]
    finally:
        env.close()
