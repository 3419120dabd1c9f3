"""PQN, a Q-network without replay memory and target network, on vector observations (docs/algorithms/pqn.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_worths
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.pqn import FastLearner
from cleanrl_worker.sdk.fast.quick import quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import load_optimizer, optimizer_state, radam, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import EpsilonGreedy, of_vectors
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
UPSTREAM = None
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PQN: on-policy, for discrete actions and vector observations."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one; networks of this size are faster on the CPU (--no-cuda)."""
    cuda_graph: bool = True
    """Record acting and the update of a minibatch as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 500_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 2.5e-4
    """Step size of RAdam."""
    num_envs: Annotated[int, Ge(1)] = 4
    """Environments stepped in parallel."""
    num_steps: Annotated[int, Ge(1), Search(16, 512, "power_of_two")] = 128
    """Steps in each environment between two updates."""
    num_minibatches: Annotated[int, Ge(1), Search(1, 32, "power_of_two")] = 4
    """Minibatches that a rollout is cut into."""
    update_epochs: Annotated[int, Ge(1), Search(1, 10)] = 4
    """Passes over each rollout."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    start_e: Annotated[float, Ge(0), Le(1)] = 1.0
    """Probability of a random action at the start."""
    end_e: Annotated[float, Ge(0), Le(1), Search(0.01, 0.2)] = 0.05
    """Probability of a random action once the exploration has ended."""
    exploration_fraction: Annotated[float, Gt(0), Le(1), Search(0.05, 0.5)] = 0.5
    """Part of all steps over which that probability falls from start_e to end_e."""
    max_grad_norm: Annotated[float, Gt(0), Search(0.5, 20.0, "log")] = 10.0
    """Gradients longer than this are scaled down to it."""
    q_lambda: Annotated[float, Ge(0), Le(1), Search(0.3, 0.95)] = 0.65
    """Lambda of the targets: 0 trusts the network after one step, 1 the rewards to the rollout's end."""

    mend_returns: bool = False
    """Bootstrap an episode that a time limit cut off; off, it counts as ended, as upstream."""

    def __post_init__(self) -> None:
        if self.num_minibatches > self.batch_size:
            raise ValueError(
                f"num_minibatches is {self.num_minibatches}, more than the {self.batch_size} steps of a rollout"
                " (num_envs × num_steps)"
            )
        if self.total_timesteps < self.batch_size:
            raise ValueError(
                f"total_timesteps is {self.total_timesteps}, less than the {self.batch_size} steps of one rollout"
                " (num_envs × num_steps): nothing would be learnt"
            )

    @property
    def batch_size(self) -> int:
        return self.num_envs * self.num_steps

    @property
    def minibatch_size(self) -> int:
        return self.batch_size // self.num_minibatches

    @property
    def num_iterations(self) -> int:
        return self.total_timesteps // self.batch_size


def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class QNetwork(nn.Module):
    """Two hidden layers with layer norms: what each action is worth in a state."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.choices = int(action_space.n)
        self.network = nn.Sequential(
            layer_init(nn.Linear(int(np.prod(observation_space.shape or ())), 120)),
            nn.LayerNorm(120),
            nn.ReLU(),
            layer_init(nn.Linear(120, 84)),
            nn.LayerNorm(84),
            nn.ReLU(),
            layer_init(nn.Linear(84, self.choices)),
        )


class Batch(NamedTuple):
    """A rollout, or a minibatch of it, flattened over steps and environments."""

    obs: Array
    actions: Array
    returns: Array

    def rows(self, index: Array | slice) -> "Batch":
        return Batch(*(field[index] for field in self))


def linear_schedule(start_e: float, end_e: float, duration: float, step: Array) -> Array:
    """Epsilon after so many steps: from `start_e` down to `end_e` over `duration` steps."""
    return np.maximum((end_e - start_e) / duration * step + start_e, end_e)


def lambda_returns(rewards: Array, values: Array, dones: Array, args: Args) -> Array:
    """The targets of a rollout of `steps` × `envs`; `values` are those of the best actions, and have one row more.

    `dones[t]` tells that step t ended its episode: nothing behind it counts, neither value nor return.
    """
    returns = np.empty_like(rewards)
    following = values[-1]
    for step in reversed(range(len(rewards))):
        ahead = args.q_lambda * following + (1 - args.q_lambda) * values[step + 1]
        following = returns[step] = rewards[step] + args.gamma * ahead * (1.0 - dones[step])
    return returns


def td_loss(q_network: QNetwork, batch: Mapping[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean squared error of the actions' values, and their mean."""
    old_val = q_network.network(batch["obs"]).gather(1, batch["actions"][:, None]).squeeze(1)
    return nn.functional.mse_loss(batch["returns"], old_val), old_val.mean()


class Learner:
    """Acts and learns by the loss. On a CPU `FastLearner` stands in for it, as long as it computes the same.

    Observations are (rows, features).
    """

    def __init__(self, q_network: QNetwork, args: Args, device: torch.device) -> None:
        self.q_network = q_network
        self.args = args
        self.device = device
        self.optimizer = radam(q_network, learning_rate=args.learning_rate)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.choice, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    def tensor(self, array: Array) -> torch.Tensor:
        return torch.as_tensor(array, device=self.device)

    @torch.no_grad()
    def choice(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"actions": self.q_network.network(inputs["obs"]).argmax(1)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    @torch.no_grad()
    def values(self, obs: Array) -> Array:
        return self.q_network.network(self.tensor(obs)).amax(1).cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, q_values = td_loss(self.q_network, batch)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q_network.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        return {"td_loss": loss.detach(), "q_values": q_values.detach()}

    def update(self, batch: Batch, learning_rate: float) -> dict[str, float]:
        """One step on a minibatch; what is logged of it."""
        set_learning_rate(self.optimizer, learning_rate)
        return {name: float(value) for name, value in self.descend(self.inputs.put(batch._asdict())).items()}

    def state(self) -> dict[str, Any]:
        return {"q_network": self.q_network.state_dict(), "optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.q_network.load_state_dict(state["q_network"])
        load_optimizer(self.optimizer, state["optimizer"])


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert observation_space.shape is not None
    q_network = QNetwork(observation_space, action_space).to(run.device)
    learner = guarded(run, Learner(q_network, args, run.device), lambda: FastLearner(q_network, args))
    rollout = (args.num_steps, args.num_envs)
    obs = np.zeros((args.num_steps + 1, args.num_envs, *observation_space.shape), dtype=np.float32)
    actions = np.zeros(rollout, dtype=np.int64)
    rewards = np.zeros(rollout, dtype=np.float32)
    dones = np.zeros(rollout, dtype=np.float32)
    # What the network sees, in the same memory: one vector an environment.
    inputs = obs.reshape(args.num_steps + 1, args.num_envs, -1)
    exploration_steps = args.exploration_fraction * args.total_timesteps
    run.explain_with(lambda seen: of_worths(q_network.network(seen.flatten(1))))

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        obs[-1] = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        first_iteration = saved["iteration"] + 1
        obs[-1] = envs.current_obs

    for iteration in range(first_iteration, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        learning_rate = (1.0 - progress) * args.learning_rate

        # Collect. The network does not change meanwhile: the values come from one pass afterwards.
        obs[0] = obs[-1]
        after = run.global_step + args.num_envs * np.arange(1, args.num_steps + 1)
        epsilon = linear_schedule(args.start_e, args.end_e, exploration_steps, after)
        explores = run.generator.random(rollout) < epsilon[:, None]
        random_actions = run.generator.integers(q_network.choices, size=rollout)
        for step in range(args.num_steps):
            actions[step] = np.where(explores[step], random_actions[step], learner.act(inputs[step]))
            obs[step + 1], rewards[step], terminations, truncations, infos = envs.step(actions[step])
            dones[step] = terminations | truncations
            if args.mend_returns and (cut := truncations & ~terminations).any():
                last_obs = infos["final_obs"][cut].reshape(cut.sum(), -1)
                rewards[step, cut] += args.gamma * learner.values(last_obs)
        values = learner.values(inputs.reshape(args.batch_size + args.num_envs, -1)).reshape(-1, args.num_envs)
        returns = lambda_returns(rewards, values, dones, args)
        batch = Batch(inputs[:-1].reshape(args.batch_size, -1), actions.reshape(-1), returns.reshape(-1))

        # Improve.
        losses: dict[str, float] = {}
        for _ in range(args.update_epochs):
            shuffled = batch.rows(run.generator.permutation(args.batch_size))
            for start in range(0, args.batch_size, args.minibatch_size):
                losses = learner.update(shuffled.rows(slice(start, start + args.minibatch_size)), learning_rate)

        scalars = {f"losses/{name}": value for name, value in losses.items()}
        run.scalars({**scalars, "charts/SPS": run.steps_per_second()})
        run.histograms(q_network)
        if reason := run.checkpoint_reason(ended=iteration == args.num_iterations):
            run.checkpoint({"learner": learner.state(), "iteration": iteration}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(q_network)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    q_network = QNetwork(file.observation_space, file.action_space)
    q_network.load_state_dict(file.weights())
    return EpsilonGreedy(of_vectors(quick(q_network.network)), args.end_e)


if __name__ == "__main__":
    raise SystemExit(main("pqn"))
