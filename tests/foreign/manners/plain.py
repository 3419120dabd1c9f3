"""REINFORCE on today's Gymnasium: one environment, a writer, no flags."""

import gymnasium as gym
import torch
from torch.utils.tensorboard import SummaryWriter

STEPS = 1500

torch.manual_seed(3)
env = gym.make("CartPole-v1")
policy = torch.nn.Linear(4, 2)
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
writer = SummaryWriter("runs/plain")
step = 0
obs, info = env.reset(seed=3)
while step < STEPS:
    log_probs, rewards, over = [], [], False
    while not over:
        probs = torch.distributions.Categorical(logits=policy(torch.as_tensor(obs)))
        action = probs.sample()
        obs, reward, terminated, truncated, info = env.step(action.item())
        log_probs.append(probs.log_prob(action))
        rewards.append(reward)
        over = terminated or truncated
        step += 1
    loss = -torch.stack(log_probs).sum() * sum(rewards) / 100
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    writer.add_scalar("charts/episodic_return", sum(rewards), step)
    writer.add_scalar("charts/episodic_length", len(rewards), step)
    writer.add_scalar("losses/policy_loss", loss, step)
    obs, info = env.reset()
torch.save(policy.state_dict(), "policy.pt")
writer.close()
env.close()
