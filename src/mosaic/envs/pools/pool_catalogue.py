"""The environments of the envpool family; importing this registers what envpool has and no other family.

An id is `envpool/` and envpool's own name, in which a slash becomes a hyphen: `envpool/MetaWorld-Reach-v3`. Of several
names for the same thing the one that says where it comes from is taken, else the newest.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium

from mosaic.envs.pools.pool_maker import load_pools
from mosaic.envs.pools.pool_task import PoolTask

OF_OTHER_FAMILIES = (
    "envpool.atari",
    "envpool.box2d",
    "envpool.classic_control",
    "envpool.minigrid",
    "envpool.mujoco.dmc",
    "envpool.mujoco.gym",
    "envpool.procgen",
)
"""Those are trained in under their own ids, also with `--env-backend envpool`."""
OF_TOY_TEXT = re.compile(r"^(Catch|NChain)-v")
"""The rest of envpool's toy text is Gymnasium's."""
LACKING = re.compile(r"^(VizdoomCustom|Sudoku)-|^Jumanji/Sudoku-")
"""What they need is not in envpool's wheels: a map of the user's, the puzzles."""
BY_MODULE: Mapping[str, Mapping[str, Any]] = {
    # One choice among the buttons instead of a number for each.
    "envpool.vizdoom": {"use_combined_action": True},
}


class CatalogueTask(PoolTask):
    """One of envpool's, by its name and its own options."""


class Known(NamedTuple):
    """What is known of an environment before it is made."""

    name: str
    """envpool's."""
    options: Mapping[str, Any]
    """Those that are other ones here than in envpool."""
    steps: int | None
    """After which envpool itself cuts an episode off."""


def catalogue() -> dict[str, Known]:
    """The environments for one player by their ids."""
    load_pools()
    from envpool.registration import registry

    known: dict[str, tuple[str, str, dict[str, Any]]] = registry.specs
    alike: dict[Any, list[str]] = {}
    for name, (module, kind, options) in known.items():
        is_toy = module == "envpool.toy_text" and OF_TOY_TEXT.match(name) is None
        several = options.get("max_num_players", 1) > 1
        if module in OF_OTHER_FAMILIES or is_toy or several or LACKING.match(name):
            continue
        same = (module, kind, tuple(sorted((key, str(value)) for key, value in options.items())))
        alike.setdefault(same, []).append(name)
    chosen = [max(each, key=lambda name: ("/" in name, name[0].isupper(), name)) for each in alike.values()]
    return {f"envpool/{name.replace('/', '-')}": _known(name, *known[name]) for name in chosen}


def _known(name: str, module: str, _kind: str, options: Mapping[str, Any]) -> Known:
    return Known(name, BY_MODULE.get(module, {}), options.get("max_episode_steps") or None)


for _env_id, _one in catalogue().items():
    if _env_id not in gymnasium.registry:
        gymnasium.register(
            _env_id,
            f"{__name__}:CatalogueTask",
            max_episode_steps=_one.steps,
            kwargs={"pool_name": _one.name, **_one.options},
        )
