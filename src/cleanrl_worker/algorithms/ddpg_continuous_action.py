"""DDPG with a deterministic policy on vector observations (docs/algorithms/ddpg_continuous_action.md)."""

import copy
from dataclasses import dataclass
from typing import Annotated, Any, Protocol, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.fast import FlatParameters, Floats
from cleanrl_worker.sdk.fast.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.relu_network import ReluNetwork
from cleanrl_worker.sdk.fast.tanh_actor import TanhActor
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic import config
from mosaic.errors import IncompatibleSpaces

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
    learning_rate: Annotated[float, Gt(0)] = 3e-4
    """Step size of Adam, of the actor and of the critic."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Transitions that the replay memory holds; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1)] = 0.005
    """How far the target networks move at each update of the policy; 1 copies."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Transitions sampled for one gradient step."""
    exploration_noise: Annotated[float, Ge(0)] = 0.1
    """Noise on the actions taken, in units of half the action range."""
    learning_starts: Annotated[int, Ge(0)] = 25_000
    """Environment steps with random actions before the first gradient step."""
    policy_frequency: Annotated[int, Ge(1)] = 2
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
        self.fc1 = nn.Linear(int(np.prod(observation_space.shape or ())), 256)
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


@torch.no_grad()
def td_target(agent: Agent, batch: Tensors, gamma: float) -> torch.Tensor:
    """What the critic should have said: the reward and, where the episode was not terminated, the value after."""
    next_value = agent.target_qf1(batch["next_obs"], agent.target_actor(batch["next_obs"]))
    return batch["rewards"] + (1 - batch["dones"]) * gamma * next_value


def critic_loss(qf1: QNetwork, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The definition: the critic's loss, and what is logged of it."""
    qf1_values = qf1(batch["obs"], batch["actions"])
    qf1_loss = F.mse_loss(qf1_values, target)
    return qf1_loss, {"qf1_values": qf1_values.detach().mean(), "qf1_loss": qf1_loss.detach()}


def actor_loss(agent: Agent, obs: torch.Tensor) -> torch.Tensor:
    """The definition: the policy should do what the critic likes."""
    return -agent.qf1(obs, agent.actor(obs)).mean()


class Learner(Protocol):
    """Acting and updating, on either path."""

    losses: dict[str, SupportsFloat]
    """The latest of each, as logged."""

    def act(self, obs: Array) -> Array: ...

    def update_critic(self, batch: Transitions) -> None: ...

    def update_policy(self, batch: Transitions) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


class FastLearner:
    """The fast path on a CPU: the same maths by hand, on the memory of the torch parameters."""

    def __init__(self, agent: Agent, args: Args) -> None:
        self.args = args
        self.scale, self.bias = agent.actor.action_scale.numpy(), agent.actor.action_bias.numpy()
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", "qf1")}
        self.actor, self.target_actor = fast_actor(agent.actor), fast_actor(agent.target_actor)
        self.qf1 = fast_critic(agent.qf1)
        # The target has spoken before the critic does: in the same buffers, which are then still in the cache.
        self.target_qf1 = fast_critic(agent.target_qf1, shares=self.qf1)
        self.losses: dict[str, SupportsFloat] = {}

    def noise(self, rows: int) -> Floats:
        return torch.randn(rows, len(self.scale)).numpy()

    def within_bounds(self, actions: Floats) -> Floats:
        return actions.clip(self.bias - self.scale, self.bias + self.scale, actions)

    def act(self, obs: Array) -> Array:
        actions = self.actor.forward(obs)
        actions += self.noise(len(obs)) * (self.args.exploration_noise * self.scale)
        return self.within_bounds(actions)

    def td_target(self, batch: Transitions) -> Floats:
        next_obs = rows_of(batch.next_obs)
        (next_values,) = self.target_qf1.forward(next_obs, self.target_actor.forward(next_obs))
        target = next_values[:, 0] * (1 - batch.dones)
        target *= self.args.gamma
        target += batch.rewards
        return target

    def critic_gradient(self, batch: Transitions, target: Floats) -> None:
        values = self.qf1.forward(rows_of(batch.obs), rows_of(batch.actions))[0][:, 0]
        error, rows = values - target, len(values)
        self.losses |= {"qf1_values": np.add.reduce(values) / rows, "qf1_loss": float(error.dot(error)) / rows}
        error *= 2 / rows
        self.qf1.backward(error[:, None])

    def actor_gradient(self, obs: Array) -> None:
        (values,) = self.qf1.forward(obs, self.actor.forward(obs))
        grad_values = np.full((len(obs), 1), -1 / len(obs), np.float32)
        self.actor.backward(self.qf1.input_gradient(grad_values, columns=slice(obs.shape[1], None)))
        self.losses["actor_loss"] = -np.add.reduce(values[:, 0]) / len(obs)

    def update_critic(self, batch: Transitions) -> None:
        self.critic_gradient(batch, self.td_target(batch))
        self.adams["qf1"].step(self.args.learning_rate)

    def update_policy(self, batch: Transitions) -> None:
        self.actor_gradient(rows_of(batch.obs))
        self.adams["actor"].step(self.args.learning_rate)
        for name in ("actor", "qf1"):
            target, values = (torch.from_numpy(self.parameters[key].values) for key in (f"target_{name}", name))
            target.lerp_(values, self.args.tau)

    def state(self) -> dict[str, Any]:
        return {
            "parameters": {name: flat.values for name, flat in self.parameters.items()},
            "adams": {name: adam.state() for name, adam in self.adams.items()},
            "losses": {name: float(value) for name, value in self.losses.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        for name, flat in self.parameters.items():
            flat.values[:] = state["parameters"][name]
        for name, own in self.adams.items():
            own.load(state["adams"][name])
        self.losses = state["losses"]


class TorchLearner:
    """The path on a GPU: autograd of the definitions."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizers = {
            "actor": adam(agent.actor, learning_rate=args.learning_rate),
            "qf1": adam(agent.qf1, learning_rate=args.learning_rate),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve_critic = Replayed(self.critic_step, device, enabled=args.cuda_graph)
        self.improve_policy = Replayed(self.policy_step, device, enabled=args.cuda_graph)
        self.losses: dict[str, SupportsFloat] = {}

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
        noise = self.noise(len(obs)) * (self.args.exploration_noise * actor.action_scale)
        return {"actions": actor.within_bounds(actor(obs) + noise)}

    def critic_step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        batch = {name: tensor.float() for name, tensor in batch.items()}
        target = td_target(self.agent, batch, self.args.gamma)
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
                    target.lerp_(value, self.args.tau)
        return {"actor_loss": loss.detach()}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update_critic(self, batch: Transitions) -> None:
        self.losses |= self.improve_critic(self.inputs.put(by_rows(batch)))

    def update_policy(self, batch: Transitions) -> None:
        self.losses |= self.improve_policy(self.inputs.put({"obs": rows_of(batch.obs)}))

    def state(self) -> dict[str, Any]:
        return {
            "agent": self.agent.state_dict(),
            "optimizers": {name: optimizer_state(optimizer) for name, optimizer in self.optimizers.items()},
            "losses": {name: float(value) for name, value in self.losses.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        for name, optimizer in self.optimizers.items():
            load_optimizer(optimizer, state["optimizers"][name])
        self.losses = state["losses"]


def rows_of(array: Array) -> Array:
    """One row each, whatever the shape of an observation or action; scalars stay as they are."""
    return array.reshape(len(array), -1) if array.ndim > 2 else array


def by_rows(batch: Transitions) -> dict[str, Array]:
    return {name: rows_of(array) for name, array in batch._asdict().items()}


def fast_actor(actor: Actor) -> TanhActor:
    """An actor whose parameters are flat."""
    scale, centre = actor.action_scale.numpy(), actor.action_bias.numpy()
    return TanhActor([actor.fc1, actor.fc2], actor.fc_mu, scale=scale, centre=centre)


def fast_critic(critic: QNetwork, *, shares: ReluNetwork | None = None) -> ReluNetwork:
    return ReluNetwork([critic.fc1, critic.fc2], [critic.fc3], shares=shares)


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert isinstance(action_space, gym.spaces.Box)
    agent = Agent(observation_space, action_space).to(run.device)
    learner: Learner = FastLearner(agent, args) if run.device.type == "cpu" else TorchLearner(agent, args, run.device)
    replay = ReplayBuffer(args.buffer_size, args.num_envs, observation_space, action_space)
    action_shape = (args.num_envs, *action_space.shape)

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        replay.load(saved["replay"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            if run.global_step < args.learning_starts:
                actions = run.generator.uniform(action_space.low, action_space.high, action_shape).astype(np.float32)
            else:
                actions = learner.act(obs.reshape(args.num_envs, -1)).reshape(action_shape)
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                batch = replay.sample(run.generator, args.batch_size)
                learner.update_critic(batch)
                if global_step % args.policy_frequency == 0:
                    learner.update_policy(batch)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in learner.losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        # Read once: a signal between the two questions would end the run without its checkpoint.
        stopping, ended = run.stopping, args.total_timesteps - run.global_step < args.num_envs
        if run.checkpoint_due or stopping or ended:
            state = {"learner": learner.state(), "replay": replay.state()}
            run.checkpoint(state, reason="stop" if stopping else "end" if ended else "interval")
        if stopping:
            break
    run.save_policy(agent.actor)


class DeterministicPolicy:
    """Acts with a trained actor; asked to explore, with the noise of the training."""

    def __init__(self, actor: Actor, action_space: gym.spaces.Box, exploration_noise: float) -> None:
        self.parameters = FlatParameters(actor)
        self.actor = fast_actor(actor)
        self.action_space = action_space
        self.std = exploration_noise * actor.action_scale.numpy()

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        actions = self.actor.forward(observations.reshape(len(observations), -1))
        if not deterministic:
            actions += self.std * generator.standard_normal(actions.shape, dtype=np.float32)
        space = self.action_space
        return actions.reshape(-1, *space.shape).clip(space.low, space.high)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    assert isinstance(file.action_space, gym.spaces.Box)
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    return DeterministicPolicy(actor, file.action_space, args.exploration_noise)


if __name__ == "__main__":
    raise SystemExit(main("ddpg_continuous_action"))
