"""Procgen: sixteen games whose levels are made anew, from envpool; OpenAI's own package has no wheels for new Pythons.

Ids are envpool's, `procgen/CoinrunEasy-v0`: the game and how hard its levels are.
"""

from mosaic.envs.family import Family
from mosaic.spec.catalogue.extras import PROCGEN, PROCGEN_IDS

OPTIONS = (
    "num_levels",
    "start_level",
    "use_sequential_levels",
    "use_backgrounds",
    "use_generated_assets",
    "use_monochrome_assets",
    "restrict_themes",
    "center_agent",
    "paint_vel_info",
    "max_episode_steps",
)

FAMILY = Family(
    name="procgen",
    title="Procgen",
    observation_rule="the uint8 picture of 64×64×3 as it is; in colour through convolutions with --network parts",
    actions="discrete",
    observations="pixels",
    distribution="envpool",
    extra=PROCGEN.name,
    modules=(*PROCGEN.modules[:1], "mosaic.envs.pools.procgen_tasks"),
    entry_points=("mosaic.envs.pools.procgen_tasks",),
    id_pattern=PROCGEN_IDS,
    pool_settings={name: name for name in OPTIONS},
)
