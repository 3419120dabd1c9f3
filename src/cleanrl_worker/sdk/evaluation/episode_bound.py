"""A bound on the steps of an episode where the environment has none, so that an evaluation ends.

A policy that goes in circles never ends its episode in CliffWalking, or in a user's environment without a step limit.
Such an episode is cut off after `MOST_STEPS` steps and counts with its return so far, and the run says so.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.envs.single_environment import find_with_settings
from mosaic.spec import wrappers
from mosaic.spec.events import Episode

MOST_STEPS = 100_000
WRAPPER = "TimeLimit"


def is_needed(env_id: str, settings: Mapping[str, Any]) -> bool:
    """Atari's own limit is one of frames; what exists only as a vector has a limit of its own."""
    _, spec = find_with_settings(env_id, settings)
    has_own = spec.entry_point is None or spec.kwargs.get("max_num_frames_per_episode") is not None
    is_wrapped = any(one.name == WRAPPER for one in wrappers.of(settings))
    return spec.max_episode_steps is None and not has_own and not is_wrapped


def bounded(settings: Mapping[str, Any]) -> dict[str, Any]:
    """With the bound around all else, where it counts the steps of the policy."""
    limit = wrappers.Wrapper(WRAPPER, {"max_episode_steps": MOST_STEPS})
    return {**settings, wrappers.SETTING: [*settings.get(wrappers.SETTING, ()), limit.as_json()]}


def said_of(episodes: Sequence[Episode], env_id: str) -> str:
    """What a run in a bounded environment says of those that were cut off; empty if none was."""
    cut = sum(episode.episodic_length >= MOST_STEPS for episode in episodes)
    if not cut:
        return ""
    return (
        f"{cut} of {len(episodes)} episodes had not ended after {MOST_STEPS:,} steps and were cut off: {env_id} has no"
        " step limit; --env.max_episode_steps N sets one"
    )
