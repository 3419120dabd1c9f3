"""C51, a DQN that learns distributions of returns, on vector observations (docs/algorithms/c51.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_worths
from cleanrl_worker.sdk.fast.c51 import FastLearner, q_values_by_hand
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.quick import by_hand_if_same
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import EpsilonGreedy, of_vectors
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock; the exploration of a block is drawn at once."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """C51: off-policy, for discrete actions and vector observations."""

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
    n_atoms: Annotated[int, Ge(2)] = 101
    """Values that a return can have in a distribution, evenly spaced from v_min to v_max."""
    v_min: float = -100.0
    """The least return that can be told from a lesser one."""
    v_max: float = 100.0
    """The largest return that can be told from a larger one."""
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

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise ValueError(f"v_min is {self.v_min}, which must be less than v_max, {self.v_max}")


class QNetwork(nn.Module):
    """Two hidden layers: how likely each return is after each action in a state."""

    atoms: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.inputs = int(np.prod(observation_space.shape or ()))
        self.choices = int(action_space.n)
        self.register_buffer("atoms", torch.linspace(args.v_min, args.v_max, args.n_atoms))
        self.network = nn.Sequential(
            nn.Linear(self.inputs, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, self.choices * args.n_atoms),
        )

    def pmfs(self, obs: torch.Tensor) -> torch.Tensor:
        """Probabilities (rows, choices, atoms)."""
        return torch.softmax(self.network(obs).unflatten(1, (self.choices, -1)), dim=2)

    def values(self, pmfs: torch.Tensor) -> torch.Tensor:
        """What each action is worth, (rows, choices)."""
        return (pmfs * self.atoms).sum(2)


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    gamma: float


def linear_schedule(start_e: float, end_e: float, duration: float, step: Array) -> Array:
    """Epsilon after so many steps: from `start_e` down to `end_e` over `duration` steps."""
    return np.maximum((end_e - start_e) / duration * step + start_e, end_e)


@torch.no_grad()
def target_pmfs(target_network: QNetwork, batch: Tensors) -> torch.Tensor:
    """The distribution of the reward and the return after it, projected onto the atoms; gamma is in the batch.

    `dones` are terminations only, so that a truncated episode is valued as if it went on.
    """
    atoms = target_network.atoms
    every = target_network.pmfs(batch["next_obs"])
    best = target_network.values(every).argmax(1)
    next_pmfs = every[torch.arange(len(every), device=every.device), best]
    places = batch["rewards"][:, None] + batch["gamma"] * (1 - batch["dones"])[:, None] * atoms
    b = (places.clamp(atoms[0], atoms[-1]) - atoms[0]) / (atoms[1] - atoms[0])
    # Each atom's share of each place, the nearer the more; to scatter instead would add in any order on a GPU.
    shares = (1 - (b[:, None, :] - torch.arange(len(atoms), device=b.device)[None, :, None]).abs()).clamp(min=0)
    return (shares * next_pmfs[:, None, :]).sum(2)


def c51_loss(q_network: QNetwork, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The cross-entropy to the target distribution, and the mean value of the actions taken."""
    every = q_network.pmfs(batch["obs"])
    old_pmfs = every[torch.arange(len(every), device=every.device), batch["actions"]]
    loss = -(target * old_pmfs.clamp(min=1e-5, max=1 - 1e-5).log()).sum(1).mean()
    return loss, (old_pmfs * q_network.atoms).sum(1).mean()


class Learner:
    """Acts and learns by the loss. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

    def __init__(self, q_network: QNetwork, target_network: QNetwork, args: Args, device: torch.device) -> None:
        self.q_network = q_network
        self.target_network = target_network
        self.optimizer = adam(q_network, learning_rate=args.learning_rate, eps=0.01 / args.batch_size)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"actions": self.q_network.values(self.q_network.pmfs(inputs["obs"].float())).argmax(1)}

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        tensors = {**batch, **{name: batch[name].flatten(1).float() for name in ("obs", "next_obs")}}
        target = target_pmfs(self.target_network, tensors)
        loss, q_values = c51_loss(self.q_network, tensors, target)
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
    plain = Learner(q_network, target_network, args, run.device)
    learner = guarded(run, plain, lambda: FastLearner(q_network, target_network, args))
    replay = ReplayBuffer(args.buffer_size, args.num_envs, *spaces)
    choices = q_network.choices
    exploration_steps = args.exploration_fraction * args.total_timesteps
    run.explain_with(lambda seen: of_worths(q_network.values(q_network.pmfs(seen.flatten(1)))))

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

    def values(obs: torch.Tensor) -> torch.Tensor:
        return q_network.values(q_network.pmfs(obs))

    q_values = by_hand_if_same(values, lambda: q_values_by_hand(q_network), q_network.inputs)
    return EpsilonGreedy(of_vectors(q_values), args.end_e)


if __name__ == "__main__":
    raise SystemExit(main("c51"))
