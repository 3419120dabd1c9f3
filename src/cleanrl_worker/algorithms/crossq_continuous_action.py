"""CrossQ: SAC with batch renormalisation and without target networks (docs/algorithms/crossq_continuous_action.md)."""

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
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import SquashedActions
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions, by_rows, rows_of
from mosaic import config
from mosaic.errors import IncompatibleSpaces
from mosaic.search_range import Search

ACTIONS = "continuous"
UPSTREAM = None  # CleanRL has no CrossQ.
LOG_STD_MIN, LOG_STD_MAX = -20.0, 2.0
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """CrossQ: off-policy without target networks, for continuous actions and vector observations."""

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
    batch_size: Annotated[int, Ge(1), Search(64, 1024, "power_of_two")] = 256
    """Transitions sampled for one gradient step."""
    learning_starts: Annotated[int, Ge(0), Search(1_000, 25_000, "log")] = 5_000
    """Environment steps with random actions before the first gradient step."""
    policy_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-3
    """Step size of the actor's Adam."""
    q_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-3
    """Step size of the critics' Adam, and of alpha's."""
    policy_delay: Annotated[int, Ge(1), Search(1, 4)] = 3
    """Gradient steps of the critics for each one of the policy."""
    beta1: Annotated[float, Ge(0), Lt(1)] = 0.5
    """How much of the last gradients Adam keeps."""
    critic_width: Annotated[int, Ge(8), Search(256, 2048, "power_of_two")] = 1024
    """Width of the critics' two hidden layers; the paper's 2048 want a GPU, on a CPU 256 is what can be waited for."""
    renorm_momentum: Annotated[float, Gt(0), Le(1), Search(1e-3, 0.1, "log")] = 0.01
    """How far the running mean and variance of a layer's inputs move towards those of a batch."""
    renorm_warmup: Annotated[int, Ge(0)] = 100_000
    """Batches that are normalised by their own mean and variance, before the running ones correct these."""
    alpha: Annotated[float, Ge(0)] = 0.2
    """Weight of the entropy; used only without autotune."""
    autotune: bool = True
    """Learn alpha, so that the policy's entropy stays near minus the number of action dimensions."""


class BatchRenorm(nn.Module):
    """Inputs of a layer with zero mean and unit variance, over a batch, while learning; else by the running moments.

    After the warm-up the batch's moments are corrected towards the running ones, within bounds, so that learning and
    acting see the same (Ioffe 2017).
    """

    mean: torch.Tensor
    var: torch.Tensor
    batches: torch.Tensor
    EPSILON, R_MAX, D_MAX = 1e-3, 3.0, 5.0

    def __init__(self, width: int, args: Args) -> None:
        super().__init__()
        self.momentum, self.warmup = args.renorm_momentum, args.renorm_warmup
        self.scale = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))
        self.register_buffer("mean", torch.zeros(width))
        self.register_buffer("var", torch.ones(width))
        self.register_buffer("batches", torch.zeros(()))

    def forward(self, x: torch.Tensor, *, learns: bool) -> torch.Tensor:
        if learns:
            mean, var = x.mean(0), x.var(0, correction=0)
            r, d = self.correction(mean.detach(), var.detach())
            normed = (x - mean) / (var + self.EPSILON).sqrt() * r + d
        else:
            normed = (x - self.mean) / (self.var + self.EPSILON).sqrt()
        return self.scale * normed + self.shift

    @torch.no_grad()
    def correction(self, mean: torch.Tensor, var: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Factor and offset from a batch's moments to the running ones, which move on."""
        running = (self.var + self.EPSILON).sqrt()
        warm = self.batches >= self.warmup
        r = ((var + self.EPSILON).sqrt() / running).clamp(1 / self.R_MAX, self.R_MAX)
        d = ((mean - self.mean) / running).clamp(-self.D_MAX, self.D_MAX)
        r, d = torch.where(warm, r, torch.ones_like(r)), torch.where(warm, d, torch.zeros_like(d))
        self.mean.lerp_(mean, self.momentum)
        self.var.lerp_(var, self.momentum)
        self.batches += 1
        return r, d


class NormedNetwork(nn.Module):
    """Two hidden layers, normalised before each layer and after the last one."""

    def __init__(self, inputs: int, width: int, args: Args) -> None:
        super().__init__()
        self.norm1, self.fc1 = BatchRenorm(inputs, args), nn.Linear(inputs, width)
        self.norm2, self.fc2 = BatchRenorm(width, args), nn.Linear(width, width)
        self.norm3 = BatchRenorm(width, args)

    def forward(self, x: torch.Tensor, *, learns: bool) -> torch.Tensor:
        x = F.relu(self.fc1(self.norm1(x, learns=learns)))
        return self.norm3(F.relu(self.fc2(self.norm2(x, learns=learns))), learns=learns)


class SoftQNetwork(nn.Module):
    """What an action is worth in a state."""

    def __init__(self, inputs: int, args: Args) -> None:
        super().__init__()
        self.network = NormedNetwork(inputs, args.critic_width, args)
        self.fc3 = nn.Linear(args.critic_width, 1)

    def forward(self, x: torch.Tensor, *, learns: bool) -> torch.Tensor:
        return self.fc3(self.network(x, learns=learns)).view(-1)


class Critics(nn.Module):
    """Two critics; the lower of their opinions counts."""

    def __init__(self, inputs: int, args: Args) -> None:
        super().__init__()
        self.qf1 = SoftQNetwork(inputs, args)
        self.qf2 = SoftQNetwork(inputs, args)

    def forward(self, obs: torch.Tensor, actions: torch.Tensor, *, learns: bool) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([obs, actions], 1)
        return self.qf1(x, learns=learns), self.qf2(x, learns=learns)


class Actor(nn.Module):
    """Two hidden layers: mean and spread of a Gaussian, which tanh then bends into the bounds of the actions."""

    action_scale: torch.Tensor
    action_bias: torch.Tensor

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Box)
        if not action_space.is_bounded():
            raise IncompatibleSpaces(
                f"CrossQ needs actions with finite bounds, not {action_space}; wrap the environment"
            )
        self.inputs, outputs = int(np.prod(observation_space.shape or ())), int(np.prod(action_space.shape))
        self.network = NormedNetwork(self.inputs, 256, args)
        self.fc_mean = nn.Linear(256, outputs)
        self.fc_logstd = nn.Linear(256, outputs)
        low, high = (torch.tensor(bound.reshape(-1)).float() for bound in (action_space.low, action_space.high))
        self.register_buffer("action_scale", (high - low) / 2.0)
        self.register_buffer("action_bias", (high + low) / 2.0)

    def forward(self, obs: torch.Tensor, *, learns: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and logarithm of the standard deviation, before tanh."""
        x = self.network(obs, learns=learns)
        return self.fc_mean(x), self.fc_logstd(x).clamp(LOG_STD_MIN, LOG_STD_MAX)

    def get_action(
        self, obs: torch.Tensor, noise: torch.Tensor, *, learns: bool = False
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions drawn with standard normal `noise`, and their log-probabilities."""
        mean, log_std = self(obs, learns=learns)
        y = torch.tanh(mean + log_std.exp() * noise)
        logprob = -0.5 * noise**2 - log_std - 0.5 * math.log(2 * math.pi)
        logprob = logprob - torch.log(self.action_scale * (1 - y**2) + 1e-6)
        return y * self.action_scale + self.action_bias, logprob.sum(1)


class Agent(nn.Module):
    """All that is learned. There are no target networks."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        self.actor = Actor(observation_space, action_space, args)
        self.critics = Critics(self.actor.inputs + self.actor.fc_mean.out_features, args)
        self.temperature = nn.ParameterDict({"log_alpha": torch.zeros(1)})
        self.target_entropy = -float(self.actor.fc_mean.out_features)


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    policy_lr: float
    q_lr: float
    gamma: float
    alpha: float
    """Used only without autotune."""


def critic_loss(agent: Agent, batch: Tensors, noise: torch.Tensor, alpha: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The critics' loss, and what is logged of it.

    Both states of a transition go through the critics in one batch, so that both are normalised by the same moments;
    what is said of the second one is the target, and carries no gradient.
    """
    with torch.no_grad():
        next_actions, next_logprob = agent.actor.get_action(batch["next_obs"], noise)
    both = torch.cat([batch["obs"], batch["next_obs"]]), torch.cat([batch["actions"], next_actions])
    (qf1_values, qf1_next), (qf2_values, qf2_next) = (values.chunk(2) for values in agent.critics(*both, learns=True))
    next_value = torch.min(qf1_next, qf2_next).detach() - alpha * next_logprob
    target = batch["rewards"] + (1 - batch["dones"]) * batch["gamma"] * next_value
    qf1_loss, qf2_loss = F.mse_loss(qf1_values, target), F.mse_loss(qf2_values, target)
    qf_loss = (qf1_loss + qf2_loss) / 2.0
    logged = {
        "qf1_values": qf1_values.mean(),
        "qf2_values": qf2_values.mean(),
        "qf1_loss": qf1_loss,
        "qf2_loss": qf2_loss,
        "qf_loss": qf_loss,
    }
    return qf_loss, {name: value.detach() for name, value in logged.items()}


def actor_loss(
    agent: Agent, obs: torch.Tensor, noise: torch.Tensor, alpha: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The policy should do what the critics like, and stay random; with it, the mean log-probability."""
    actions, logprob = agent.actor.get_action(obs, noise, learns=True)
    values = torch.min(*agent.critics(obs, actions, learns=False))
    return (alpha * logprob - values).mean(), logprob.mean().detach()


def alpha_loss(agent: Agent, logprob: torch.Tensor) -> torch.Tensor:
    """More alpha while the policy is less random than it should be."""
    return (-agent.temperature["log_alpha"] * (logprob + agent.target_entropy)).mean()


class Learner:
    """Acts and learns by the losses."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizers = {
            "actor": adam(agent.actor, learning_rate=args.policy_lr, beta1=args.beta1),
            "critics": adam(agent.critics, learning_rate=args.q_lr, beta1=args.beta1),
            "temperature": adam(agent.temperature, learning_rate=args.q_lr),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve_critics = Replayed(self.critic_step, device, enabled=args.cuda_graph)
        self.improve_policy = Replayed(self.policy_step, device, enabled=args.cuda_graph)

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
        loss, logged = critic_loss(self.agent, batch, self.noise(len(batch["obs"])), self.alpha(batch))
        self.descend("critics", loss)
        return {**logged, "alpha": self.alpha(batch)}

    def policy_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        obs = inputs["obs"].float()
        loss, logprob = actor_loss(self.agent, obs, self.noise(len(obs)), self.alpha(inputs))
        self.descend("actor", loss)
        logged = {"actor_loss": loss.detach()}
        if self.args.autotune:
            loss = alpha_loss(self.agent, logprob)
            self.descend("temperature", loss)
            logged["alpha_loss"] = loss.detach()
        return {**logged, "alpha": self.alpha(inputs)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update_critics(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of both critics; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["critics"], coefficients.q_lr)
        numbers = {"gamma": np.float32(coefficients.gamma), "alpha": np.float32(coefficients.alpha)}
        return self.improve_critics(self.inputs.put(by_rows(batch) | numbers))

    def update_policy(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of the policy, and of alpha."""
        set_learning_rate(self.optimizers["actor"], coefficients.policy_lr)
        set_learning_rate(self.optimizers["temperature"], coefficients.q_lr)
        return self.improve_policy(
            self.inputs.put({"obs": rows_of(batch.obs), "alpha": np.float32(coefficients.alpha)})
        )

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
    losses: dict[str, SupportsFloat] = {}
    replay = ReplayBuffer(args.buffer_size, args.num_envs, observation_space, action_space)
    action_shape = (args.num_envs, *action_space.shape)

    def explain(seen: torch.Tensor) -> dict[str, Any]:
        """What its middle action is worth."""
        rows = seen.flatten(1)
        no_noise = torch.zeros(1, math.prod(action_space.shape), device=run.device)
        return of_value(torch.minimum(*agent.critics(rows, agent.actor.get_action(rows, no_noise)[0], learns=False)))

    run.explain_with(explain)

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        losses |= saved["losses"]
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

            # A gradient step for each environment step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                batch = replay.sample(run.generator, args.batch_size)
                coefficients = Coefficients(args.policy_lr, args.q_lr, args.gamma, args.alpha)
                losses |= learner.update_critics(batch, coefficients)
                if global_step % args.policy_delay == 0:
                    losses |= learner.update_policy(batch, coefficients)
                    run.histograms(agent)
                if global_step % LOG_INTERVAL == 0:
                    scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                    run.scalars({**scalars, "charts/SPS": run.steps_per_second()})

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            logged = {name: float(value) for name, value in losses.items()}
            run.checkpoint({"learner": learner.state(), "replay": replay.state(), "losses": logged}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    assert isinstance(file.action_space, gym.spaces.Box)
    actor = Actor(file.observation_space, file.action_space, args)
    actor.load_state_dict(file.weights())
    return SquashedActions(lambda obs, noise: actor.get_action(obs, noise)[0], file.action_space)


if __name__ == "__main__":
    raise SystemExit(main("crossq_continuous_action"))
