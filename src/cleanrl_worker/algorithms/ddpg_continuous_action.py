"""DDPG with a deterministic policy on vector observations (docs/algorithms/ddpg_continuous_action.md)."""

import copy
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
from cleanrl_worker.sdk.explained import of_value
from cleanrl_worker.sdk.fast.ddpg_continuous_action import FastLearner
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.networks.tanh_actor import actions_by_hand
from cleanrl_worker.sdk.fast.quick import by_hand_if_same
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import NoisyActions, of_vectors
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions, by_rows, rows_of
from mosaic import config
from mosaic.errors import IncompatibleSpaces
from mosaic.search_range import Search

ACTIONS = "continuous"
UPSTREAM = ("actor", "qf1")
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """DDPG: off-policy, for continuous actions and vector observations."""

    env_id: str = "Hopper-v5"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one."""
    cuda_graph: bool = True
    """Record acting and the gradient steps as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 1_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of Adam, of the actor and of the critic."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Transitions that the replay memory holds; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1), Search(1e-3, 0.1, "log")] = 0.005
    """How far the target networks move at each update of the policy; 1 copies."""
    batch_size: Annotated[int, Ge(1), Search(64, 1024, "power_of_two")] = 256
    """Transitions sampled for one gradient step."""
    exploration_noise: Annotated[float, Ge(0), Search(0.02, 0.5, "log")] = 0.1
    """Noise on the actions taken, in units of half the action range."""
    learning_starts: Annotated[int, Ge(0), Search(1_000, 25_000, "log")] = 25_000
    """Environment steps with random actions before the first gradient step."""
    policy_frequency: Annotated[int, Ge(1), Search(1, 4)] = 2
    """Gradient steps of the critic for each one of the policy and each update of the targets."""


class QNetwork(nn.Module):
    """Two hidden layers: what an action is worth in a state."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(inputs, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc3 = nn.Linear(256, 1)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.fc1(torch.cat([obs, actions], 1)))
        return self.fc3(F.relu(self.fc2(x))).view(-1)


class Actor(nn.Module):
    """Two hidden layers: one action for each state, bent by tanh into the bounds of the actions."""

    action_scale: torch.Tensor
    action_bias: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Box)
        if not action_space.is_bounded():
            raise IncompatibleSpaces(f"DDPG needs actions with finite bounds, not {action_space}; wrap the environment")
        self.inputs = int(np.prod(observation_space.shape or ()))
        self.fc1 = nn.Linear(self.inputs, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc_mu = nn.Linear(256, int(np.prod(action_space.shape)))
        low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
        self.register_buffer("action_scale", (high - low) / 2.0)
        self.register_buffer("action_bias", (high + low) / 2.0)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.fc2(F.relu(self.fc1(obs))))
        return torch.tanh(self.fc_mu(x)) * self.action_scale + self.action_bias

    def within_bounds(self, actions: torch.Tensor) -> torch.Tensor:
        return actions.clamp(self.action_bias - self.action_scale, self.action_bias + self.action_scale)


class Agent(nn.Module):
    """All that is learned. The targets follow slowly."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        self.actor = Actor(observation_space, action_space)
        self.qf1 = QNetwork(self.actor.fc1.in_features + self.actor.fc_mu.out_features)
        self.target_actor = copy.deepcopy(self.actor).requires_grad_(False)
        self.target_qf1 = copy.deepcopy(self.qf1).requires_grad_(False)


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    gamma: float
    tau: float


@torch.no_grad()
def td_target(agent: Agent, batch: Tensors) -> torch.Tensor:
    """What the critic should have said: the reward and, where the episode was not terminated, the value after."""
    next_value = agent.target_qf1(batch["next_obs"], agent.target_actor(batch["next_obs"]))
    return batch["rewards"] + (1 - batch["dones"]) * batch["gamma"] * next_value


def critic_loss(qf1: QNetwork, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The critic's loss, and what is logged of it."""
    qf1_values = qf1(batch["obs"], batch["actions"])
    qf1_loss = F.mse_loss(qf1_values, target)
    return qf1_loss, {"qf1_values": qf1_values.detach().mean(), "qf1_loss": qf1_loss.detach()}


def actor_loss(agent: Agent, obs: torch.Tensor) -> torch.Tensor:
    """The policy should do what the critic likes."""
    return -agent.qf1(obs, agent.actor(obs)).mean()


class Learner:
    """Acts and learns by the losses. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.device = device
        self.optimizers = {
            "actor": adam(agent.actor, learning_rate=args.learning_rate),
            "qf1": adam(agent.qf1, learning_rate=args.learning_rate),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve_critic = Replayed(self.critic_step, device, enabled=args.cuda_graph)
        self.improve_policy = Replayed(self.policy_step, device, enabled=args.cuda_graph)

    def noise(self, rows: int) -> torch.Tensor:
        return torch.randn(rows, self.agent.actor.fc_mu.out_features, device=self.device)

    def descend(self, name: str, loss: torch.Tensor) -> None:
        """One step of the optimiser `name`; the gradients of other networks are not computed."""
        self.optimizers[name].zero_grad()
        loss.backward(inputs=list(self.agent.get_submodule(name).parameters()))
        self.optimizers[name].step()

    @torch.no_grad()
    def sampled(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        actor, obs = self.agent.actor, inputs["obs"].float()
        noise = self.noise(len(obs)) * (inputs["exploration_noise"] * actor.action_scale)
        return {"actions": actor.within_bounds(actor(obs) + noise)}

    def critic_step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        batch = {name: tensor.float() for name, tensor in batch.items()}
        target = td_target(self.agent, batch)
        loss, logged = critic_loss(self.agent.qf1, batch, target)
        self.descend("qf1", loss)
        return dict(logged)

    def policy_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        loss = actor_loss(self.agent, inputs["obs"].float())
        self.descend("actor", loss)
        with torch.no_grad():
            for name in ("actor", "qf1"):
                pair = self.agent.get_submodule(f"target_{name}"), self.agent.get_submodule(name)
                for target, value in zip(*(module.parameters() for module in pair), strict=True):
                    target.lerp_(value, inputs["tau"])
        return {"actor_loss": loss.detach()}

    def act(self, obs: Array, exploration_noise: float) -> Array:
        inputs = {"obs": obs, "exploration_noise": np.float32(exploration_noise)}
        return self.choose(self.inputs.put(inputs))["actions"].cpu().numpy()

    def update_critic(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["qf1"], coefficients.learning_rate)
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        return self.improve_critic(self.inputs.put(by_rows(batch) | numbers))

    def update_policy(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of the policy; then the targets follow."""
        set_learning_rate(self.optimizers["actor"], coefficients.learning_rate)
        return self.improve_policy(self.inputs.put({"obs": rows_of(batch.obs), "tau": np.float32(coefficients.tau)}))

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
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert isinstance(action_space, gym.spaces.Box)
    agent = Agent(observation_space, action_space).to(run.device)
    learner = guarded(run, Learner(agent, args, run.device), lambda: FastLearner(agent))
    losses: dict[str, SupportsFloat] = {}
    replay = ReplayBuffer(args.buffer_size, args.num_envs, observation_space, action_space)
    action_shape = (args.num_envs, *action_space.shape)
    run.explain_with(lambda seen: of_value(agent.qf1(seen.flatten(1), agent.actor(seen.flatten(1)))))

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        losses |= saved["learner"]["losses"]
        replay.load(saved["replay"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            if run.global_step < args.learning_starts:
                actions = run.generator.uniform(action_space.low, action_space.high, action_shape).astype(np.float32)
            else:
                actions = learner.act(obs.reshape(args.num_envs, -1), args.exploration_noise).reshape(action_shape)
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                batch = replay.sample(run.generator, args.batch_size)
                coefficients = Coefficients(args.learning_rate, args.gamma, args.tau)
                losses |= learner.update_critic(batch, coefficients)
                if global_step % args.policy_frequency == 0:
                    losses |= learner.update_policy(batch, coefficients)
                    run.histograms(agent)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            logged = {name: float(value) for name, value in losses.items()}
            run.checkpoint({"learner": {**learner.state(), "losses": logged}, "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    assert isinstance(file.action_space, gym.spaces.Box)
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    actions = of_vectors(by_hand_if_same(actor, lambda: actions_by_hand(actor), actor.inputs))
    return NoisyActions(actions, args.exploration_noise * actor.action_scale.numpy(), file.action_space)


if __name__ == "__main__":
    raise SystemExit(main("ddpg_continuous_action"))
