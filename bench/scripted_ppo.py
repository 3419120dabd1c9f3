"""The script that `bench.scripts` times: PPO in CleanRL's manner on today's Gymnasium.

It says when its first step is, and then how long each iteration took.
"""

import json
import sys
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn
from torch.distributions.categorical import Categorical
from torch.utils.tensorboard import SummaryWriter

ENVS, STEPS, EPOCHS, MINIBATCHES = 4, 128, 4, 4
ITERATIONS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
"""Each of STEPS steps in every environment, and the update after them."""


def layer(inputs: int, outputs: int) -> nn.Linear:
    return nn.Linear(inputs, outputs)


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(layer(4, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1))
        self.actor = nn.Sequential(layer(4, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 2))

    def forward(self, x: torch.Tensor, action: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        probs = Categorical(logits=self.actor(x))
        chosen = probs.sample() if action is None else action
        return chosen, probs.log_prob(chosen), probs.entropy(), self.critic(x).flatten()


def main() -> None:
    torch.manual_seed(1)
    writer = SummaryWriter("runs/bench")
    envs = gym.vector.SyncVectorEnv(
        [lambda: gym.wrappers.RecordEpisodeStatistics(gym.make("CartPole-v1")) for _ in range(ENVS)]
    )
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
    obs = torch.zeros((STEPS, ENVS, 4))
    actions, logprobs, rewards, values = (torch.zeros((STEPS, ENVS)) for _ in range(4))
    next_obs = torch.Tensor(envs.reset(seed=1)[0])
    envs.step(np.zeros(ENVS, int))
    print(json.dumps({"first_step_at": time.time()}), flush=True)
    step = 0
    for _ in range(ITERATIONS):
        began, cpu_began = time.perf_counter(), time.process_time()
        for t in range(STEPS):
            step += ENVS
            obs[t] = next_obs
            with torch.no_grad():
                actions[t], logprobs[t], _, values[t] = agent(next_obs)
            found, reward, _, _, infos = envs.step(actions[t].long().numpy())
            rewards[t], next_obs = torch.tensor(reward), torch.Tensor(found)
            for slot in np.flatnonzero(infos.get("_episode", ())):
                writer.add_scalar("charts/episodic_return", infos["episode"]["r"][slot], step)
                writer.add_scalar("charts/episodic_length", infos["episode"]["l"][slot], step)
        advantages = (rewards.flip(0).cumsum(0).flip(0) - values).flatten()
        flat, acted, before = obs.reshape(-1, 4), actions.flatten(), logprobs.flatten()
        for _ in range(EPOCHS):
            for part in torch.randperm(STEPS * ENVS).chunk(MINIBATCHES):
                _, logprob, entropy, value = agent(flat[part], acted[part])
                ratio = (logprob - before[part]).exp()
                policy_loss = -torch.min(ratio, ratio.clamp(0.8, 1.2)).mul(advantages[part]).mean()
                loss = policy_loss - 0.01 * entropy.mean() + 0.5 * value.pow(2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        for tag in ("value_loss", "policy_loss", "entropy", "approx_kl", "clipfrac"):
            writer.add_scalar(f"losses/{tag}", loss.item(), step)
        cpu_seconds = time.process_time() - cpu_began
        print(json.dumps({"began": began, "ended": time.perf_counter(), "cpu_seconds": cpu_seconds}), flush=True)
    writer.close()
    envs.close()


if __name__ == "__main__":
    main()
