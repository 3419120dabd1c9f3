"""Random search: a linear policy that is changed at random, and keeps the change where an episode scored more.

The smallest whole algorithm: it has checkpoints, exact resume, a policy that evaluates and plays, and a form.

    mosaic algos add examples
    mosaic train random_search --env-id CartPole-v1 --total-timesteps 20000
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import torch
from annotated_types import Ge, Gt, Le

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main

ACTIONS = "discrete"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """Random search: without a gradient, for discrete actions and vector observations."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments and of the changes."""
    total_timesteps: Annotated[int, Ge(1)] = 20_000
    """Environment steps over all environments."""
    num_envs: Annotated[int, Ge(1)] = 4
    """Environments stepped in parallel, each with a change of its own."""
    noise: Annotated[float, Gt(0)] = 0.5
    """Standard deviation of a change."""

    def __post_init__(self) -> None:
        if self.num_envs > 1000:
            raise ValueError(f"num_envs is {self.num_envs}, more than 1000")


def likeliest(weights: Array, observations: Array) -> Array:
    """One row of weights for each observation, or one for all."""
    rows = observations.reshape(len(observations), -1)
    return np.einsum("...ao,...o->...a", weights, rows).argmax(-1)


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    shape = (int(envs.single_action_space.n), int(np.prod(envs.single_observation_space.shape)))
    best, score = np.zeros(shape), -np.inf
    tried = run.generator.normal(0, args.noise, (args.num_envs, *shape))
    saved = run.resume()
    if saved is None:
        observations = envs.reset(args.seed)
    else:
        best, tried, score = saved["best"], saved["tried"], float(saved["score"])
        observations = envs.current_obs

    while run.global_step < args.total_timesteps:
        observations, _, _, _, infos = envs.step(likeliest(tried, observations))
        for slot in np.flatnonzero(infos["_final_obs"]).tolist() if infos else ():
            if infos["episode_return"][slot] >= score:
                best, score = tried[slot].copy(), float(infos["episode_return"][slot])
            tried[slot] = best + run.generator.normal(0, args.noise, shape)
            run.scalars({"charts/best_return": score, "charts/SPS": run.steps_per_second()})
        stopping, ended = run.stopping, run.global_step >= args.total_timesteps
        if run.checkpoint_due or stopping or ended:
            reason = "stop" if stopping else "end" if ended else "interval"
            # JSON knows no infinity.
            state = {"best": best, "tried": tried, "score": max(score, -1e300)}
            run.checkpoint(state, reason=reason)
        if stopping:
            break
    agent = torch.nn.Linear(shape[1], shape[0], bias=False)
    agent.weight.data = torch.from_numpy(best)
    run.save_policy(agent)


class LinearPolicy:
    """Acts with the best weights."""

    def __init__(self, weights: Array) -> None:
        self.weights = weights

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        del generator, deterministic  # It has no chance in it.
        return likeliest(self.weights, observations)


def load(file: PolicyFile) -> Policy:
    return LinearPolicy(file.group("agent")["weight"])


if __name__ == "__main__":
    raise SystemExit(main(__file__))
