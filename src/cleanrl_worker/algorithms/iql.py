"""IQL: learns from a data set that was recorded before, on vector observations (docs/algorithms/iql.md)."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from annotated_types import Ge, Gt, Le, Lt
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_value
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.minari_data import MinariData
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import LikelyActions, SquashedActions, of_pictures, of_vectors
from cleanrl_worker.sdk.replay import Transitions, by_rows
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
    """IQL: offline, from a Minari data set, for vector observations."""

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
    total_timesteps: Annotated[int, Ge(1)] = 100_000
    """Gradient steps; with each, the policy makes a step in the environment, of which nothing is learnt."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments in which the policy is watched."""
    batch_size: Annotated[int, Ge(1), Search(64, 1024, "power_of_two")] = 256
    """Transitions sampled for one gradient step."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1), Search(1e-3, 0.1, "log")] = 0.005
    """How far the target networks move towards the critics at each gradient step."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of every Adam; the actor's falls to 0 along a cosine."""
    expectile: Annotated[float, Gt(0), Lt(1), Search(0.5, 0.95)] = 0.7
    """Which of the values seen counts as what a state is worth: 0.5 is their mean, near 1 the best of them."""
    temperature: Annotated[float, Ge(0), Search(0.1, 10.0, "log")] = 3.0
    """How much more an action counts that was better than the state's value; 0 imitates all alike."""
    reward_scale: Annotated[float, Gt(0)] = 1.0
    """Rewards are multiplied by it; advantages should lie around -1 to 1."""


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
                    f"IQL needs actions with finite bounds, not {action_space}; wrap the environment"
                )
            self.outputs = int(np.prod(action_space.shape))
            low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
            self.register_buffer("scale", (high - low) / 2.0)
            self.register_buffer("bias", (high + low) / 2.0)
            self.log_std = nn.Parameter(torch.zeros(self.outputs))
        self.network = mlp(self.inputs, self.outputs)

    def as_inputs(self, actions: torch.Tensor) -> torch.Tensor:
        """Actions as the critics take them: a choice as a one-hot vector, others between -1 and 1."""
        if self.discrete:
            return F.one_hot(actions.long(), self.outputs).float()
        return (actions - self.bias) / self.scale

    def logprob(self, obs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        """Log-probability, or log-density between -1 and 1, of actions that were taken."""
        if self.discrete:
            return F.log_softmax(self.network(obs), 1).gather(1, actions.long()[:, None]).squeeze(1)
        log_std = self.log_std.clamp(LOG_STD_MIN, LOG_STD_MAX)
        errors = (self.as_inputs(actions) - torch.tanh(self.network(obs))) / log_std.exp()
        return (-0.5 * errors**2 - log_std - 0.5 * math.log(2 * math.pi)).sum(1)

    def draw(self, obs: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        """Continuous actions around the mean, with standard normal `noise`, within their bounds."""
        std = self.log_std.clamp(LOG_STD_MIN, LOG_STD_MAX).exp()
        return (torch.tanh(self.network(obs)) + std * noise).clamp(-1, 1) * self.scale + self.bias


class Critics(nn.Module):
    """What an action is worth in a state, twice; the lower of the two opinions counts."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.qf1 = mlp(inputs, 1)
        self.qf2 = mlp(inputs, 1)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([obs, actions], 1)
        return self.qf1(x).squeeze(1), self.qf2(x).squeeze(1)


class Agent(nn.Module):
    """All that is learned. The targets follow the critics slowly."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        self.actor = Actor(observation_space, action_space)
        self.critics = Critics(self.actor.inputs + self.actor.outputs)
        self.value = mlp(self.actor.inputs, 1)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    actor_lr: float
    gamma: float
    tau: float
    expectile: float
    temperature: float
    reward_scale: float


@torch.no_grad()
def seen_values(agent: Agent, batch: Tensors) -> torch.Tensor:
    """What the target networks think of the actions that were taken."""
    return torch.min(*agent.targets(batch["obs"], agent.actor.as_inputs(batch["actions"])))


def value_loss(agent: Agent, batch: Tensors, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The expectile of what was seen: errors upwards weigh more; with it, the mean value."""
    values = agent.value(batch["obs"]).squeeze(1)
    errors = seen - values
    weights = torch.where(errors > 0, batch["expectile"], 1 - batch["expectile"])
    return (weights * errors**2).mean(), values.mean().detach()


def actor_loss(agent: Agent, batch: Tensors, seen: torch.Tensor) -> torch.Tensor:
    """Imitate what was done, the more the better it was; no action is asked for that the data do not have."""
    with torch.no_grad():
        advantages = seen - agent.value(batch["obs"]).squeeze(1)
        weights = (batch["temperature"] * advantages).exp().clamp(max=100.0)
    return -(weights * agent.actor.logprob(batch["obs"], batch["actions"])).mean()


def critic_loss(agent: Agent, batch: Tensors) -> tuple[torch.Tensor, Tensors]:
    """The critics' loss against the reward and the value of what followed, and what is logged of it."""
    with torch.no_grad():
        following = agent.value(batch["next_obs"]).squeeze(1)
        target = batch["reward_scale"] * batch["rewards"] + (1 - batch["dones"]) * batch["gamma"] * following
    qf1_values, qf2_values = agent.critics(batch["obs"], agent.actor.as_inputs(batch["actions"]))
    qf1_loss, qf2_loss = F.mse_loss(qf1_values, target), F.mse_loss(qf2_values, target)
    logged = {"qf1_values": qf1_values.mean(), "qf2_values": qf2_values.mean(), "qf_loss": (qf1_loss + qf2_loss) / 2.0}
    return qf1_loss + qf2_loss, {name: value.detach() for name, value in logged.items()}


class Learner:
    """Acts and learns by the losses."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.optimizers = {
            name: adam(agent.get_submodule(name), learning_rate=args.learning_rate)
            for name in ("value", "actor", "critics")
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.improve = Replayed(self.step, device, enabled=args.cuda_graph)

    def descend(self, name: str, loss: torch.Tensor) -> None:
        """One step of the optimiser `name`; the gradients of other networks are not computed."""
        self.optimizers[name].zero_grad()
        loss.backward(inputs=list(self.agent.get_submodule(name).parameters()))
        self.optimizers[name].step()

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        """What is watched: the likeliest actions."""
        obs, actor = inputs["obs"].float(), self.agent.actor
        if actor.discrete:
            return {"actions": actor.network(obs).argmax(1)}
        return {"actions": actor.draw(obs, torch.zeros(len(obs), actor.outputs, device=obs.device))}

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        batch = {**batch, **{name: batch[name].flatten(1).float() for name in ("obs", "next_obs")}}
        seen = seen_values(self.agent, batch)
        v_loss, values = value_loss(self.agent, batch, seen)
        self.descend("value", v_loss)
        policy_loss = actor_loss(self.agent, batch, seen)
        self.descend("actor", policy_loss)
        qf_loss, logged = critic_loss(self.agent, batch)
        self.descend("critics", qf_loss)
        with torch.no_grad():
            for old, new in zip(self.agent.targets.parameters(), self.agent.critics.parameters(), strict=True):
                old.lerp_(new, batch["tau"])
        result = {"value_loss": v_loss.detach(), "values": values, "actor_loss": policy_loss.detach()}
        return {**result, **logged}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of all; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["actor"], coefficients.actor_lr)
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        return self.improve(self.inputs.put(by_rows(batch) | numbers))

    def state(self) -> dict[str, Any]:
        return {
            "agent": self.agent.state_dict(),
            "optimizers": {name: optimizer_state(optimizer) for name, optimizer in self.optimizers.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        for name, optimizer in self.optimizers.items():
            load_optimizer(optimizer, state["optimizers"][name])


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    spaces = envs.single_observation_space, envs.single_action_space
    data = MinariData(args.dataset, *spaces)
    agent = Agent(*spaces).to(run.device)
    learner = Learner(agent, args, run.device)
    action_shape = (args.num_envs, *(spaces[1].shape or ()))
    run.explain_with(lambda seen: of_value(agent.value(seen.flatten(1))))

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
                falling = 0.5 * (1 + math.cos(math.pi * (global_step - 1) / args.total_timesteps))
                coefficients = Coefficients(
                    actor_lr=args.learning_rate * falling,
                    gamma=args.gamma,
                    tau=args.tau,
                    expectile=args.expectile,
                    temperature=args.temperature,
                    reward_scale=args.reward_scale,
                )
                losses = learner.update(data.replay.sample(run.generator, args.batch_size), coefficients)
                run.histograms(agent)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "data": data.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    if isinstance(file.action_space, gym.spaces.Box):
        return SquashedActions(actor.draw, file.action_space)
    return LikelyActions(of_vectors(of_pictures(lambda obs: actor.network(obs.float()))))


if __name__ == "__main__":
    raise SystemExit(main("iql"))
