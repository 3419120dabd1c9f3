"""What envpool has beyond the other families: robots, football, puzzles, traffic, first-person games; in C++."""

from mosaic.envs.family import Family
from mosaic.spec.catalogue.extras import ENVPOOL, ENVPOOL_IDS

FAMILY = Family(
    name="envpool",
    title="envpool",
    observation_rule=(
        "float vectors as float32, uint8 pictures as they are, Discrete as a one-hot, everything composite flattened"
    ),
    distribution="envpool",
    extra=ENVPOOL.name,
    modules=(*ENVPOOL.modules, "mosaic.envs.pools.pool_catalogue"),
    entry_points=("mosaic.envs.pools.pool_catalogue",),
    id_pattern=ENVPOOL_IDS,
    masks=True,
    graphics=({"MUJOCO_GL": "egl"}, {"MUJOCO_GL": "osmesa"}),
)
