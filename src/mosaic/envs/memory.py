"""Tasks of our own that no agent can solve without a memory: a glance does not tell the state."""

from mosaic.envs.family import Family

FAMILY = Family(
    name="memory",
    title="Memory tasks",
    observation_rule="the float32 vector as it is",
    actions="discrete",
    observations="vector",
    distribution="gymnasium",
    modules=("mosaic.envs.memory_tasks",),
    entry_points=("mosaic.envs.memory_tasks",),
    id_pattern=r"^mosaic/",
    graphics=({"SDL_VIDEODRIVER": "dummy"},),
)
