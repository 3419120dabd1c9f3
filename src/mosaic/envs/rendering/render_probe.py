"""Renders one frame of the environment named on its command line and prints its shape; for `render_preflight`.

The second word is its settings, as JSON.
"""

import json
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from mosaic.envs.families import family_of
from mosaic.envs.pettingzoo import FAMILY, make_for_several
from mosaic.envs.rendering.render_preflight import headless_defaults
from mosaic.envs.single_environment import make


def main(env_id: str, settings: str = "{}") -> None:
    headless_defaults()
    sys.stdout.write(json.dumps(frame_shape(env_id, json.loads(settings))) + "\n")


def frame_shape(env_id: str, settings: Mapping[str, Any]) -> tuple[int, ...]:
    """Make it, and draw one frame; raises what the environment raises."""
    if family_of(env_id) is FAMILY:
        env = make_for_several(env_id, render_mode="rgb_array", settings=settings).env
    else:
        env = make(env_id, render_mode="rgb_array", settings=settings)
    env.reset(seed=0)
    frame = np.asarray(env.render())
    if frame.ndim != 3 or frame.shape[2] != 3:
        raise SystemExit(f"RenderError: {env_id} rendered an array of shape {frame.shape}, not a picture")
    return frame.shape


if __name__ == "__main__":
    main(*sys.argv[1:])
