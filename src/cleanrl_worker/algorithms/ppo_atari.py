"""PPO with a categorical policy on pictures (docs/algorithms/ppo_atari.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.categorical import Categorical

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.convolution import features, laid_out, rounded_once
from cleanrl_worker.sdk.explained import of_choices
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.logged_numbers import explained_variance
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import LikelyActions, of_pictures
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
OBSERVATIONS = "pixels"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO: on-policy, for discrete actions and pictures."""

    env_id: str = "BreakoutNoFrameskip-v4"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one."""
    cuda_graph: bool = True
    """Record acting and the update of a minibatch as CUDA graphs and replay them; on a GPU only."""
    bfloat16: bool = False
    """Multiply in bfloat16, half the bits of float32: faster where processor or GPU have it, and less exact."""
    total_timesteps: Annotated[int, Ge(1)] = 10_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(2e-5, 2e-3, "log")] = 2.5e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 8
    """Environments stepped in parallel."""
    num_steps: Annotated[int, Ge(1), Search(32, 512, "power_of_two")] = 128
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.95, 0.999, "logit")] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(2, 16, "power_of_two")] = 4
    """Minibatches that a rollout is cut into."""
    update_epochs: Annotated[int, Ge(1), Search(1, 8)] = 4
    """Passes over each rollout."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    clip_coef: Annotated[float, Gt(0), Search(0.1, 0.4)] = 0.1
    """How far the policy may move from the one that collected the rollout, as a probability ratio."""
    clip_vloss: bool = True
    """Clip the value loss as well."""
    ent_coef: Annotated[float, Ge(0), Search(1e-5, 0.1, "log")] = 0.01
    """Weight of the entropy bonus."""
    vf_coef: Annotated[float, Ge(0), Search(0.2, 1.0)] = 0.5
    """Weight of the value loss."""
    max_grad_norm: Annotated[float, Gt(0), Search(0.3, 5.0, "log")] = 0.5
    """Gradients longer than this are scaled down to it."""
    target_kl: Annotated[float, Gt(0)] | None = None
    """Stop the epochs of an iteration once the approximate KL divergence exceeds this."""

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


def layer_init(layer: nn.Linear | nn.Conv2d, std: float = 2**0.5) -> nn.Module:
    nn.init.orthogonal_(layer.weight, std)
    assert layer.bias is not None
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    """Three convolutions and a hidden layer, which the policy and the critic share."""

    def __init__(self, action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.network = nn.Sequential(
            layer_init(nn.Conv2d(4, 32, 8, stride=4)),
            nn.ReLU(inplace=True),
            layer_init(nn.Conv2d(32, 64, 4, stride=2)),
            nn.ReLU(inplace=True),
            layer_init(nn.Conv2d(64, 64, 3, stride=1)),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            layer_init(nn.Linear(64 * 7 * 7, 512)),
            nn.ReLU(inplace=True),
        )
        self.actor = layer_init(nn.Linear(512, int(action_space.n)), std=0.01)
        self.critic = layer_init(nn.Linear(512, 1), std=1)

    def forward(self, obs: torch.Tensor, *, bfloat16: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values of uint8 stacks."""
        hidden = features(self.network, obs, bfloat16=bfloat16)
        return self.actor(hidden), self.critic(hidden).view(-1)


class Choice(NamedTuple):
    """What the agent chose at a step, and what it thought of it."""

    actions: torch.Tensor
    logprobs: torch.Tensor
    values: torch.Tensor


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    clip_coef: float
    ent_coef: float
    vf_coef: float


class Losses(NamedTuple):
    """What one minibatch logs."""

    value_loss: float
    policy_loss: float
    entropy: float
    old_approx_kl: float
    approx_kl: float
    clipfrac: float


def gae(rewards: Array, values: Array, dones: Array, *, gamma: float, gae_lambda: float) -> tuple[Array, Array]:
    """Advantages and returns of a rollout of `steps` × `envs`; `values` has one row more.

    `dones[t]` tells that step t ended its episode, so that `values[t + 1]` belongs to the next one and nothing flows
    back from there (CleanRL stores the same flag one row later).
    """
    continues = 1.0 - dones
    deltas = rewards + gamma * values[1:] * continues - values[:-1]
    advantages = np.zeros_like(deltas)
    following = np.zeros_like(deltas[0])
    for step in reversed(range(len(deltas))):
        following = deltas[step] + gamma * gae_lambda * continues[step] * following
        advantages[step] = following
    return advantages, advantages + values[:-1]


def ppo_loss(
    agent: Agent, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """PPO's loss of a minibatch, and what is logged of it; the coefficients are part of the batch."""
    clip_coef = batch["clip_coef"]
    logits, value = agent(batch["obs"], bfloat16=args.bfloat16)
    distribution = Categorical(logits=logits, validate_args=False)
    entropy = distribution.entropy().mean()
    logratio = distribution.log_prob(batch["actions"]) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
    errors = (value - batch["returns"]) ** 2
    if args.clip_vloss:
        change = torch.clamp(value - batch["values"], -clip_coef, clip_coef)
        errors = torch.max(errors, (batch["values"] + change - batch["returns"]) ** 2)
    value_loss = 0.5 * errors.mean()
    with torch.no_grad():
        logged = {
            "value_loss": value_loss,
            "policy_loss": policy_loss,
            "entropy": entropy,
            "old_approx_kl": (-logratio).mean(),
            "approx_kl": ((ratio - 1) - logratio).mean(),
            "clipfrac": ((ratio - 1.0).abs() > clip_coef).float().mean(),
        }
    return policy_loss - batch["ent_coef"] * entropy + batch["vf_coef"] * value_loss, logged


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """Zero mean and unit (sample) standard deviation; a lone advantage has neither and stays as it is."""
    if len(advantages) == 1:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


class Learner:
    """Acting and updating."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = laid_out(agent, device)
        self.args = args
        self.device = device
        self.optimizer = adam(agent, learning_rate=args.learning_rate, eps=1e-5)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.choice, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def choice(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        logits, values = self.agent(inputs["obs"], bfloat16=self.args.bfloat16)
        actions = (logits + inputs["noise"]).argmax(1)
        logprobs = logits.log_softmax(1).gather(1, actions[:, None]).squeeze(1)
        return {"actions": actions, "logprobs": logprobs, "values": values}

    def act(self, obs: torch.Tensor, noise: Array) -> Choice:
        """What it returns is overwritten by the next call."""
        return Choice(**self.choose(self.inputs.put({"obs": obs, "noise": noise})))

    @torch.no_grad()
    def values(self, obs: torch.Tensor) -> torch.Tensor:
        return self.agent(obs, bfloat16=self.args.bfloat16)[1]

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, logged = ppo_loss(self.agent, minibatch_of(batch, self.args), self.args)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        return {"losses": torch.stack([logged[name].detach() for name in Losses._fields])}

    def update(self, batch: Tensors, rows: Array, coefficients: Coefficients) -> torch.Tensor:
        """One minibatch; its `Losses` stay on the device until their numbers are asked for."""
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        return self.descend({**batch, **self.inputs.put({"rows": rows, **numbers})})["losses"].clone()

    def state(self) -> dict[str, Any]:
        return {"agent": self.agent.state_dict(), "optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        load_optimizer(self.optimizer, state["optimizer"])


class Rollout:
    """What a rollout collects, where the update is computed; pictures as uint8, channels last."""

    def __init__(self, args: Args, shape: tuple[int, ...], device: torch.device) -> None:
        channels, height, width = shape
        rollout = (args.num_steps, args.num_envs)
        self._pictures = torch.zeros((*rollout, height, width, channels), dtype=torch.uint8, device=device)
        self.obs = self._pictures.permute(0, 1, 4, 2, 3)
        self.actions = torch.zeros(rollout, dtype=torch.int64, device=device)
        self.logprobs = torch.zeros(rollout, device=device)
        self.values = torch.zeros(rollout, device=device)
        self.advantages = torch.zeros(rollout, device=device)
        self.returns = torch.zeros(rollout, device=device)

    def add(self, step: int, choice: Choice) -> None:
        self.actions[step] = choice.actions
        self.logprobs[step] = choice.logprobs
        self.values[step] = choice.values

    def batch(self, advantages: Array, returns: Array) -> dict[str, torch.Tensor]:
        """Flattened over steps and environments; every time in the same memory."""
        self.advantages.copy_(torch.from_numpy(advantages))
        self.returns.copy_(torch.from_numpy(returns))
        return {
            "obs": self._pictures.flatten(0, 1),
            "actions": self.actions.flatten(),
            "logprobs": self.logprobs.flatten(),
            "advantages": self.advantages.flatten(),
            "returns": self.returns.flatten(),
            "values": self.values.flatten(),
        }


def minibatch_of(batch: Tensors, args: Args) -> dict[str, torch.Tensor]:
    """The `rows` of a rollout."""
    whole = ("rows", *Coefficients._fields)
    minibatch = {name: tensor.index_select(0, batch["rows"]) for name, tensor in batch.items() if name not in whole}
    minibatch |= {name: batch[name] for name in Coefficients._fields}
    minibatch["obs"] = minibatch["obs"].permute(0, 3, 1, 2)
    if args.norm_adv:
        minibatch["advantages"] = normalised(minibatch["advantages"])
    return minibatch


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs, observations="pixels")
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert observation_space.shape is not None
    assert isinstance(action_space, gym.spaces.Discrete)
    agent = Agent(action_space)
    learner = Learner(agent, args, run.device)
    rollout = Rollout(args, observation_space.shape, run.device)
    rewards = np.zeros((args.num_steps, args.num_envs), dtype=np.float32)
    dones = np.zeros_like(rewards)
    run.explain_with(lambda seen: of_choices(*agent(seen)))

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        first_iteration = saved["iteration"] + 1
        obs = envs.current_obs

    for iteration in range(first_iteration, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        coefficients = Coefficients(
            learning_rate=(1.0 - progress) * args.learning_rate,
            clip_coef=args.clip_coef,
            ent_coef=args.ent_coef,
            vf_coef=args.vf_coef,
        )

        # Collect.
        noise = gumbel(run.generator, (*rewards.shape, int(action_space.n)))
        with rounded_once(run.device):
            for step in range(args.num_steps):
                rollout.obs[step] = torch.from_numpy(obs)
                choice = learner.act(rollout.obs[step], noise[step])
                rollout.add(step, choice)
                obs, rewards[step], terminations, truncations, _ = envs.step(choice.actions.cpu().numpy())
                dones[step] = terminations | truncations

        # Estimate the advantages; a truncation is an end to them, as upstream.
        last_values = learner.values(torch.as_tensor(obs, device=run.device))
        values = torch.cat([rollout.values, last_values[None]]).cpu().numpy()
        advantages, returns = gae(rewards, values, dones, gamma=args.gamma, gae_lambda=args.gae_lambda)
        batch = rollout.batch(advantages, returns)

        # Improve.
        logged: list[torch.Tensor] = []
        for _ in range(args.update_epochs):
            shuffled = run.generator.permutation(args.batch_size)
            for start in range(0, args.batch_size, args.minibatch_size):
                logged.append(learner.update(batch, shuffled[start : start + args.minibatch_size], coefficients))
            if args.target_kl is not None and Losses(*logged[-1].tolist()).approx_kl > args.target_kl:
                break

        minibatches = [Losses(*losses) for losses in torch.stack(logged).tolist()]
        scalars = {f"losses/{name}": value for name, value in minibatches[-1]._asdict().items()}
        run.scalars(
            {
                "charts/learning_rate": coefficients.learning_rate,
                **scalars,
                "losses/clipfrac": float(np.mean([losses.clipfrac for losses in minibatches])),
                "losses/explained_variance": explained_variance(values[:-1], returns),
                "charts/SPS": run.steps_per_second(),
            }
        )
        run.histograms(agent)
        if reason := run.checkpoint_reason(ended=iteration == args.num_iterations):
            run.checkpoint({"learner": learner.state(), "iteration": iteration}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent)


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.action_space)
    agent.load_state_dict(file.weights())
    laid_out(agent, torch.device("cpu"))
    return LikelyActions(of_pictures(lambda observations: agent(observations)[0]))


if __name__ == "__main__":
    raise SystemExit(main("ppo_atari"))
