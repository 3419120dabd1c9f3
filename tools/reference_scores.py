"""Writes src/mosaic/statistics/reference_scores.json: what a random policy and a good one return in an environment.

    python tools/reference_scores.py

Random: the mean of episodes of uniformly drawn actions, measured here. Reference: Gymnasium's `reward_threshold` of the
environment, the return at which its authors call it solved. Environments without a threshold are not in the table.
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

import gymnasium
import numpy as np

EPISODES = 200
ENVIRONMENTS = (
    "CartPole-v1",
    "Acrobot-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
    "FrozenLake-v1",
    "Taxi-v4",
    "InvertedPendulum-v5",
    "InvertedDoublePendulum-v5",
    "Reacher-v5",
    "Hopper-v5",
    "HalfCheetah-v5",
    "Swimmer-v5",
    "Ant-v5",
)
PLACE = Path(__file__).parent.parent / "src" / "mosaic" / "statistics" / "reference_scores.json"


def main() -> int:
    threshold_from = f"reward_threshold of Gymnasium {version('gymnasium')}"
    table = {
        env_id: {
            "random": round(random_return(env_id), 4),
            "reference": float(gymnasium.spec(env_id).reward_threshold or 0.0),
            "random_from": f"mean of {EPISODES} episodes of random actions (tools/reference_scores.py)",
            "reference_from": threshold_from,
        }
        for env_id in ENVIRONMENTS
        if gymnasium.spec(env_id).reward_threshold is not None
    }
    PLACE.write_text(json.dumps(table, indent=1) + "\n")
    return 0


def random_return(env_id: str) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        environment = gymnasium.make(env_id)
    environment.action_space.seed(1)
    returns: list[float] = []
    for seed in range(EPISODES):
        environment.reset(seed=seed)
        total, ended = 0.0, False
        while not ended:
            _, reward, terminated, truncated, _ = environment.step(environment.action_space.sample())
            total, ended = total + float(reward), terminated or truncated
        returns.append(total)
    environment.close()
    return float(np.mean(returns))


if __name__ == "__main__":
    raise SystemExit(main())
