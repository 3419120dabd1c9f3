"""SAC for discrete actions on vector observations (docs/algorithms/sac_discrete.md)."""

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
from cleanrl_worker.sdk.explained import of_choices
from cleanrl_worker.sdk.fast.quick import quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import LikelyActions, of_vectors
from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
UPSTREAM = None  # CleanRL saves no policy of sac_atari, and has no SAC for discrete actions on vectors.
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """SAC-discrete: off-policy with a random policy, for discrete actions and vector observations."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one; networks of this size are faster on the CPU (--no-cuda)."""
    cuda_graph: bool = True
    """Record acting and the gradient steps as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 100_000
    """Environment steps over all environments."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 100_000
    """Transitions that the replay memory holds; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1), Search(1e-3, 1.0, "log")] = 1.0
    """How far the target networks move towards the critics at each update of them; 1 copies."""
    batch_size: Annotated[int, Ge(1), Search(32, 512, "power_of_two")] = 64
    """Transitions sampled for one gradient step."""
    learning_starts: Annotated[int, Ge(0), Search(500, 20_000, "log")] = 2_000
    """Environment steps with random actions before the first gradient step."""
    policy_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of the actor's Adam."""
    q_lr: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of the critics' Adam, and of alpha's."""
    update_frequency: Annotated[int, Ge(1), Search(1, 8, "power_of_two")] = 4
    """Environment steps for each gradient step."""
    target_network_frequency: Annotated[int, Ge(1), Search(50, 8_000, "log")] = 500
    """Environment steps between two updates of the target networks."""
    alpha: Annotated[float, Ge(0)] = 0.2
    """Weight of the entropy; used only without autotune."""
    autotune: bool = True
    """Learn alpha, so that the policy's entropy stays near target_entropy_scale of the largest that there is."""
    target_entropy_scale: Annotated[float, Ge(0), Le(1), Search(0.1, 0.9)] = 0.3
    """Entropy that alpha aims at, as a part of that of a policy that takes every action equally often."""


def mlp(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers, as those of dqn."""
    return nn.Sequential(nn.Linear(inputs, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, outputs))


class Critics(nn.Module):
    """What each action is worth in a state, twice; the lower of the two opinions counts."""

    def __init__(self, inputs: int, choices: int) -> None:
        super().__init__()
        self.qf1 = mlp(inputs, choices)
        self.qf2 = mlp(inputs, choices)

    def forward(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.qf1(obs), self.qf2(obs)


class Agent(nn.Module):
    """All that is learned. The targets follow the critics."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], scale: float) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        inputs, self.choices = int(np.prod(observation_space.shape or ())), int(action_space.n)
        self.actor = mlp(inputs, self.choices)
        self.critics = Critics(inputs, self.choices)
        self.targets = copy.deepcopy(self.critics).requires_grad_(False)
        self.temperature = nn.ParameterDict({"log_alpha": torch.zeros(1)})
        self.target_entropy = scale * math.log(self.choices)

    def policy(self, obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Probabilities of the actions and their logarithms, (rows, choices)."""
        logprobs = F.log_softmax(self.actor(obs), dim=1)
        return logprobs.exp(), logprobs


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    policy_lr: float
    q_lr: float
    gamma: float
    alpha: float
    """Used only without autotune."""


@torch.no_grad()
def td_target(agent: Agent, batch: Tensors, alpha: torch.Tensor) -> torch.Tensor:
    """What the critics should have said: the reward and, where the episode was not terminated, the soft value after.

    With few actions the mean over the policy's next action is a sum, and needs no sample.
    """
    probs, logprobs = agent.policy(batch["next_obs"])
    next_value = (probs * (torch.min(*agent.targets(batch["next_obs"])) - alpha * logprobs)).sum(1)
    return batch["rewards"] + (1 - batch["dones"]) * batch["gamma"] * next_value


def critic_loss(critics: Critics, batch: Tensors, target: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
    """The critics' loss of the actions taken, and what is logged of it."""
    taken = batch["actions"][:, None]
    qf1_values, qf2_values = (values.gather(1, taken).squeeze(1) for values in critics(batch["obs"]))
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


def actor_loss(agent: Agent, obs: torch.Tensor, alpha: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The policy should do what the critics like, and stay random; with it, the policy's mean entropy."""
    probs, logprobs = agent.policy(obs)
    with torch.no_grad():
        values = torch.min(*agent.critics(obs))
    loss = (probs * (alpha * logprobs - values)).sum(1).mean()
    return loss, -(probs * logprobs).sum(1).mean().detach()


def alpha_loss(agent: Agent, entropy: torch.Tensor) -> torch.Tensor:
    """More alpha while the policy is less random than it should be."""
    return (agent.temperature["log_alpha"].exp() * (entropy - agent.target_entropy)).mean()


class Learner:
    """Acts and learns by the losses."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizers = {
            "actor": adam(agent.actor, learning_rate=args.policy_lr, eps=1e-4),
            "critics": adam(agent.critics, learning_rate=args.q_lr, eps=1e-4),
            "temperature": adam(agent.temperature, learning_rate=args.q_lr, eps=1e-4),
        }
        self.inputs = Inputs(device)
        self.choose = Replayed(self.sampled, device, enabled=args.cuda_graph)
        self.improve = Replayed(self.step, device, enabled=args.cuda_graph)
        self.follow = Replayed(self.target_step, device, enabled=args.cuda_graph)

    def alpha(self, inputs: Tensors) -> torch.Tensor:
        return self.agent.temperature["log_alpha"].detach().exp()[0] if self.args.autotune else inputs["alpha"]

    def descend(self, name: str, loss: torch.Tensor) -> None:
        """One step of the optimiser `name`; the gradients of other networks are not computed."""
        self.optimizers[name].zero_grad()
        loss.backward(inputs=list(self.agent.get_submodule(name).parameters()))
        self.optimizers[name].step()

    @torch.no_grad()
    def sampled(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        logits = self.agent.actor(inputs["obs"].float())
        # The largest after Gumbel noise is drawn with the softmax's probabilities.
        noise = torch.rand(logits.shape, device=self.device).clamp(min=1e-20).log().neg().log().neg()
        return {"actions": (logits + noise).argmax(1)}

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        tensors = {**batch, **{name: batch[name].flatten(1).float() for name in ("obs", "next_obs")}}
        target = td_target(self.agent, tensors, self.alpha(tensors))
        loss, logged = critic_loss(self.agent.critics, tensors, target)
        self.descend("critics", loss)
        policy_loss, entropy = actor_loss(self.agent, tensors["obs"], self.alpha(tensors))
        self.descend("actor", policy_loss)
        result = {**logged, "actor_loss": policy_loss.detach(), "entropy": entropy}
        if self.args.autotune:
            loss = alpha_loss(self.agent, entropy)
            self.descend("temperature", loss)
            result["alpha_loss"] = loss.detach()
        return {**result, "alpha": self.alpha(tensors)}

    @torch.no_grad()
    def target_step(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        for target, value in zip(self.agent.targets.parameters(), self.agent.critics.parameters(), strict=True):
            target.lerp_(value, inputs["tau"])
        return {}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def update(self, batch: Transitions, coefficients: Coefficients) -> Mapping[str, SupportsFloat]:
        """One gradient step of all; what is logged of it stays on a GPU until its numbers are asked for."""
        set_learning_rate(self.optimizers["critics"], coefficients.q_lr)
        set_learning_rate(self.optimizers["actor"], coefficients.policy_lr)
        set_learning_rate(self.optimizers["temperature"], coefficients.q_lr)
        numbers = {"gamma": np.float32(coefficients.gamma), "alpha": np.float32(coefficients.alpha)}
        return self.improve(self.inputs.put(batch._asdict() | numbers))

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
    spaces = envs.single_observation_space, envs.single_action_space
    agent = Agent(*spaces, args.target_entropy_scale).to(run.device)
    learner = Learner(agent, args, run.device)
    replay = ReplayBuffer(args.buffer_size, args.num_envs, *spaces)

    def explain(seen: torch.Tensor) -> dict[str, Any]:
        """Its value is what the policy's choice is worth by the lower critic, without the entropy."""
        rows = seen.flatten(1)
        probabilities, logprobs = agent.policy(rows)
        return of_choices(logprobs, (probabilities * torch.minimum(*agent.critics(rows))).sum(1))

    run.explain_with(explain)

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
                actions = run.generator.integers(agent.choices, size=args.num_envs)
            else:
                actions = learner.act(obs.reshape(args.num_envs, -1))
            next_obs, rewards, terminations, _, infos = envs.step(actions)
            replay.add(obs, infos.get("final_obs", next_obs), actions, rewards, terminations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                if global_step % args.update_frequency == 0:
                    coefficients = Coefficients(args.policy_lr, args.q_lr, args.gamma, args.alpha)
                    losses = learner.update(replay.sample(run.generator, args.batch_size), coefficients)
                    run.histograms(agent)
                    if global_step % LOG_INTERVAL == 0:
                        scalars = {f"losses/{name}": float(value) for name, value in losses.items()}
                        run.scalars({**scalars, "charts/SPS": run.steps_per_second()})
                if global_step % args.target_network_frequency == 0:
                    learner.update_targets(args.tau)

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent.actor)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.observation_space, file.action_space, 0.0)
    agent.actor.load_state_dict(file.weights())
    return LikelyActions(of_vectors(quick(agent.actor)))


if __name__ == "__main__":
    raise SystemExit(main("sac_discrete"))
