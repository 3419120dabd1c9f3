"""PPO with a Gaussian policy on vector observations (docs/algorithms/ppo_continuous_action.md)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.normal import Normal

from cleanrl_worker.sdk import LikeliestActions, Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.explained import of_value
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.ppo_continuous_action import FastLearner
from cleanrl_worker.sdk.fast.quick import quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.logged_numbers import explained_variance
from cleanrl_worker.sdk.normalise import ObservationNormaliser, RewardNormaliser, normaliser_of
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import as_vectors, within
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "continuous"
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO: on-policy, for continuous actions and vector observations."""

    env_id: str = "HalfCheetah-v5"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one; networks of this size are faster on the CPU (--no-cuda)."""
    cuda_graph: bool = True
    """Record acting and the update of a minibatch as CUDA graphs and replay them; on a GPU only."""
    total_timesteps: Annotated[int, Ge(1)] = 1_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 3e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    num_steps: Annotated[int, Ge(1), Search(32, 2048, "power_of_two")] = 2048
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(1, 32, "power_of_two")] = 32
    """Minibatches that a rollout is cut into."""
    update_epochs: Annotated[int, Ge(1), Search(1, 20, "log")] = 10
    """Passes over each rollout."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    clip_coef: Annotated[float, Gt(0), Search(0.1, 0.4)] = 0.2
    """How far the policy may move from the one that collected the rollout, as a probability ratio."""
    clip_vloss: bool = True
    """Clip the value loss as well."""
    ent_coef: Annotated[float, Ge(0), Search(1e-5, 0.1, "log")] = 0.0
    """Weight of the entropy bonus."""
    vf_coef: Annotated[float, Ge(0), Search(0.2, 1.0)] = 0.5
    """Weight of the value loss."""
    max_grad_norm: Annotated[float, Gt(0), Search(0.3, 5.0, "log")] = 0.5
    """Gradients longer than this are scaled down to it."""
    target_kl: Annotated[float, Gt(0)] | None = None
    """Stop the epochs of an iteration once the approximate KL divergence exceeds this."""
    bootstrap_truncated: bool = False
    """Add what the critic expects beyond a time limit, as Stable-Baselines3 does; off, a truncation is an end."""

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
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    """Two networks of two hidden layers: the mean action, and what a state is worth; one spread for all states."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Box)
        inputs, outputs = int(np.prod(observation_space.shape or ())), int(np.prod(action_space.shape))
        self.critic = nn.Sequential(
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, outputs), std=0.01),
        )
        self.actor_logstd = nn.Parameter(torch.zeros(1, outputs))

    def policy(self, obs: torch.Tensor) -> Normal:
        mean: torch.Tensor = self.actor_mean(obs)
        return Normal(mean, torch.exp(self.actor_logstd.expand_as(mean)), validate_args=False)


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
    distribution = agent.policy(batch["obs"])
    entropy = distribution.entropy().sum(1).mean()
    logratio = distribution.log_prob(batch["actions"]).sum(1) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
    value = agent.critic(batch["obs"]).view(-1)
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
    def std(self) -> Array:
        return self.agent.actor_logstd.exp().cpu().numpy()

    @torch.no_grad()
    def choice(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"means": self.agent.actor_mean(inputs["obs"])}

    def act(self, obs: Array, noise: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["means"].cpu().numpy() + noise

    @torch.no_grad()
    def log_probs(self, obs: Array, actions: Array) -> Array:
        return self.agent.policy(self.tensor(obs)).log_prob(self.tensor(actions)).sum(1).cpu().numpy()

    @torch.no_grad()
    def values(self, obs: Array) -> Array:
        return self.agent.critic(self.tensor(obs)).view(-1).cpu().numpy()

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
    envs = run.make_envs(args.env_id, args.num_envs)
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert observation_space.shape is not None
    assert isinstance(action_space, gym.spaces.Box)
    agent = Agent(observation_space, action_space).to(run.device)
    learner = guarded(run, Learner(agent, args, run.device), lambda: FastLearner(agent, args))
    observation_normaliser = ObservationNormaliser(observation_space.shape)
    reward_normaliser = RewardNormaliser(args.num_envs, args.gamma)
    rollout = (args.num_steps, args.num_envs)
    obs = np.zeros((args.num_steps + 1, args.num_envs, *observation_space.shape), dtype=np.float32)
    actions = np.zeros((*rollout, *action_space.shape), dtype=np.float32)
    rewards = np.zeros(rollout, dtype=np.float64)
    terminations = np.zeros(rollout, dtype=np.bool_)
    dones = np.zeros(rollout, dtype=np.float32)
    beyond = np.zeros(rollout, dtype=np.float32)
    # What the networks see and choose, in the same memory: one vector an environment.
    inputs, choices = obs.reshape(args.num_steps + 1, args.num_envs, -1), actions.reshape(*rollout, -1)

    def explain(seen: torch.Tensor) -> dict[str, Any]:
        rows = observation_normaliser.apply(seen.cpu().numpy()).reshape(1, -1)
        return of_value(agent.critic(torch.as_tensor(rows, dtype=torch.float32, device=run.device)))

    run.explain_with(explain)

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        obs[-1] = observation_normaliser.first(envs.reset(args.seed))
    else:
        learner.load(saved["learner"])
        observation_normaliser.load(saved["observation_normaliser"])
        reward_normaliser.load(saved["reward_normaliser"])
        first_iteration = saved["iteration"] + 1
        obs[-1] = observation_normaliser.apply(envs.current_obs)

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
        noise = learner.std() * run.generator.standard_normal(choices.shape, dtype=np.float32)
        for step in range(args.num_steps):
            choices[step] = learner.act(inputs[step], noise[step])
            clipped = actions[step].clip(action_space.low, action_space.high)
            next_obs, rewards[step], terminations[step], truncations, infos = envs.step(clipped)
            obs[step + 1] = observation_normaliser.next(next_obs, infos)
            dones[step] = terminations[step] | truncations
            beyond[step] = 0.0
            if args.bootstrap_truncated and (cut := truncations & ~terminations[step]).any():
                last_obs = observation_normaliser.apply(infos["final_obs"][cut]).reshape(cut.sum(), -1)
                beyond[step, cut] = args.gamma * learner.values(last_obs.astype(np.float32))
        scaled_rewards = reward_normaliser.rollout(rewards, terminations) + beyond

        # Assess and estimate the advantages; a truncation is an end to them, as upstream.
        values = learner.values(inputs.reshape(args.batch_size + args.num_envs, -1)).reshape(-1, args.num_envs)
        advantages, returns = gae(scaled_rewards, values, dones, gamma=args.gamma, gae_lambda=args.gae_lambda)
        flat_obs, flat_actions = inputs[:-1].reshape(args.batch_size, -1), choices.reshape(args.batch_size, -1)
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
            state = {
                "learner": learner.state(),
                "observation_normaliser": observation_normaliser.state(),
                "reward_normaliser": reward_normaliser.state(),
                "iteration": iteration,
            }
            run.checkpoint(state, reason=reason)
        if reason == "stop":
            break
    run.save_policy(
        agent,
        observation_normaliser=observation_normaliser.state(),
        return_normaliser=reward_normaliser.state(),
    )


class GaussianPolicy:
    """Acts with a trained agent and the observation moments that it was trained with."""

    def __init__(self, agent: Agent, normaliser: ObservationNormaliser, action_space: gym.spaces.Box) -> None:
        self.actor = quick(agent.actor_mean)
        self.critic = quick(agent.critic)
        self.std = agent.actor_logstd.detach().exp().numpy()
        self.normaliser = normaliser
        self.action_space = action_space

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        inputs = self.normaliser.apply(observations).reshape(len(observations), -1)
        actions = self.actor(inputs)
        if not deterministic:
            actions = actions + self.std * generator.standard_normal(actions.shape, dtype=np.float32)
        space = self.action_space
        return actions.reshape(-1, *space.shape).clip(space.low, space.high)

    def in_torch(self) -> LikeliestActions:
        def actions(observations: torch.Tensor) -> torch.Tensor:
            means = self.actor.in_torch(as_vectors(self.normaliser.in_torch(observations)))
            return within(self.action_space, means)

        return LikeliestActions(actions)

    def explain(self, observations: Array) -> dict[str, Any]:
        """The value of the first of these observations, in the units of the normalised return."""
        inputs = self.normaliser.apply(observations).reshape(len(observations), -1)
        return {"value": float(self.critic(inputs)[0, 0])}


def load(file: PolicyFile) -> Policy:
    config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.observation_space, file.action_space)
    agent.load_state_dict(file.weights())
    assert isinstance(file.action_space, gym.spaces.Box)
    return GaussianPolicy(agent, normaliser_of(file), file.action_space)


if __name__ == "__main__":
    raise SystemExit(main("ppo_continuous_action"))
