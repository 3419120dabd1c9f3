"""C51 written plainly in torch on Gymnasium's own vector: what our fast one is measured against. SB3 has none.

    python -m bench.plain_c51 RESULT.json WARMUP_STEPS SETTINGS

SETTINGS is JSON: the fields of `c51.Args`, all of them. One environment, no logging, no saving: all in its favour.
"""

import json
import random
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3.common.buffers import ReplayBuffer
from torch import nn

from bench.clock import Clock


class QNetwork(nn.Module):
    def __init__(self, inputs: int, choices: int, args: Any) -> None:
        super().__init__()
        self.choices = choices
        self.register_buffer("atoms", torch.linspace(args.v_min, args.v_max, args.n_atoms))
        self.network = nn.Sequential(
            nn.Linear(inputs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, choices * args.n_atoms)
        )

    def pmfs(self, obs: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.network(obs).view(len(obs), self.choices, -1), dim=2)

    def best(self, pmfs: torch.Tensor) -> torch.Tensor:
        return (pmfs * self.atoms).sum(2).argmax(1)


def target_of(network: QNetwork, data: Any, args: Any) -> torch.Tensor:
    every = network.pmfs(data.next_observations)
    next_pmfs = every[torch.arange(len(every)), network.best(every)]
    places = (data.rewards + args.gamma * network.atoms * (1 - data.dones)).clamp(args.v_min, args.v_max)
    b = (places - args.v_min) / (network.atoms[1] - network.atoms[0])
    lower, upper = b.floor().clamp(0, args.n_atoms - 1), b.ceil().clamp(0, args.n_atoms - 1)
    target = torch.zeros_like(next_pmfs)
    # In one call for all rows: a loop over them, as CleanRL has it, takes several times as long.
    target.scatter_add_(1, lower.long(), (upper + (lower == upper).float() - b) * next_pmfs)
    target.scatter_add_(1, upper.long(), (b - lower) * next_pmfs)
    return target


def main(result: Path, warmup_steps: int, args: Any) -> None:
    torch.set_num_threads(1)
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make(args.env_id))],
        autoreset_mode=gym.vector.AutoresetMode.SAME_STEP,
    )
    choices = int(envs.single_action_space.n)
    inputs = int(np.prod(envs.single_observation_space.shape))
    q_network, target_network = QNetwork(inputs, choices, args), QNetwork(inputs, choices, args)
    target_network.load_state_dict(q_network.state_dict())
    optimizer = torch.optim.Adam(q_network.parameters(), lr=args.learning_rate, eps=0.01 / args.batch_size)
    spaces = envs.single_observation_space, envs.single_action_space
    replay = ReplayBuffer(args.buffer_size, *spaces, device="cpu", handle_timeout_termination=False)
    clock = Clock()
    clock.start_after(warmup_steps, envs, 1)
    returns: list[float] = []
    obs, _ = envs.reset(seed=args.seed)
    for step in range(1, args.total_timesteps + 1):
        slope = (args.end_e - args.start_e) / (args.exploration_fraction * args.total_timesteps)
        if random.random() < max(slope * (step - 1) + args.start_e, args.end_e):
            actions = np.array([envs.single_action_space.sample()])
        else:
            with torch.no_grad():
                actions = q_network.best(q_network.pmfs(torch.as_tensor(obs))).numpy()
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        successor = next_obs
        if terminations[0] or truncations[0]:
            successor = np.stack(list(infos["final_obs"]))
            returns.append(float(infos["final_info"]["episode"]["r"][0]))
        replay.add(obs, successor, actions, rewards, terminations, [{}])
        obs = next_obs
        if step > args.learning_starts and step % args.train_frequency == 0:
            data = replay.sample(args.batch_size)
            with torch.no_grad():
                target = target_of(target_network, data, args)
            old_pmfs = q_network.pmfs(data.observations)[torch.arange(args.batch_size), data.actions.flatten()]
            loss = -(target * old_pmfs.clamp(min=1e-5, max=1 - 1e-5).log()).sum(1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if step > args.learning_starts and step % args.target_network_frequency == 0:
            target_network.load_state_dict(q_network.state_dict())
    clock.stop()
    result.write_text(json.dumps(clock.result(args.total_timesteps) | {"returns": returns, "ends": None}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), SimpleNamespace(**json.loads(sys.argv[3])))
