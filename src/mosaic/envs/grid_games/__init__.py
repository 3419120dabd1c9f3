"""Five small games on a grid of truth values, in the manner of MinAtar; importing this registers them.

MinAtar (K. Young and T. Tian, arXiv:1903.03176) boils five Atari games down to 10 × 10 cells with a plane of truth
values for each kind of thing, with actions that are repeated by chance and games that get harder. These have the same
form, and rules of their own: what is scored in one says nothing about the other.
"""

import gymnasium

from mosaic.envs.grid_games.bricks import Bricks
from mosaic.envs.grid_games.divers import Divers
from mosaic.envs.grid_games.fleet import Fleet
from mosaic.envs.grid_games.hunt import Hunt
from mosaic.envs.grid_games.lanes import Lanes

GAMES = (Bricks, Divers, Fleet, Hunt, Lanes)
STEPS = 1000

for _class in GAMES:
    if f"mosaic/{_class.__name__}-v0" not in gymnasium.registry:
        gymnasium.register(
            f"mosaic/{_class.__name__}-v0", f"{_class.__module__}:{_class.__name__}", max_episode_steps=STEPS
        )
