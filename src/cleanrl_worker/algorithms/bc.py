"""Behaviour cloning: imitates a data set that was recorded before, on vector observations (docs/algorithms/bc.md)."""

import math
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
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.minari_data import MinariData
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import LikelyActions, SquashedActions, of_pictures, of_vectors
from cleanrl_worker.sdk.replay import Transitions, rows_of
from mosaic import config
from mosaic.errors import IncompatibleSpaces
from mosaic.search_range import Search
from mosaic.spec.user_files import DataSet

ACTIONS = ("discrete", "continuous")
UPSTREAM = None  # CleanRL has no offline algorithms.
OFFLINE = True
"""It learns from a data set, which `--dataset` names."""
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
BLOCK = 100
"""Gradient steps between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """Behaviour cloning: offline, from a Minari data set, for vector observations."""

    env_id: str = "Pendulum-v1"
    """Gymnasium id of the environment that the data set was recorded in; the policy is only watched there."""
    dataset: Annotated[str, DataSet()] = ""
    """Minari data set: its name, or the path of its folder."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one."""
    cuda_graph: bool = True
    """Record acting and the gradient steps as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 20_000
    """Gradient steps; with each, the policy makes a step in the environment, of which nothing is learnt."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments in which the policy is watched."""
    batch_size: Annotated[int, Ge(1), Search(64, 1024, "power_of_two")] = 256
    """Transitions sampled for one gradient step."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-3
    """Step size of Adam."""
    best_episodes: Annotated[float, Gt(0), Le(1), Search(0.1, 1.0)] = 1.0
    """Part of the episodes that is imitated: those with the highest returns."""


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, outputs))


class Actor(nn.Module):
    """A Gaussian around a mean within the bounds of the actions, or a probability for each choice."""

    scale: torch.Tensor
    bias: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        self.discrete = isinstance(action_space, gym.spaces.Discrete)
        self.inputs = int(np.prod(observation_space.shape or ()))
        if isinstance(action_space, gym.spaces.Discrete):
            self.outputs = int(action_space.n)
        else:
            assert isinstance(action_space, gym.spaces.Box)
            if not action_space.is_bounded():
                raise IncompatibleSpaces(
                    f"Cloning needs actions with finite bounds, not {action_space}; wrap the environment"
                )
            self.outputs = int(np.prod(action_space.shape))
            low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
            self.register_buffer("scale", (high - low) / 2.0)
            self.register_buffer("bias", (high + low) / 2.0)
            self.log_std = nn.Parameter(torch.zeros(self.outputs))
        self.network = mlp(self.inputs, self.outputs)

    def logprob(self, obs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Log-probability, or log-density between -1 and 1, of actions that were taken."""
        if self.discrete:
            return F.log_softmax(self.network(obs), 1).gather(1, actions.long()[:, None]).squeeze(1)
        log_std = self.log_std.clamp(LOG_STD_MIN, LOG_STD_MAX)
        errors = ((actions - self.bias) / self.scale - torch.tanh(self.network(obs))) / log_std.exp()
        return (-0.5 * errors**2 - log_std - 0.5 * math.log(2 * math.pi)).sum(1)

    def draw(self, obs: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Continuous actions around the mean, with standard normal `noise`, within their bounds."""
        std = self.log_std.clamp(LOG_STD_MIN, LOG_STD_MAX).exp()
        return (torch.tanh(self.network(obs)) + std * noise).clamp(-1, 1) * self.scale + self.bias


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float


def cloning_loss(actor: Actor, batch: Tensors) -> torch.Tensor:
    """How unlikely the policy finds what was done."""
    return -actor.logprob(batch["obs"], batch["actions"]).mean()


class Learner:
    """Acts and learns by the losses."""

    def __init__(self, actor: Actor, args: Args, device: torch.device) -> None:
        self.actor = actor
        self.optimizer = adam(actor, learning_rate=args.learning_rate)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.improve = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        """What is watched: the likeliest actions."""
        obs, actor = inputs["obs"].float(), self.actor
        if actor.discrete:
            return {"actions": actor.network(obs).argmax(1)}
        return {"actions": actor.draw(obs, torch.zeros(len(obs), actor.outputs, device=obs.device))}

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss = cloning_loss(self.actor, {**batch, "obs": batch["obs"].flatten(1).float()})
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach()}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        return self.improve(self.inputs.put({name: rows_of(getattr(batch, name)) for name in ("obs", "actions")}))

    def state(self) -> dict[str, Any]:
        return {"actor": self.actor.state_dict(), "optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.actor.load_state_dict(state["actor"])
        load_optimizer(self.optimizer, state["optimizer"])


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    spaces = envs.single_observation_space, envs.single_action_space
    data = MinariData(args.dataset, *spaces, best=args.best_episodes)
    actor = Actor(*spaces).to(run.device)
    learner = Learner(actor, args, run.device)
    action_shape = (args.num_envs, *(spaces[1].shape or ()))

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        data.check(saved["data"])
        learner.load(saved["learner"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            obs = envs.step(learner.act(obs.reshape(args.num_envs, -1)).reshape(action_shape))[0]

            # A gradient step for each step of an environment, so that one clock tells both.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                batch = data.replay.sample(run.generator, args.batch_size)
                losses = learner.update(batch, Coefficients(args.learning_rate))
                run.histograms(actor)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "data": data.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(actor)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    if isinstance(file.action_space, gym.spaces.Box):
        return SquashedActions(actor.draw, file.action_space)
    return LikelyActions(of_vectors(of_pictures(lambda obs: actor.network(obs.float()))))


if __name__ == "__main__":
    raise SystemExit(main("bc"))
