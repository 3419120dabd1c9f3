"""The other side: a script such as a user of Stable-Baselines3 writes. It imports nothing of ours but the clock.

    python -m bench.sb3 RESULT.json WARMUP_STEPS SPEC [MODEL.zip]

SPEC is JSON from `bench.settings`. SB3's logger is off, in its favour: ours logs as always.
"""

import importlib
import json
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import stable_baselines3
import torch
from stable_baselines3.common.env_util import make_atari_env, make_vec_env
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecEnv, VecFrameStack, VecNormalize

from bench.clock import Clock

ALL_EPISODES = 10**9


def make_model(spec: dict[str, Any]) -> Any:
    # DummyVecEnv of Gymnasium environments under Monitor, which counts returns and lengths, as ours does.
    if spec.get("atari"):
        importlib.import_module("ale_py")  # registers the games
        envs: VecEnv = VecFrameStack(make_atari_env(spec["env_id"], n_envs=spec["num_envs"], seed=spec["seed"]), 4)
    else:
        envs = make_vec_env(spec["env_id"], n_envs=spec["num_envs"], seed=spec["seed"])
    if "vec_normalize" in spec:
        envs = VecNormalize(envs, **spec["vec_normalize"])
    kwargs = dict(spec["kwargs"])
    start = spec.get("anneal_from")
    if start is not None:
        rate: float = kwargs["learning_rate"]
        kwargs["learning_rate"] = lambda remaining: rate * (remaining + start - 1)
    if "action_noise" in spec:
        width = envs.action_space.shape[0]
        kwargs["action_noise"] = NormalActionNoise(np.zeros(width), np.full(width, spec["action_noise"]))
    policy_kwargs = dict(spec["policy_kwargs"])
    if "activation_fn" in policy_kwargs:
        policy_kwargs["activation_fn"] = getattr(torch.nn, policy_kwargs["activation_fn"])
    model = getattr(stable_baselines3, spec["model"])(
        "CnnPolicy" if spec.get("atari") else "MlpPolicy",
        envs,
        policy_kwargs=policy_kwargs,
        seed=spec["seed"],
        device="cpu",
        verbose=0,
        **kwargs,
    )
    # The argument stats_window_size, which DDPG does not take.
    model._stats_window_size = ALL_EPISODES
    model.set_logger(Logger(folder=None, output_formats=[]))
    return model


def main(result: Path, warmup_steps: int, spec: dict[str, Any], save_to: str | None = None) -> None:
    torch.set_num_threads(1)
    model = make_model(spec)
    clock = Clock()
    clock.start_after(warmup_steps, model.env, spec["num_envs"])
    model.learn(spec["total_timesteps"])
    clock.stop()
    if save_to is not None:
        model.save(save_to)
    returns = [float(episode["r"]) for episode in model.ep_info_buffer]
    # With several environments their episodes overlap, and SB3 does not say when each one ended.
    ends = list(accumulate(int(e["l"]) for e in model.ep_info_buffer)) if spec["num_envs"] == 1 else None
    result.write_text(json.dumps(clock.result(model.num_timesteps) | {"returns": returns, "ends": ends}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), *sys.argv[4:])
