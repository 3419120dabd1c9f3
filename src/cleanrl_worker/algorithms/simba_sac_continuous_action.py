"""SimBa: SAC with large, normalised residual networks, on vectors (docs/algorithms/simba_sac_continuous_action.md)."""

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

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_value
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.normalise import ObservationNormaliser, normaliser_of
from cleanrl_worker.sdk.optimizer import adam, adamw, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import SquashedActions
from cleanrl_worker.sdk.replay import ReplayBuffer, by_rows
from mosaic import config
from mosaic.errors import IncompatibleSpaces
from mosaic.search_range import Search

ACTIONS = "continuous"
UPSTREAM = None  # CleanRL has no SimBa.
LOG_STD_MIN, LOG_STD_MAX = -10.0, 2.0
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """SimBa-SAC: off-policy with large networks, for continuous actions and vector observations."""

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
    policy_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-4
    """Step size of the actor's AdamW."""
    q_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-4
    """Step size of the critics' AdamW, and of alpha's."""
    weight_decay: Annotated[float, Ge(0), Search(1e-4, 0.1, "log")] = 1e-2
    """How fast the weights of actor and critics shrink, as a part of their step size."""
    updates_per_step: Annotated[int, Ge(1), Search(1, 8, "power_of_two")] = 2
    """Gradient steps for each environment step."""
    actor_width: Annotated[int, Ge(8), Search(64, 256, "power_of_two")] = 128
    """Width of the actor; inside a block it is four times as much."""
    actor_blocks: Annotated[int, Ge(0), Search(1, 2)] = 1
    """Residual blocks of the actor."""
    critic_width: Annotated[int, Ge(8), Search(128, 1024, "power_of_two")] = 512
    """Width of each critic; inside a block it is four times as much. On a CPU, 128 is what can be waited for."""
    critic_blocks: Annotated[int, Ge(0), Search(1, 4)] = 2
    """Residual blocks of each critic."""
    alpha: Annotated[float, Ge(0)] = 0.2
    """Weight of the entropy; used only without autotune."""
    autotune: bool = True
    """Learn alpha, so that the policy's entropy stays near minus half the number of action dimensions."""
    initial_alpha: Annotated[float, Gt(0)] = 0.01
    """Weight of the entropy that autotune begins with."""


class Block(nn.Module):
    """A detour of two layers around which the input also goes straight on: the network stays nearly linear."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1 = he_normal(nn.Linear(width, 4 * width))
        self.fc2 = he_normal(nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


def he_normal(layer: nn.Linear) -> nn.Linear:
    nn.init.kaiming_normal_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def orthogonal(layer: nn.Linear) -> nn.Linear:
    nn.init.orthogonal_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


def encoder(inputs: int, width: int, blocks: int) -> nn.Sequential:
    """Into the width, through the blocks, and normalised at the end."""
    return nn.Sequential(
        orthogonal(nn.Linear(inputs, width)), *(Block(width) for _ in range(blocks)), nn.LayerNorm(width)
    )


class Critics(nn.Module):
    """Two critics; the lower of their opinions counts."""

    def __init__(self, inputs: int, args: Args) -> None:
        super().__init__()
        width, blocks = args.critic_width, args.critic_blocks
        self.qf1 = nn.Sequential(encoder(inputs, width, blocks), orthogonal(nn.Linear(width, 1)))
        self.qf2 = nn.Sequential(encoder(inputs, width, blocks), orthogonal(nn.Linear(width, 1)))

    def forward(self, obs: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([obs, actions], 1)
        return self.qf1(x).view(-1), self.qf2(x).view(-1)


class Actor(nn.Module):
    """A residual network: mean and spread of a Gaussian, which tanh then bends into the bounds of the actions."""

    action_scale: torch.Tensor
    action_bias: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Box)
        if not action_space.is_bounded():
            raise IncompatibleSpaces(f"SAC needs actions with finite bounds, not {action_space}; wrap the environment")
        self.inputs, outputs = int(np.prod(observation_space.shape or ())), int(np.prod(action_space.shape))
        self.encoder = encoder(self.inputs, args.actor_width, args.actor_blocks)
        self.fc_mean = orthogonal(nn.Linear(args.actor_width, outputs))
        self.fc_logstd = orthogonal(nn.Linear(args.actor_width, outputs))
        low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
        self.register_buffer("action_scale", (high - low) / 2.0)
        self.register_buffer("action_bias", (high + low) / 2.0)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and logarithm of the standard deviation, before tanh."""
        x = self.encoder(obs)
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

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        self.actor = Actor(observation_space, action_space, args)
        self.critics = Critics(self.actor.inputs + self.actor.fc_mean.out_features, args)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.temperature = nn.ParameterDict({"log_alpha": torch.full((1,), math.log(args.initial_alpha))})
        self.target_entropy = -0.5 * self.actor.fc_mean.out_features


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    policy_lr: float
    q_lr: float
    gamma: float
    tau: float
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
    """Acts and learns by the losses."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizers = {
            "actor": adamw(agent.actor, learning_rate=args.policy_lr, weight_decay=args.weight_decay),
            "critics": adamw(agent.critics, learning_rate=args.q_lr, weight_decay=args.weight_decay),
            "temperature": adam(agent.temperature, learning_rate=args.q_lr),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve = Replayed(self.step, device, enabled=args.cuda_graph)

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

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        batch = {name: tensor.float() for name, tensor in batch.items()}
        obs = batch["obs"]
        target = td_target(self.agent, batch, self.noise(len(obs)), self.alpha(batch))
        loss, logged = critic_loss(self.agent.critics, batch, target)
        self.descend("critics", loss)
        policy_loss = actor_loss(self.agent, obs, self.noise(len(obs)), self.alpha(batch))
        self.descend("actor", policy_loss)
        result = {**logged, "actor_loss": policy_loss.detach()}
        if self.args.autotune:
            loss = alpha_loss(self.agent, obs, self.noise(len(obs)))
            self.descend("temperature", loss)
            result["alpha_loss"] = loss.detach()
        with torch.no_grad():
            for old, value in zip(self.agent.targets.parameters(), self.agent.critics.parameters(), strict=True):
                old.lerp_(value, batch["tau"])
        return {**result, "alpha": self.alpha(batch)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update(self, batch: Mapping[str, Array], coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of all; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["critics"], coefficients.q_lr)
        set_learning_rate(self.optimizers["actor"], coefficients.policy_lr)
        set_learning_rate(self.optimizers["temperature"], coefficients.q_lr)
        numbers = {name: np.float32(getattr(coefficients, name)) for name in ("gamma", "tau", "alpha")}
        return self.improve(self.inputs.put({**batch, **numbers}))

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
    agent = Agent(observation_space, action_space, args).to(run.device)
    learner = Learner(agent, args, run.device)
    losses: Mapping[str, SupportsFloat] = {}
    replay = ReplayBuffer(args.buffer_size, args.num_envs, observation_space, action_space)
    action_shape = (args.num_envs, *action_space.shape)
    normaliser = ObservationNormaliser(observation_space.shape or ())

    def explain(seen: torch.Tensor) -> dict[str, Any]:
        """What its middle action is worth."""
        rows = torch.as_tensor(normaliser.apply(seen.flatten(1).cpu().numpy()), dtype=torch.float32, device=run.device)
        no_noise = torch.zeros(1, math.prod(action_space.shape), device=run.device)
        return of_value(torch.minimum(*agent.critics(rows, agent.actor.get_action(rows, no_noise)[0])))

    run.explain_with(explain)

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
        seen = normaliser.first(obs)
    else:
        learner.load(saved["learner"])
        replay.load(saved["replay"])
        normaliser.load(saved["observation_normaliser"])
        obs = envs.current_obs
        seen = normaliser.apply(obs)

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            if run.global_step < args.learning_starts:
                actions = run.generator.uniform(action_space.low, action_space.high, action_shape).astype(np.float32)
            else:
                actions = learner.act(seen.reshape(args.num_envs, -1)).reshape(action_shape)
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs, seen = next_obs, normaliser.next(next_obs, infos)

            # So many gradient steps for each environment step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                coefficients = Coefficients(args.policy_lr, args.q_lr, args.gamma, args.tau, args.alpha)
                for _ in range(args.updates_per_step):
                    batch = replay.sample(run.generator, args.batch_size)
                    # Kept as they came, and normalised by what is known now.
                    pair = {name: normaliser.apply(getattr(batch, name)) for name in ("obs", "next_obs")}
                    losses = learner.update(by_rows(batch._replace(**pair)), coefficients)
                    run.histograms(agent)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            state = {"learner": learner.state(), "replay": replay.state()}
            run.checkpoint({**state, "observation_normaliser": normaliser.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor, observation_normaliser=normaliser.state())


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    assert isinstance(file.action_space, gym.spaces.Box)
    actor = Actor(file.observation_space, file.action_space, args)
    actor.load_state_dict(file.weights())
    return SquashedActions(lambda obs, noise: actor.get_action(obs, noise)[0], file.action_space, normaliser_of(file))


if __name__ == "__main__":
    raise SystemExit(main("simba_sac_continuous_action"))
