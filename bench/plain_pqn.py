"""PQN in plain torch on Gymnasium's own vector of environments, without a line of ours: what the method does by itself.

python -m bench.plain_pqn SEED…      # mean return of the last 100 training episodes, 500,000 steps of CartPole-v1
"""

import sys

import gymnasium as gym
import numpy as np
import torch
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from torch import nn

TOTAL_STEPS, ENVS, STEPS = 500_000, 4, 128
LEARNING_RATE, GAMMA, Q_LAMBDA, END_E = 2.5e-4, 0.99, 0.65, 0.05


def layer(inputs: int, outputs: int) -> nn.Linear:
    made = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(made.weight, 2**0.5)
    nn.init.constant_(made.bias, 0.0)
    return made


def lambda_returns(
    rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, last_values: torch.Tensor
) -> torch.Tensor:
    """`dones[t]` tells that step t ended its episode. Nothing behind an end counts, as upstream."""
    returns = torch.zeros_like(rewards)
    returns[-1] = rewards[-1] + GAMMA * last_values * (1 - dones[-1])
    for t in reversed(range(len(rewards) - 1)):
        ahead = Q_LAMBDA * returns[t + 1] + (1 - Q_LAMBDA) * values[t + 1]
        returns[t] = rewards[t] + GAMMA * ahead * (1 - dones[t])
    return returns


def episode_returns(seed: int) -> list[float]:
    """Of every training episode, in order."""
    np.random.seed(seed)
    torch.manual_seed(seed)
    envs = SyncVectorEnv([lambda: gym.make("CartPole-v1")] * ENVS, autoreset_mode=AutoresetMode.SAME_STEP)
    hidden = [layer(4, 120), nn.LayerNorm(120), nn.ReLU(), layer(120, 84), nn.LayerNorm(84), nn.ReLU()]
    q_network = nn.Sequential(*hidden, layer(84, 2))
    optimizer = torch.optim.RAdam(q_network.parameters(), lr=LEARNING_RATE)
    obs, actions = torch.zeros(STEPS, ENVS, 4), torch.zeros(STEPS, ENVS, dtype=torch.long)
    rewards, dones, values = (torch.zeros(STEPS, ENVS) for _ in range(3))
    seen = torch.from_numpy(envs.reset(seed=seed)[0])
    running, finished, global_step = np.zeros(ENVS), list[float](), 0
    iterations = TOTAL_STEPS // (ENVS * STEPS)
    for iteration in range(iterations):
        optimizer.param_groups[0]["lr"] = (1 - iteration / iterations) * LEARNING_RATE
        for step in range(STEPS):
            global_step += ENVS
            epsilon = max((END_E - 1) / (0.5 * TOTAL_STEPS) * global_step + 1, END_E)
            with torch.no_grad():
                values[step], best = q_network(seen).max(1)
            obs[step] = seen
            actions[step] = torch.where(torch.rand(ENVS) < epsilon, torch.randint(0, 2, (ENVS,)), best)
            after, reward, terminated, truncated, _ = envs.step(actions[step].numpy())
            ended = terminated | truncated
            seen, rewards[step], dones[step] = (torch.from_numpy(part) for part in (after, reward, ended))
            running += reward
            finished += running[ended].tolist()
            running[ended] = 0
        with torch.no_grad():
            returns = lambda_returns(rewards, values, dones, q_network(seen).amax(1)).flatten()
        shuffled = np.arange(ENVS * STEPS)
        for _ in range(4):
            np.random.shuffle(shuffled)
            for rows in torch.from_numpy(shuffled).chunk(4):
                chosen = q_network(obs.flatten(0, 1)[rows]).gather(1, actions.flatten()[rows][:, None]).squeeze(1)
                loss = nn.functional.mse_loss(chosen, returns[rows])
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(q_network.parameters(), 10.0)
                optimizer.step()
    return finished


if __name__ == "__main__":
    torch.set_num_threads(1)
    for number in map(int, sys.argv[1:]):
        print(f"seed {number}: {np.mean(episode_returns(number)[-100:]):.1f}", flush=True)
