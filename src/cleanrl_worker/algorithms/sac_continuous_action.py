"""SAC with a squashed Gaussian policy on vector observations (docs/algorithms/sac_continuous_action.md)."""

import copy
import math
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
from cleanrl_worker.sdk.fast.sac_gradient import SquashedGaussian
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic import config
from mosaic.errors import IncompatibleSpaces

ACTIONS = "continuous"
LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """SAC: off-policy, for continuous actions and vector observations."""

    env_id: str = "HalfCheetah-v5"
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
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Transitions that the replay memory holds; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1)] = 0.005
    """How far the target networks move towards the critics at each update of them; 1 copies."""
    batch_size: Annotated[int, Ge(1)] = 256
    """Transitions sampled for one gradient step."""
    learning_starts: Annotated[int, Ge(0)] = 5_000
    """Environment steps with random actions before the first gradient step."""
    policy_lr: Annotated[float, Gt(0)] = 3e-4
    """Step size of the actor's Adam."""
    q_lr: Annotated[float, Gt(0)] = 1e-3
    """Step size of the critics' Adam, and of alpha's."""
    policy_frequency: Annotated[int, Ge(1)] = 2
    """Gradient steps of the critics between two updates of the policy, which then takes as many steps at once."""
    target_network_frequency: Annotated[int, Ge(1)] = 1
    """Gradient steps of the critics between two updates of the target networks."""
    alpha: Annotated[float, Ge(0)] = 0.2
    """Weight of the entropy; used only without autotune."""
    autotune: bool = True
    """Learn alpha, so that the policy's entropy stays near minus the number of action dimensions."""


class SoftQNetwork(nn.Module):
    """Two hidden layers: what an action is worth in a state."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(inputs, 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc3 = nn.Linear(256, 1)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.fc1(torch.cat([obs, actions], 1)))
        return self.fc3(F.relu(self.fc2(x))).view(-1)


class Critics(nn.Module):
    """Two critics; the lower of their opinions counts."""

    def __init__(self, inputs: int) -> None:
        super().__init__()
        self.qf1 = SoftQNetwork(inputs)
        self.qf2 = SoftQNetwork(inputs)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.qf1(obs, actions), self.qf2(obs, actions)


class Actor(nn.Module):
    """Two hidden layers: mean and spread of a Gaussian, which tanh then bends into the bounds of the actions."""

    action_scale: torch.Tensor
    action_bias: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Box)
        if not action_space.is_bounded():
            raise IncompatibleSpaces(f"SAC needs actions with finite bounds, not {action_space}; wrap the environment")
        outputs = int(np.prod(action_space.shape))
        self.fc1 = nn.Linear(int(np.prod(observation_space.shape or ())), 256)
        self.fc2 = nn.Linear(256, 256)
        self.fc_mean = nn.Linear(256, outputs)
        self.fc_logstd = nn.Linear(256, outputs)
        low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
        self.register_buffer("action_scale", (high - low) / 2.0)
        self.register_buffer("action_bias", (high + low) / 2.0)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and logarithm of the standard deviation, before tanh."""
        x = F.relu(self.fc2(F.relu(self.fc1(obs))))
        log_std = torch.tanh(self.fc_logstd(x))
        return self.fc_mean(x), LOG_STD_MIN + 0.5 * (LOG_STD_MAX - LOG_STD_MIN) * (log_std + 1)

    def get_action(self, obs: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions drawn with standard normal `noise`, and their log-probabilities."""
        mean, log_std = self(obs)
        y = torch.tanh(mean + log_std.exp() * noise)
        logprob = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
        logprob = logprob - torch.log(self.action_scale * (1 - y**2) + 1e-6)
        return y * self.action_scale + self.action_bias, logprob.sum(1)


class Agent(nn.Module):
    """All that is learned. The targets follow the critics slowly."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        self.actor = Actor(observation_space, action_space)
        self.critics = Critics(self.actor.fc1.in_features + self.actor.fc_mean.out_features)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.temperature = nn.ParameterDict({"log_alpha": torch.zeros(1)})
        self.target_entropy = -float(self.actor.fc_mean.out_features)


@torch.no_grad()
def td_target(
    agent: Agent, batch: Tensors, noise: torch.Tensor, *, alpha: torch.Tensor | float, gamma: float
) -> torch.Tensor:
    """What the critics should have said: the reward and, where the episode was not terminated, the soft value after."""
    next_actions, next_logprob = agent.actor.get_action(batch["next_obs"], noise)
    min_qf_next = torch.min(*agent.targets(batch["next_obs"], next_actions)) - alpha * next_logprob
    return batch["rewards"] + (1 - batch["dones"]) * gamma * min_qf_next


def critic_loss(critics: Critics, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The definition: the critics' loss, and what is logged of it."""
    qf1_values, qf2_values = critics(batch["obs"], batch["actions"])
    qf1_loss, qf2_loss = F.mse_loss(qf1_values, target), F.mse_loss(qf2_values, target)
    qf_loss = qf1_loss + qf2_loss
    logged = {
        "qf1_values": qf1_values.mean(),
        "qf2_values": qf2_values.mean(),
        "qf1_loss": qf1_loss,
        "qf2_loss": qf2_loss,
        "qf_loss": qf_loss / 2.0,
    }
    return qf_loss, {name: value.detach() for name, value in logged.items()}


def actor_loss(agent: Agent, obs: torch.Tensor, noise: torch.Tensor, alpha: torch.Tensor | float) -> torch.Tensor:
    """The definition: the policy should do what the critics like, and stay random."""
    actions, logprob = agent.actor.get_action(obs, noise)
    return (alpha * logprob - torch.min(*agent.critics(obs, actions))).mean()


def alpha_loss(agent: Agent, obs: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """The definition: more alpha while the policy is less random than it should be."""
    with torch.no_grad():
        _, logprob = agent.actor.get_action(obs, noise)
    return (-agent.temperature["log_alpha"].exp() * (logprob + agent.target_entropy)).mean()


class Learner(Protocol):
    """Acting and updating, on either path."""

    losses: dict[str, SupportsFloat]
    """The latest of each, as logged."""

    def act(self, obs: Array) -> Array: ...

    def update_critics(self, batch: Transitions) -> None: ...

    def update_policy(self, batch: Transitions) -> None: ...

    def update_targets(self) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


class FastLearner:
    """The fast path on a CPU: the same maths by hand, on the memory of the torch parameters."""

    def __init__(self, agent: Agent, args: Args) -> None:
        self.args = args
        self.target_entropy = agent.target_entropy
        self.parameters = {name: FlatParameters(module) for name, module in agent.named_children()}
        self.adams = {name: FusedAdam(self.parameters[name]) for name in ("actor", "critics", "temperature")}
        self.actor, self.policy = fast_actor(agent.actor)
        self.qf1, self.qf2 = fast_critic(agent.critics.qf1), fast_critic(agent.critics.qf2)
        # A target has spoken before its critic does: in the same buffers, which are then still in the cache.
        self.qf1_target = fast_critic(agent.targets.qf1, shares=self.qf1)
        self.qf2_target = fast_critic(agent.targets.qf2, shares=self.qf2)
        self.log_alpha = self.parameters["temperature"].values
        self.losses: dict[str, SupportsFloat] = {}

    @property
    def alpha(self) -> float:
        return math.exp(self.log_alpha[0]) if self.args.autotune else self.args.alpha

    def noise(self, rows: int) -> Floats:
        return torch.randn(rows, self.policy.dimensions).numpy()

    def act(self, obs: Array) -> Array:
        return self.policy.sample(*self.actor.forward(obs), noise=self.noise(len(obs))).actions

    def td_target(self, batch: Transitions, noise: Floats) -> Floats:
        next_obs = rows_of(batch.next_obs)
        sample = self.policy.sample(*self.actor.forward(next_obs), noise=noise)
        (first,), (second,) = (qf.forward(next_obs, sample.actions) for qf in (self.qf1_target, self.qf2_target))
        target = np.minimum(first[:, 0], second[:, 0])
        target -= self.alpha * sample.logprob
        target *= (1 - batch.dones) * self.args.gamma
        target += batch.rewards
        return target

    def critic_gradient(self, batch: Transitions, target: Floats) -> None:
        obs, actions = rows_of(batch.obs), rows_of(batch.actions)
        rows = len(obs)
        losses: list[float] = []
        for name, qf in (("qf1", self.qf1), ("qf2", self.qf2)):
            values = qf.forward(obs, actions)[0][:, 0]
            error = values - target
            losses.append(float(error.dot(error)) / rows)
            self.losses |= {f"{name}_values": np.add.reduce(values) / rows, f"{name}_loss": losses[-1]}
            error *= 2 / rows
            qf.backward(error[:, None])
        self.losses["qf_loss"] = sum(losses) / 2.0

    def actor_gradient(self, obs: Array, outputs: list[Floats], noise: Floats) -> None:
        """`outputs` are those of the actor for `obs`."""
        sample = self.policy.sample(*outputs, noise=noise)
        first, second = (qf.forward(obs, sample.actions)[0][:, 0] for qf in (self.qf1, self.qf2))
        # A row's gradient flows through the lower critic alone, so each works on its own rows: half of the work.
        first_is_lower = first <= second
        grad_actions = np.empty_like(sample.actions)
        for qf, lower in ((self.qf1, first_is_lower), (self.qf2, ~first_is_lower)):
            rows = np.flatnonzero(lower)
            grad_value = np.full((len(rows), 1), -1 / len(obs), np.float32)
            grad_actions[rows] = qf.input_gradient(grad_value, rows=rows, columns=slice(obs.shape[1], None))
        self.actor.backward(*self.policy.backward(sample, grad_actions, self.alpha / len(obs)))
        loss = self.alpha * sample.logprob - np.minimum(first, second)
        self.losses["actor_loss"] = np.add.reduce(loss) / len(obs)

    def alpha_gradient(self, outputs: list[Floats], noise: Floats) -> None:
        logprob = self.policy.sample(*outputs, noise=noise).logprob
        loss = -self.alpha * (float(logprob.mean()) + self.target_entropy)
        # exp is its own derivative, so the loss is its gradient by log_alpha.
        self.parameters["temperature"].gradient[:] = loss
        self.losses["alpha_loss"] = loss

    def update_critics(self, batch: Transitions) -> None:
        self.critic_gradient(batch, self.td_target(batch, self.noise(len(batch.obs))))
        self.adams["critics"].step(self.args.q_lr)
        self.losses["alpha"] = self.alpha

    def update_policy(self, batch: Transitions) -> None:
        obs = rows_of(batch.obs)
        outputs = self.actor.forward(obs)
        for _ in range(self.args.policy_frequency):
            self.actor_gradient(obs, outputs, self.noise(len(obs)))
            self.adams["actor"].step(self.args.policy_lr)
            # One pass of the improved actor serves alpha now and the next round.
            outputs = self.actor.forward(obs)
            if self.args.autotune:
                self.alpha_gradient(outputs, self.noise(len(obs)))
                self.adams["temperature"].step(self.args.q_lr)
        self.losses["alpha"] = self.alpha

    def update_targets(self) -> None:
        targets, critics = (torch.from_numpy(self.parameters[name].values) for name in ("targets", "critics"))
        targets.lerp_(critics, self.args.tau)

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
            "actor": adam(agent.actor, learning_rate=args.policy_lr),
            "critics": adam(agent.critics, learning_rate=args.q_lr),
            "temperature": adam(agent.temperature, learning_rate=args.q_lr),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve_critics = Replayed(self.critic_step, device, enabled=args.cuda_graph)
        self.improve_policy = Replayed(self.policy_step, device, enabled=args.cuda_graph)
        self.follow = Replayed(self.target_step, device, enabled=args.cuda_graph)
        self.losses: dict[str, SupportsFloat] = {}

    @property
    def alpha(self) -> torch.Tensor:
        if self.args.autotune:
            return self.agent.temperature["log_alpha"].detach().exp()
        return torch.full((1,), self.args.alpha, device=self.device)

    def noise(self, rows: int) -> torch.Tensor:
        return torch.randn(rows, self.agent.actor.fc_mean.out_features, device=self.device)

    def descend(self, name: str, loss: torch.Tensor) -> None:
        """One step of the optimiser `name`; the gradients of other networks are not computed."""
        self.optimizers[name].zero_grad()
        loss.backward(inputs=list(self.agent.get_submodule(name).parameters()))
        self.optimizers[name].step()

    @torch.no_grad()
    def sampled(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        obs = inputs["obs"].float()
        return {"actions": self.agent.actor.get_action(obs, self.noise(len(obs)))[0]}

    def critic_step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        batch = {name: tensor.float() for name, tensor in batch.items()}
        target = td_target(self.agent, batch, self.noise(len(batch["obs"])), alpha=self.alpha, gamma=self.args.gamma)
        loss, logged = critic_loss(self.agent.critics, batch, target)
        self.descend("critics", loss)
        return {**logged, "alpha": self.alpha}

    def policy_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        obs, logged = inputs["obs"].float(), dict[str, torch.Tensor]()
        for _ in range(self.args.policy_frequency):
            loss = actor_loss(self.agent, obs, self.noise(len(obs)), self.alpha)
            self.descend("actor", loss)
            logged["actor_loss"] = loss.detach()
            if self.args.autotune:
                loss = alpha_loss(self.agent, obs, self.noise(len(obs)))
                self.descend("temperature", loss)
                logged["alpha_loss"] = loss.detach()
        return {**logged, "alpha": self.alpha}

    @torch.no_grad()
    def target_step(self, _: Tensors) -> dict[str, torch.Tensor]:
        for target, value in zip(self.agent.targets.parameters(), self.agent.critics.parameters(), strict=True):
            target.lerp_(value, self.args.tau)
        return {}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update_critics(self, batch: Transitions) -> None:
        self.losses |= self.improve_critics(self.inputs.put(by_rows(batch)))

    def update_policy(self, batch: Transitions) -> None:
        self.losses |= self.improve_policy(self.inputs.put({"obs": rows_of(batch.obs)}))

    def update_targets(self) -> None:
        self.follow({})

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


def fast_actor(actor: Actor) -> tuple[ReluNetwork, SquashedGaussian]:
    """The two halves of an actor whose parameters are flat."""
    network = ReluNetwork([actor.fc1, actor.fc2], [actor.fc_mean, actor.fc_logstd])
    scale, bias = actor.action_scale.numpy(), actor.action_bias.numpy()
    return network, SquashedGaussian(scale, bias, log_std_range=(LOG_STD_MIN, LOG_STD_MAX))


def fast_critic(critic: SoftQNetwork, *, shares: ReluNetwork | None = None) -> ReluNetwork:
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
                learner.update_critics(batch)
                if global_step % args.policy_frequency == 0:
                    learner.update_policy(batch)
                if global_step % args.target_network_frequency == 0:
                    learner.update_targets()
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


class SquashedGaussianPolicy:
    """Acts with a trained actor."""

    def __init__(self, actor: Actor, action_shape: tuple[int, ...]) -> None:
        self.parameters = FlatParameters(actor)
        self.actor, self.policy = fast_actor(actor)
        self.action_shape = action_shape

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        mean, raw_log_std = self.actor.forward(observations.reshape(len(observations), -1))
        if deterministic:
            actions = self.policy.mode(mean)
        else:
            noise = generator.standard_normal(mean.shape, dtype=np.float32)
            actions = self.policy.sample(mean, raw_log_std, noise=noise).actions
        return actions.reshape(len(observations), *self.action_shape)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    return SquashedGaussianPolicy(actor, file.action_space.shape or ())


if __name__ == "__main__":
    raise SystemExit(main("sac_continuous_action"))
