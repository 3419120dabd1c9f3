"""The environments of the procgen family; importing this registers them. The games are envpool's build of Procgen."""

from typing import Any

import gymnasium
import numpy as np

from mosaic.envs.pools.pool_maker import load_pools
from mosaic.envs.pools.pool_task import PoolTask

SCALE = 6
"""Pixels of a picture for each pixel that the agent sees: these are 64 × 64."""


class ProcgenTask(PoolTask):
    """A game whose levels are made anew: colours of 64 × 64 pixels, and 15 actions of which most games use some."""

    def __init__(
        self,
        pool_name: str,
        *,
        num_levels: int = 0,
        start_level: int = 0,
        use_sequential_levels: bool = False,
        use_backgrounds: bool = True,
        use_generated_assets: bool = False,
        use_monochrome_assets: bool = False,
        restrict_themes: bool = False,
        center_agent: bool = True,
        paint_vel_info: bool = False,
        max_episode_steps: int = 1000,
        channel_first: bool = False,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(
            pool_name,
            render_mode=render_mode,
            channel_first=channel_first,
            num_levels=num_levels,
            start_level=start_level,
            use_sequential_levels=use_sequential_levels,
            use_backgrounds=use_backgrounds,
            use_generated_assets=use_generated_assets,
            use_monochrome_assets=use_monochrome_assets,
            restrict_themes=restrict_themes,
            center_agent=center_agent,
            paint_vel_info=paint_vel_info,
            max_episode_steps=max_episode_steps,
        )

    def render(self) -> Any:
        return np.repeat(np.repeat(super().render(), SCALE, axis=0), SCALE, axis=1)


def _register() -> None:
    load_pools()
    from envpool.registration import registry

    known: dict[str, tuple[str, str, dict[str, Any]]] = registry.specs
    for name, (module, _, options) in known.items():
        if module == "envpool.procgen" and f"procgen/{name}" not in gymnasium.registry:
            kwargs = {"pool_name": name, "max_episode_steps": options["max_episode_steps"], "channel_first": False}
            gymnasium.register(f"procgen/{name}", f"{__name__}:ProcgenTask", kwargs=kwargs)


_register()
