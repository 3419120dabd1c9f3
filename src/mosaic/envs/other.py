"""Any other environment that Gymnasium knows, or that `module:Env-v0` registers when the module is imported."""

from mosaic.envs.family import Family

FAMILY = Family(
    name="other",
    title="Other Gymnasium environments",
    observation_rule=(
        "float vectors as float32, uint8 pictures as they are, Discrete as a one-hot, everything composite flattened"
    ),
    distribution="gymnasium",
    entry_points=("",),
    # Gymnasium's JAX twins of classic control: they need JAX, and users do not look for them by browsing.
    unlisted=("gymnasium.",),
    masks=True,
    graphics=({"SDL_VIDEODRIVER": "dummy"}, {"SDL_VIDEODRIVER": "dummy", "MUJOCO_GL": "egl"}),
)
