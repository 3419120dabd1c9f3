"""Rainbow for Atari in CleanRL's manner, small."""

import collections
import math
import os
import random
import time
from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import tyro
from stable_baselines3.common.atari_wrappers import (
    ClipRewardEnv,
    EpisodicLifeEnv,
    FireResetEnv,
    MaxAndSkipEnv,
    NoopResetEnv,
)
from torch.utils.tensorboard import SummaryWriter


@dataclass
class Args:
    exp_name: str = os.path.basename(__file__)[: -len(".py")]
    """the name of this experiment"""
    seed: int = 1
    """seed of the experiment"""
    torch_deterministic: bool = True
    cuda: bool = True
    track: bool = False
    wandb_project_name: str = "cleanRL"
    wandb_entity: str = None
    capture_video: bool = False
    """whether to film the agent"""
    save_model: bool = False
    """whether to save the model"""

    env_id: str = "PongNoFrameskip-v4"
    """the id of the environment"""
    total_timesteps: int = 120
    learning_rate: float = 2.5e-4
    num_envs: int = 1
    buffer_size: int = 1000
    gamma: float = 0.99
    tau: float = 1.0
    target_network_frequency: int = 50
    batch_size: int = 16
    start_e: float = 1
    """epsilon at first"""
    end_e: float = 0.05
    learning_starts: int = 60
    train_frequency: int = 4
    n_step: int = 3
    prioritized_replay_alpha: float = 0.5
    prioritized_replay_beta: float = 0.4
    n_atoms: int = 11
    v_min: float = -10
    v_max: float = 10


def make_env(env_id, seed, idx, capture_video, run_name):
    def thunk():
        if capture_video and idx == 0:
            env = gym.make(env_id, render_mode="rgb_array")
            env = gym.wrappers.RecordVideo(env, f"videos/{run_name}")
        else:
            env = gym.make(env_id)
        env = gym.wrappers.RecordEpisodeStatistics(env)
        env = NoopResetEnv(env, noop_max=30)
        env = MaxAndSkipEnv(env, skip=4)
        env = EpisodicLifeEnv(env)
        if "FIRE" in env.unwrapped.get_action_meanings():
            env = FireResetEnv(env)
        env = ClipRewardEnv(env)
        env = gym.wrappers.ResizeObservation(env, (84, 84))
        env = gym.wrappers.GrayScaleObservation(env)
        env = gym.wrappers.FrameStack(env, 4)
        env.action_space.seed(seed)
        return env

    return thunk


class NoisyLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        bound = 1 / math.sqrt(in_features)
        self.weight = nn.Parameter(torch.empty(out_features, in_features).uniform_(-bound, bound))
        self.sigma = nn.Parameter(torch.full((out_features, in_features), 0.5 * bound))
        self.register_buffer("noise", torch.empty(out_features, in_features).normal_())

    def forward(self, x):
        return F.linear(x, self.weight + self.sigma * self.noise if self.training else self.weight)


class Network(nn.Module):
    def __init__(self, env, n_atoms, v_min, v_max):
        super().__init__()
        self.n, self.n_atoms = env.single_action_space.n, n_atoms
        self.register_buffer("support", torch.linspace(v_min, v_max, n_atoms))
        self.network = nn.Sequential(nn.Conv2d(4, 4, 8, stride=8), nn.ReLU(), nn.Flatten())
        self.value, self.advantage = NoisyLinear(400, n_atoms), NoisyLinear(400, n_atoms * self.n)

    def forward(self, x):
        h = self.network(x / 255.0)
        advantage = self.advantage(h).view(-1, self.n, self.n_atoms)
        atoms = self.value(h).view(-1, 1, self.n_atoms) + advantage - advantage.mean(dim=1, keepdim=True)
        return F.softmax(atoms, dim=2)


class PrioritizedReplay:
    def __init__(self, capacity, n_step, gamma, alpha):
        self.steps, self.rows, self.priorities = collections.deque(maxlen=n_step), [], []
        self.n_step, self.gamma, self.alpha, self.capacity = n_step, gamma, alpha, capacity

    def add(self, obs, action, reward, next_obs, done):
        self.steps.append((obs, action, reward, next_obs, done))
        if len(self.steps) == self.n_step:
            total = sum(self.gamma**i * step[2] for i, step in enumerate(self.steps))
            self.rows.append((self.steps[0][0], self.steps[0][1], total, self.steps[-1][3], self.steps[-1][4]))
            self.priorities.append(1.0)
        if done:
            self.steps.clear()

    def sample(self, size, beta):
        p = np.array(self.priorities) ** self.alpha
        chosen = np.random.choice(len(self.rows), size, p=p / p.sum())
        weights = (len(self.rows) * p[chosen] / p.sum()) ** -beta
        return chosen, [np.stack(one) for one in zip(*[self.rows[i] for i in chosen])], weights / weights.max()


if __name__ == "__main__":
    args = tyro.cli(Args)
    assert args.num_envs == 1, "vectorized envs are not supported at the moment"
    run_name = f"{args.env_id}__{args.exp_name}__{args.seed}__{int(time.time())}"
    writer = SummaryWriter(f"runs/{run_name}")
    writer.add_text(
        "hyperparameters", "|param|value|\n|-|-|\n" + "\n".join(f"|{k}|{v}|" for k, v in vars(args).items())
    )
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.backends.cudnn.deterministic = args.torch_deterministic
    device = torch.device("cuda" if torch.cuda.is_available() and args.cuda else "cpu")
    envs = gym.vector.SyncVectorEnv(
        [make_env(args.env_id, args.seed + i, i, args.capture_video, run_name) for i in range(args.num_envs)]
    )
    assert isinstance(envs.single_action_space, gym.spaces.Discrete), "only discrete action space is supported"
    q_network = Network(envs, args.n_atoms, args.v_min, args.v_max).to(device)
    optimizer = optim.Adam(q_network.parameters(), lr=args.learning_rate, eps=1.5e-4)
    target_network = Network(envs, args.n_atoms, args.v_min, args.v_max).to(device)
    target_network.load_state_dict(q_network.state_dict())
    rb = PrioritizedReplay(args.buffer_size, args.n_step, args.gamma, args.prioritized_replay_alpha)
    start_time = time.time()
    obs, _ = envs.reset(seed=args.seed)
    for global_step in range(args.total_timesteps):
        with torch.no_grad():
            q_dist = q_network(torch.Tensor(obs).to(device))
            actions = torch.argmax(torch.sum(q_dist * q_network.support, dim=2), dim=1).cpu().numpy()
        next_obs, rewards, terminations, truncations, infos = envs.step(actions)
        if "final_info" in infos:
            for info in infos["final_info"]:
                if info and "episode" in info:
                    print(f"global_step={global_step}, episodic_return={info['episode']['r']}")
                    writer.add_scalar("charts/episodic_return", info["episode"]["r"], global_step)
                    writer.add_scalar("charts/episodic_length", info["episode"]["l"], global_step)
        real_next_obs = next_obs.copy()
        for idx, trunc in enumerate(truncations):
            if trunc:
                real_next_obs[idx] = infos["final_observation"][idx]
        rb.add(obs[0], actions[0], rewards[0], real_next_obs[0], terminations[0])
        obs = next_obs
        if global_step > args.learning_starts and global_step % args.train_frequency == 0:
            chosen, batch, weights = rb.sample(args.batch_size, args.prioritized_replay_beta)
            b_obs, b_actions, b_rewards, b_next, b_dones = [torch.tensor(part) for part in batch]
            with torch.no_grad():
                best = (target_network(b_next) * target_network.support).sum(2).max(1).values
                td_target = b_rewards + args.gamma**args.n_step * best * (1 - b_dones.float())
            dist = q_network(b_obs)
            old_val = (dist * q_network.support).sum(2).gather(1, b_actions.view(-1, 1)).squeeze()
            error = td_target - old_val
            loss = (error.pow(2) * torch.tensor(weights)).mean()
            for i, value in zip(chosen, error.detach().abs().numpy() + 1e-6):
                rb.priorities[i] = float(value)
            if global_step % 20 == 0:
                writer.add_scalar("losses/td_loss", loss.item(), global_step)
                writer.add_scalar("losses/q_values", old_val.mean().item(), global_step)
                writer.add_scalar("charts/beta", args.prioritized_replay_beta, global_step)
                writer.add_scalar("charts/SPS", int(global_step / (time.time() - start_time)), global_step)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if global_step % args.target_network_frequency == 0:
                for target_param, param in zip(target_network.parameters(), q_network.parameters()):
                    target_param.data.copy_(args.tau * param.data + (1.0 - args.tau) * target_param.data)

    envs.close()
    writer.close()
