"""SAC with a squashed Gaussian policy on vector observations (docs/algorithms/sac_continuous_action.md)."""

import copy
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

from cleanrl_worker.sdk import LikeliestActions, Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_value
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.quick import by_hand_if_same
from cleanrl_worker.sdk.fast.sac_continuous_action import FastLearner, actions_by_hand
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import as_vectors
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions, by_rows, rows_of
from mosaic import config
from mosaic.errors import IncompatibleSpaces
from mosaic.search_range import Search

ACTIONS = "continuous"
LOG_STD_MIN, LOG_STD_MAX = LOG_STD_RANGE = -5.0, 2.0
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
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1), Search(1e-3, 0.1, "log")] = 0.005
    """How far the target networks move towards the critics at each update of them; 1 copies."""
    batch_size: Annotated[int, Ge(1), Search(64, 1024, "power_of_two")] = 256
    """Transitions sampled for one gradient step."""
    learning_starts: Annotated[int, Ge(0), Search(1_000, 25_000, "log")] = 5_000
    """Environment steps with random actions before the first gradient step."""
    policy_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of the actor's Adam."""
    q_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-3
    """Step size of the critics' Adam, and of alpha's."""
    policy_frequency: Annotated[int, Ge(1), Search(1, 4)] = 2
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
        self.inputs, outputs = int(np.prod(observation_space.shape or ())), int(np.prod(action_space.shape))
        self.fc1 = nn.Linear(self.inputs, 256)
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


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    policy_lr: float
    q_lr: float
    gamma: float
    alpha: float
    """Used only without autotune."""


@torch.no_grad()
def td_target(agent: Agent, batch: Tensors, noise: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """What the critics should have said: the reward and, where the episode was not terminated, the soft value after."""
    next_actions, next_logprob = agent.actor.get_action(batch["next_obs"], noise)
    min_qf_next = torch.min(*agent.targets(batch["next_obs"], next_actions)) - alpha * next_logprob
    return batch["rewards"] + (1 - batch["dones"]) * batch["gamma"] * min_qf_next


def critic_loss(critics: Critics, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The critics' loss, and what is logged of it."""
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


def actor_loss(agent: Agent, obs: torch.Tensor, noise: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """The policy should do what the critics like, and stay random."""
    actions, logprob = agent.actor.get_action(obs, noise)
    return (alpha * logprob - torch.min(*agent.critics(obs, actions))).mean()


def alpha_loss(agent: Agent, obs: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    """More alpha while the policy is less random than it should be."""
    with torch.no_grad():
        _, logprob = agent.actor.get_action(obs, noise)
    return (-agent.temperature["log_alpha"].exp() * (logprob + agent.target_entropy)).mean()


class Learner:
    """Acts and learns by the losses. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

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

    def alpha(self, inputs: Tensors) -> torch.Tensor:
        return self.agent.temperature["log_alpha"].detach().exp()[0] if self.args.autotune else inputs["alpha"]

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
        target = td_target(self.agent, batch, self.noise(len(batch["obs"])), self.alpha(batch))
        loss, logged = critic_loss(self.agent.critics, batch, target)
        self.descend("critics", loss)
        return {**logged, "alpha": self.alpha(batch)}

    def policy_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        obs, logged = inputs["obs"].float(), dict[str, torch.Tensor]()
        for _ in range(self.args.policy_frequency):
            loss = actor_loss(self.agent, obs, self.noise(len(obs)), self.alpha(inputs))
            self.descend("actor", loss)
            logged["actor_loss"] = loss.detach()
            if self.args.autotune:
                loss = alpha_loss(self.agent, obs, self.noise(len(obs)))
                self.descend("temperature", loss)
                logged["alpha_loss"] = loss.detach()
        return {**logged, "alpha": self.alpha(inputs)}

    @torch.no_grad()
    def target_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        for target, value in zip(self.agent.targets.parameters(), self.agent.critics.parameters(), strict=True):
            target.lerp_(value, inputs["tau"])
        return {}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update_critics(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of both critics; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["critics"], coefficients.q_lr)
        numbers = {"gamma": np.float32(coefficients.gamma), "alpha": np.float32(coefficients.alpha)}
        return self.improve_critics(self.inputs.put(by_rows(batch) | numbers))

    def update_policy(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """As many gradient steps of the policy, and of alpha, as it comes late."""
        set_learning_rate(self.optimizers["actor"], coefficients.policy_lr)
        set_learning_rate(self.optimizers["temperature"], coefficients.q_lr)
        return self.improve_policy(
            self.inputs.put({"obs": rows_of(batch.obs), "alpha": np.float32(coefficients.alpha)})
        )

    def update_targets(self, tau: float) -> None:
        self.follow(self.inputs.put({"tau": np.float32(tau)}))

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
    plain = Learner(agent, args, run.device)
    learner = guarded(run, plain, lambda: FastLearner(agent, args, log_std_range=LOG_STD_RANGE))
    losses: dict[str, SupportsFloat] = {}
    replay = ReplayBuffer(args.buffer_size, args.num_envs, observation_space, action_space)
    action_shape = (args.num_envs, *action_space.shape)

    def explain(seen: torch.Tensor) -> dict[str, Any]:
        """What its middle action is worth."""
        rows = seen.flatten(1)
        no_noise = torch.zeros(1, math.prod(action_space.shape), device=run.device)
        return of_value(torch.minimum(*agent.critics(rows, agent.actor.get_action(rows, no_noise)[0])))

    run.explain_with(explain)

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
                actions = learner.act(obs.reshape(args.num_envs, -1)).reshape(action_shape)
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                batch = replay.sample(run.generator, args.batch_size)
                coefficients = Coefficients(args.policy_lr, args.q_lr, args.gamma, args.alpha)
                losses |= learner.update_critics(batch, coefficients)
                if global_step % args.policy_frequency == 0:
                    losses |= learner.update_policy(batch, coefficients)
                    run.histograms(agent)
                if global_step % args.target_network_frequency == 0:
                    learner.update_targets(args.tau)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            logged = {name: float(value) for name, value in losses.items()}
            run.checkpoint({"learner": {**learner.state(), "losses": logged}, "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor)


class SquashedGaussianPolicy:
    """Acts with a trained actor."""

    def __init__(self, actor: Actor, action_shape: tuple[int, ...]) -> None:
        def actions(obs: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
            return actor.get_action(obs, noise)[0]

        self.outputs = len(actor.action_scale)
        self.action_shape = action_shape
        self.actions = by_hand_if_same(
            actions, lambda: actions_by_hand(actor, LOG_STD_RANGE), actor.inputs, self.outputs
        )

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        rows = len(observations)
        noise = np.zeros((rows, self.outputs), np.float32)
        if not deterministic:
            generator.standard_normal(out=noise, dtype=np.float32)
        return self.actions(observations.reshape(rows, -1), noise).reshape(rows, *self.action_shape)

    def in_torch(self) -> LikeliestActions:
        def actions(observations: torch.Tensor) -> torch.Tensor:
            obs = as_vectors(observations)
            return self.actions.in_torch(obs, torch.zeros(obs.shape[0], self.outputs)).reshape(-1, *self.action_shape)

        return LikeliestActions(actions)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    actor = Actor(file.observation_space, file.action_space)
    actor.load_state_dict(file.weights())
    return SquashedGaussianPolicy(actor, file.action_space.shape or ())


if __name__ == "__main__":
    raise SystemExit(main("sac_continuous_action"))
