"""QR-DQN, a DQN that learns quantiles of returns, on vector observations (docs/algorithms/qr_dqn.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_worths
from cleanrl_worker.sdk.fast.quick import Quick, quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import EpsilonGreedy, of_vectors
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
UPSTREAM = None  # CleanRL has no QR-DQN.
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock; the exploration of a block is drawn at once."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """QR-DQN: off-policy, for discrete actions and vector observations."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one; networks of this size are faster on the CPU (--no-cuda)."""
    cuda_graph: bool = True
    """Record acting and the gradient step as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 500_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 2.5e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    n_quantiles: Annotated[int, Ge(1), Search(10, 200, "log")] = 50
    """Quantiles of the return that are learnt for each action, at evenly spaced probabilities."""
    kappa: Annotated[float, Gt(0)] = 1.0
    """Error up to which the loss is quadratic; beyond, it is linear."""
    buffer_size: Annotated[int, Ge(1)] = 10_000
    """Transitions that the replay memory holds; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    target_network_frequency: Annotated[int, Ge(1), Search(50, 5_000, "log")] = 500
    """Environment steps between two updates of the target network."""
    batch_size: Annotated[int, Ge(1), Search(32, 512, "power_of_two")] = 128
    """Transitions sampled for one gradient step."""
    start_e: Annotated[float, Ge(0), Le(1)] = 1.0
    """Probability of a random action at the start."""
    end_e: Annotated[float, Ge(0), Le(1), Search(0.01, 0.2)] = 0.05
    """Probability of a random action once the exploration has ended."""
    exploration_fraction: Annotated[float, Gt(0), Le(1), Search(0.05, 0.5)] = 0.5
    """Part of all steps over which that probability falls from start_e to end_e."""
    learning_starts: Annotated[int, Ge(0), Search(1_000, 20_000, "log")] = 10_000
    """Environment steps before the first gradient step."""
    train_frequency: Annotated[int, Ge(1), Search(1, 16, "power_of_two")] = 10
    """Environment steps for each gradient step."""


class QNetwork(nn.Module):
    """Two hidden layers: quantiles of the return after each action in a state."""

    probabilities: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.choices = int(action_space.n)
        # Each quantile stands for the middle of its share of all returns.
        middles = (torch.arange(args.n_quantiles) + 0.5) / args.n_quantiles
        self.register_buffer("probabilities", middles, persistent=False)
        self.network = nn.Sequential(
            nn.Linear(int(np.prod(observation_space.shape or ())), 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, self.choices * args.n_quantiles),
        )

    def quantiles(self, obs: torch.Tensor) -> torch.Tensor:
        """(rows, choices, quantiles); their mean is what an action is worth."""
        return self.network(obs).unflatten(1, (self.choices, -1))


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    gamma: float


def linear_schedule(start_e: float, end_e: float, duration: float, step: Array) -> Array:
    """Epsilon after so many steps: from `start_e` down to `end_e` over `duration` steps."""
    return np.maximum((end_e - start_e) / duration * step + start_e, end_e)


@torch.no_grad()
def target_quantiles(target_network: QNetwork, batch: Tensors) -> torch.Tensor:
    """Quantiles of the reward and the return after it, (rows, quantiles); gamma is in the batch.

    `dones` are terminations only, so that a truncated episode is valued as if it went on.
    """
    every = target_network.quantiles(batch["next_obs"])
    best = every.mean(2).argmax(1)
    following = every[torch.arange(len(every), device=every.device), best]
    return batch["rewards"][:, None] + batch["gamma"] * (1 - batch["dones"])[:, None] * following


def quantile_huber_loss(
    quantiles: torch.Tensor, target: torch.Tensor, probabilities: torch.Tensor, kappa: float
) -> torch.Tensor:
    """How far `quantiles` (rows, n) are from those of `target` (rows, m): an error of each with each.

    A quantile of probability p is pulled up with weight p and down with weight 1 - p, so that it comes to rest where a
    part p of the target lies below it. Summed over the quantiles, averaged over rows and targets.
    """
    errors = target[:, None, :] - quantiles[:, :, None]
    huber = F.huber_loss(errors, torch.zeros_like(errors), reduction="none", delta=kappa)
    weights = torch.where(errors < 0, 1 - probabilities[:, None], probabilities[:, None])
    return (weights * huber / kappa).mean(2).sum(1).mean()


def qr_loss(
    q_network: QNetwork, batch: Tensors, target: torch.Tensor, kappa: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss of the quantiles of the actions taken, and the mean value of these actions."""
    every = q_network.quantiles(batch["obs"])
    old_quantiles = every[torch.arange(len(every), device=every.device), batch["actions"]]
    loss = quantile_huber_loss(old_quantiles, target, q_network.probabilities, kappa)
    return loss, old_quantiles.mean()


class Learner:
    """Acts and learns by the loss."""

    def __init__(self, q_network: QNetwork, target_network: QNetwork, args: Args, device: torch.device) -> None:
        self.q_network = q_network
        self.target_network = target_network
        self.kappa = args.kappa
        self.optimizer = adam(q_network, learning_rate=args.learning_rate, eps=0.01 / args.batch_size)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"actions": self.q_network.quantiles(inputs["obs"].float()).mean(2).argmax(1)}

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        tensors = {**batch, **{name: batch[name].flatten(1).float() for name in ("obs", "next_obs")}}
        target = target_quantiles(self.target_network, tensors)
        loss, q_values = qr_loss(self.q_network, tensors, target, self.kappa)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach(), "q_values": q_values.detach()}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        return self.descend(self.inputs.put(batch._asdict() | {"gamma": np.float32(coefficients.gamma)}))

    def update_target(self) -> None:
        self.target_network.load_state_dict(self.q_network.state_dict())

    def state(self) -> dict[str, Any]:
        return {
            "q_network": self.q_network.state_dict(),
            "target_network": self.target_network.state_dict(),
            "optimizer": optimizer_state(self.optimizer),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.q_network.load_state_dict(state["q_network"])
        self.target_network.load_state_dict(state["target_network"])
        load_optimizer(self.optimizer, state["optimizer"])


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    spaces = envs.single_observation_space, envs.single_action_space
    q_network, target_network = (QNetwork(*spaces, args).to(run.device) for _ in range(2))
    target_network.load_state_dict(q_network.state_dict())
    learner = Learner(q_network, target_network, args, run.device)
    replay = ReplayBuffer(args.buffer_size, args.num_envs, *spaces)
    choices = q_network.choices
    exploration_steps = args.exploration_fraction * args.total_timesteps
    run.explain_with(lambda seen: of_worths(q_network.quantiles(seen.flatten(1)).mean(2)))

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        replay.load(saved["replay"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        before = run.global_step + args.num_envs * np.arange(steps)
        epsilon = linear_schedule(args.start_e, args.end_e, exploration_steps, before)
        explores: Array = run.generator.random((steps, args.num_envs)) < epsilon[:, None]
        random_actions = run.generator.integers(choices, size=explores.shape)
        explorers: list[int] = np.add.reduce(explores, axis=1, dtype=int).tolist()

        for step in range(steps):
            if explorers[step] == args.num_envs:
                actions = random_actions[step]
            else:
                actions = learner.act(obs.reshape(args.num_envs, -1))
                if explorers[step]:
                    actions = np.where(explores[step], random_actions[step], actions)
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                if global_step % args.train_frequency == 0:
                    coefficients = Coefficients(learning_rate=args.learning_rate, gamma=args.gamma)
                    losses = learner.update(replay.sample(run.generator, args.batch_size), coefficients)
                    run.histograms(q_network)
                    if global_step % LOG_INTERVAL == 0:
                        scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                        run.scalars({**scalars, "charts/SPS": run.steps_per_second()})
                if global_step % args.target_network_frequency == 0:
                    learner.update_target()

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(q_network)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    q_network = QNetwork(file.observation_space, file.action_space, args)
    q_network.load_state_dict(file.weights())

    outputs = quick(q_network.network)

    def q_values(obs: Array) -> Array:
        return outputs(obs).reshape(len(obs), q_network.choices, -1).mean(2)

    def in_torch(obs: torch.Tensor) -> torch.Tensor:
        return q_network.quantiles(obs).mean(2)

    return EpsilonGreedy(of_vectors(Quick(q_values, in_torch)), args.end_e)


if __name__ == "__main__":
    raise SystemExit(main("qr_dqn"))
