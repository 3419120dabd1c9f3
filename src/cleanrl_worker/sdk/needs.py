"""How much memory a run will need, told from its settings and one environment, before anything is made."""

from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.sdk import catalog, frame_replay, replay
from cleanrl_worker.sdk.command import Plan
from mosaic import envs


def replay_bytes(plan: Plan, env: gym.Env[Any, Any]) -> int:
    """What a full replay buffer takes; nothing where the algorithm has none."""
    size = getattr(plan.args, "buffer_size", 0)
    if not size:
        return 0
    if catalog.observations(plan.algo) == "pixels":
        return frame_replay.bytes_needed(size, plan.args.num_envs, env.observation_space)
    seen = _seen(plan, env)
    return 0 if seen is None else replay.bytes_needed(size, plan.args.num_envs, seen, env.action_space)


def rollout_bytes(plan: Plan, env: gym.Env[Any, Any]) -> int:
    """What the observations of a rollout take; nothing where the algorithm has none."""
    seen = _seen(plan, env)
    values = 0 if seen is None else int(np.prod(seen.shape or ()))
    each = 1 if catalog.observations(plan.algo) == "pixels" else np.dtype(np.float32).itemsize
    return plan.args.num_envs * getattr(plan.args, "num_steps", 0) * values * each


def _seen(plan: Plan, env: gym.Env[Any, Any]) -> gym.Space[Any] | None:
    """What the algorithm sees of an observation; None if it is no vector: the environments will be refused as such."""
    if catalog.observations(plan.algo) == "pixels":
        return env.observation_space
    try:
        return envs.family_of(plan.args.env_id).encoder(env.observation_space).space
    except (TypeError, NotImplementedError):
        return None
