"""Small tasks of our own with actions of several elements, action masks, and observations of parts or grids."""

from mosaic.envs.family import Family

FAMILY = Family(
    name="choices",
    title="Choices and parts",
    observation_rule="what is composite flattened to one vector, grids as they are; by parts with --network parts",
    distribution="gymnasium",
    modules=("mosaic.envs.choice_tasks",),
    entry_points=("mosaic.envs.choice_tasks",),
    id_pattern=r"^mosaic/(Doors|Dials|Switches|Signpost|Catch|Beam)-v\d+$",
    masks=True,
)
