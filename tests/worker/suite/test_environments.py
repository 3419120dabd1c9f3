"""The environments that users try first train without further flags."""

import gymnasium as gym
import pytest
from worker_runs import events_of, policy_of, train

from mosaic.spec.events import RunCompleted
from mosaic.spec.run_dir import RunDir

ENVIRONMENTS = {
    "FrozenLake-v1": "gymnasium.envs.toy_text",
    "Taxi": "gymnasium.envs.toy_text",
    "MiniGrid-Empty-5x5-v0": "minigrid",
    "LunarLander-v3": "Box2D",
}


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
@pytest.mark.parametrize(
    ("algo", "flags"),
    [("ppo", ("--total-timesteps=1024",)), ("dqn", ("--total-timesteps=500", "--learning-starts=200"))],
    ids=["ppo", "dqn"],
)
def test_it_trains_without_further_flags(algo: str, flags: tuple[str, ...], env_id: str, run_dir: RunDir) -> None:
    if ENVIRONMENTS[env_id] != "Box2D":  # Its SWIG types warn when they are imported; the family does it quietly.
        pytest.importorskip(ENVIRONMENTS[env_id])
    if env_id == "Taxi":
        env_id = next(known for known in gym.registry if known.startswith("Taxi-v"))  # v4 from Gymnasium 1.4 on
    train(run_dir, f"--algo={algo}", f"--env-id={env_id}", *flags)
    last = events_of(run_dir)[-1].body
    assert isinstance(last, RunCompleted)
    assert last.global_step == int(flags[0].split("=")[1])
    assert policy_of(run_dir).exists()
