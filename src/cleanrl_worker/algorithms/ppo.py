"""PPO with a categorical policy for each element of an action (docs/algorithms/ppo.md)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Any, Literal, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.categorical import Categorical

from cleanrl_worker.sdk import LikeliestActions, Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_choices, of_value
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.ppo import FastLearner
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.fast.quick import quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.logged_numbers import explained_variance
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.part_networks import Parts
from cleanrl_worker.sdk.policies.choosing import as_vectors
from mosaic import config
from mosaic.envs.observations.action_masks import sizes_of
from mosaic.envs.observations.parted_rows import PartedRows
from mosaic.search_range import Search

ACTIONS = ("discrete", "multi_discrete")
FORBIDDEN = -1e8
"""Logit of a choice that is not allowed: its probability is exactly 0, and its gradient too."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO: on-policy, for discrete actions, one or several at once."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one; networks of this size are faster on the CPU (--no-cuda)."""
    cuda_graph: bool = True
    """Record acting and the update of a minibatch as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 500_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 2.5e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 4
    """Environments stepped in parallel."""
    num_steps: Annotated[int, Ge(1), Search(32, 2048, "power_of_two")] = 128
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(1, 32, "power_of_two")] = 4
    """Minibatches that a rollout is cut into."""
    update_epochs: Annotated[int, Ge(1), Search(1, 20, "log")] = 4
    """Passes over each rollout."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    clip_coef: Annotated[float, Gt(0), Search(0.1, 0.4)] = 0.2
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
    bootstrap_truncated: bool = False
    """Add what the critic expects beyond a time limit, as Stable-Baselines3 does; off, a truncation is an end."""
    network: Literal["flat", "parts"] = "flat"
    """What sees the observation: flat makes it one vector; parts looks at pictures and grids through convolutions."""
    action_masks: bool = True
    """Take allowed actions only, where the environment says which these are."""

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


def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)  # type: ignore[arg-type]
    return layer


class Agent(nn.Module):
    """Two networks of two hidden layers: which action to take, and what a state is worth.

    The last `masked` numbers of an observation are its action mask, one for each choice; no network sees them.
    """

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any], network: str = "flat") -> None:
        super().__init__()
        self.shape = action_space.shape or ()
        self.sizes = sizes_of(action_space)
        self.masked = observation_space.choices if isinstance(observation_space, PartedRows) else 0
        inputs = int(np.prod(observation_space.shape or ())) - self.masked
        fronts: list[Parts] = []
        if network == "parts" and isinstance(observation_space, PartedRows):
            fronts = [Parts(list(observation_space.observed.values())) for _ in range(2)]
            inputs = int(fronts[0](torch.zeros(1, inputs)).shape[1])
        self.critic = nn.Sequential(
            *fronts[:1],
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            *fronts[1:],
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, sum(self.sizes)), std=0.01),
        )

    def logits(self, obs: torch.Tensor) -> torch.Tensor:
        """Of the choices of each element of an action, one element behind the other."""
        if not self.masked:
            return self.actor(obs)
        allowed = obs[:, -self.masked :] > 0
        # After the end nothing may be allowed; nothing is chosen there either.
        allowed = allowed | ~allowed.any(1, keepdim=True)
        return torch.where(allowed, self.actor(obs[:, : -self.masked]), FORBIDDEN)

    def values(self, obs: torch.Tensor) -> torch.Tensor:
        return self.critic(obs[:, : -self.masked] if self.masked else obs).view(-1)


class Choices:
    """The distribution of an action: its elements are chosen apart, so their log-probabilities and entropies add up."""

    def __init__(self, logits: torch.Tensor, sizes: Sequence[int]) -> None:
        self.elements = [Categorical(logits=each, validate_args=False) for each in logits.split(list(sizes), dim=1)]

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        columns = actions.view(len(actions), -1).unbind(1)
        return reduce(torch.add, [each.log_prob(column) for each, column in zip(self.elements, columns, strict=True)])

    def entropy(self) -> torch.Tensor:
        return reduce(torch.add, [each.entropy() for each in self.elements])


class Batch(NamedTuple):
    """A rollout, or a minibatch of it, flattened over steps and environments."""

    obs: Array
    actions: Array
    logprobs: Array
    advantages: Array
    returns: Array
    values: Array

    def rows(self, index: Array | slice) -> "Batch":
        return Batch(*(field[index] for field in self))


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next: a schedule changes them in `train`."""

    learning_rate: float
    clip_coef: float
    ent_coef: float
    vf_coef: float


def gae(rewards: Array, values: Array, dones: Array, *, gamma: float, gae_lambda: float) -> tuple[Array, Array]:
    """Advantages and returns of a rollout of `steps` × `envs`; `values` has one row more.

    `dones[t]` tells that step t ended its episode, so that `values[t + 1]` belongs to the next one and nothing flows
    back from there (CleanRL stores the same flag one row later).
    """
    continues = 1.0 - dones
    deltas = rewards + gamma * values[1:] * continues - values[:-1]
    decays = gamma * gae_lambda * continues
    # In Python floats, which are quicker than arrays of a few environments.
    columns: list[list[float]] = deltas.T.tolist()
    for column, decay in zip(columns, decays.T.tolist(), strict=True):
        for step in reversed(range(len(column) - 1)):
            column[step] += decay[step] * column[step + 1]
    advantages = np.array(columns, dtype=np.float32).T
    return advantages, advantages + values[:-1]


def ppo_loss(
    agent: Agent, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """PPO's loss of a minibatch, and what is logged of it; the coefficients are part of the batch."""
    clip_coef = batch["clip_coef"]
    distribution = Choices(agent.logits(batch["obs"]), agent.sizes)
    entropy = distribution.entropy().mean()
    logratio = distribution.log_prob(batch["actions"]) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
    value = agent.values(batch["obs"])
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


def normalised(advantages: Array) -> Array:
    """Zero mean and unit (sample) standard deviation; a lone advantage has neither and stays as it is."""
    rows = len(advantages)
    if rows == 1:
        return advantages
    # By hand, because ndarray.mean and ndarray.std take three times as long for a minibatch.
    centred = advantages - advantages.sum() / np.float32(rows)
    return centred / np.float32(math.sqrt(centred.dot(centred) / (rows - 1)) + 1e-8)


class Learner:
    """Acts and learns by the loss. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizer = adam(agent, learning_rate=args.learning_rate, eps=1e-5)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.choice, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    def tensor(self, array: Array) -> torch.Tensor:
        return torch.as_tensor(array, device=self.device)

    @torch.no_grad()
    def choice(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        scores = self.agent.logits(inputs["obs"]) + inputs["noise"]
        picks = [each.argmax(1) for each in scores.split(list(self.agent.sizes), dim=1)]
        return {"actions": picks[0] if len(picks) == 1 else torch.stack(picks, dim=1)}

    def act(self, obs: Array, noise: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs, "noise": noise}))["actions"].cpu().numpy()

    @torch.no_grad()
    def log_probs(self, obs: Array, actions: Array) -> Array:
        distribution = Choices(self.agent.logits(self.tensor(obs)), self.agent.sizes)
        return distribution.log_prob(self.tensor(actions)).cpu().numpy()

    @torch.no_grad()
    def values(self, obs: Array) -> Array:
        return self.agent.values(self.tensor(obs)).cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, logged = ppo_loss(self.agent, batch, self.args)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        return {name: value.detach() for name, value in logged.items()}

    def update(self, batch: Batch, coefficients: Coefficients) -> dict[str, float]:
        """One step on a minibatch; what is logged of it."""
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        return {name: float(value) for name, value in self.descend(self.inputs.put(batch._asdict() | numbers)).items()}

    def state(self) -> dict[str, Any]:
        return {"agent": self.agent.state_dict(), "optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        load_optimizer(self.optimizer, state["optimizer"])


def train(run: Run, args: Args) -> None:
    seen = "parts" if args.network == "parts" else "vector"
    envs = run.make_envs(args.env_id, args.num_envs, observations=seen, masks=args.action_masks)
    observation_space = envs.single_observation_space
    assert observation_space.shape is not None
    agent = Agent(observation_space, envs.single_action_space, args.network).to(run.device)
    learner = Learner(agent, args, run.device)
    if not (args.network == "parts" or len(agent.sizes) > 1):  # By hand there are neither convolutions nor elements.
        plain = learner
        learner = guarded(run, plain, lambda: FastLearner(agent, args, masked=agent.masked))
    rollout = (args.num_steps, args.num_envs)
    obs = np.zeros((args.num_steps + 1, args.num_envs, *observation_space.shape), dtype=np.float32)
    actions = np.zeros(rollout if len(agent.sizes) == 1 else (*rollout, len(agent.sizes)), dtype=np.int64)
    rewards = np.zeros(rollout, dtype=np.float32)
    dones = np.zeros(rollout, dtype=np.float32)
    # What the networks see and what the environments get, in the same memory: one vector, one action an environment.
    inputs = obs.reshape(args.num_steps + 1, args.num_envs, -1)
    moves = actions.reshape(*rollout, *agent.shape)
    if len(agent.sizes) == 1:
        run.explain_with(lambda seen: of_choices(agent.logits(seen.flatten(1)), agent.values(seen.flatten(1))))
    else:
        run.explain_with(lambda seen: of_value(agent.values(seen.flatten(1))))

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        obs[-1] = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        first_iteration = saved["iteration"] + 1
        obs[-1] = envs.current_obs

    for iteration in range(first_iteration, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        coefficients = Coefficients(
            learning_rate=(1.0 - progress) * args.learning_rate,
            clip_coef=args.clip_coef,
            ent_coef=args.ent_coef,
            vf_coef=args.vf_coef,
        )

        # Collect. Only actions are needed while stepping: values and log-probabilities come from one pass afterwards.
        obs[0] = obs[-1]
        noise = gumbel(run.generator, (*rollout, sum(agent.sizes)))
        for step in range(args.num_steps):
            actions[step] = learner.act(inputs[step], noise[step])
            obs[step + 1], rewards[step], terminations, truncations, infos = envs.step(moves[step])
            dones[step] = terminations | truncations
            if args.bootstrap_truncated and (cut := truncations & ~terminations).any():
                last_obs = infos["final_obs"][cut].reshape(cut.sum(), -1).astype(np.float32)
                rewards[step, cut] += args.gamma * learner.values(last_obs)

        # Assess and estimate the advantages; a truncation is an end to them, as upstream.
        values = learner.values(inputs.reshape(args.batch_size + args.num_envs, -1)).reshape(-1, args.num_envs)
        advantages, returns = gae(rewards, values, dones, gamma=args.gamma, gae_lambda=args.gae_lambda)
        flat_obs, flat_actions = (
            inputs[:-1].reshape(args.batch_size, -1),
            actions.reshape(args.batch_size, *actions.shape[2:]),
        )
        batch = Batch(
            obs=flat_obs,
            actions=flat_actions,
            logprobs=learner.log_probs(flat_obs, flat_actions),
            advantages=advantages.reshape(-1),
            returns=returns.reshape(-1),
            values=values[:-1].reshape(-1),
        )

        # Improve.
        clipfracs: list[float] = []
        losses: dict[str, float] = {}
        for _ in range(args.update_epochs):
            shuffled = batch.rows(run.generator.permutation(args.batch_size))
            for start in range(0, args.batch_size, args.minibatch_size):
                minibatch = shuffled.rows(slice(start, start + args.minibatch_size))
                if args.norm_adv:
                    minibatch = minibatch._replace(advantages=normalised(minibatch.advantages))
                losses = learner.update(minibatch, coefficients)
                clipfracs.append(losses["clipfrac"])
            if args.target_kl is not None and losses["approx_kl"] > args.target_kl:
                break

        scalars = {f"losses/{name}": value for name, value in losses.items()}
        run.scalars(
            {
                "charts/learning_rate": coefficients.learning_rate,
                **scalars,
                "losses/clipfrac": float(np.mean(clipfracs)),
                "losses/explained_variance": explained_variance(batch.values, batch.returns),
                "charts/SPS": run.steps_per_second(),
            }
        )
        run.histograms(agent)
        if reason := run.checkpoint_reason(ended=iteration == args.num_iterations):
            run.checkpoint({"learner": learner.state(), "iteration": iteration}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent)


class CategoricalPolicy:
    """Acts with a trained agent."""

    def __init__(self, agent: Agent) -> None:
        self.actor, self.critic = quick(agent.actor), quick(agent.critic)
        self.sizes, self.masked, self.shape = agent.sizes, agent.masked, agent.shape
        self.agent = agent

    def logits(self, rows: Array) -> Array:
        if not self.masked:
            return self.actor(rows)
        return np.where(rows[:, -self.masked :] > 0, self.actor(rows[:, : -self.masked]), np.float32(FORBIDDEN))

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        logits = self.logits(observations.reshape(len(observations), -1))
        if not deterministic:
            logits = logits + gumbel(generator, logits.shape)
        if not self.shape:
            return logits.argmax(1)
        elements = np.split(logits, np.cumsum(self.sizes)[:-1], axis=1)
        return np.stack([each.argmax(1) for each in elements], axis=1).reshape(-1, *self.shape)

    def in_torch(self) -> LikeliestActions:
        def actions(observations: torch.Tensor) -> torch.Tensor:
            logits = self.agent.logits(as_vectors(observations))
            if not self.shape:
                return logits.argmax(1)
            return torch.stack([each.argmax(1) for each in logits.split(self.sizes, 1)], 1).reshape(-1, *self.shape)

        return LikeliestActions(actions)

    def explain(self, observations: Array) -> dict[str, Any]:
        """Probability of each action, where it has one element, and the value, for the first of these observations."""
        rows = observations.reshape(len(observations), -1)
        value = {"value": float(self.critic(rows[:, : -self.masked] if self.masked else rows)[0, 0])}
        if self.shape:
            return value
        logits = self.logits(rows)[0]
        shares = np.exp(logits - logits.max())
        return {"probabilities": tuple((shares / shares.sum()).tolist()), **value}


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.observation_space, file.action_space, args.network)
    agent.load_state_dict(file.weights())
    return CategoricalPolicy(agent)


if __name__ == "__main__":
    raise SystemExit(main("ppo"))
