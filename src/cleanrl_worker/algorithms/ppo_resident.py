"""PPO whose environments, networks and updates live on one device (docs/algorithms/ppo_resident.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.categorical import Categorical

from cleanrl_worker.sdk import LikeliestActions, Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.compiled import Compiled
from cleanrl_worker.sdk.explained import of_choices
from cleanrl_worker.sdk.fast.guard import guarded
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.fast.ppo_resident import FastLearner
from cleanrl_worker.sdk.fast.quick import quick
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import as_vectors
from cleanrl_worker.sdk.resident import Report, ResidentEnvs, packed
from mosaic import config
from mosaic.search_range import Search

UPSTREAM = None
ACTIONS = "discrete"
RESIDENT = True
"""Its environments are functions of tensors (`mosaic.envs.tensor`), on the device of the networks."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO on the GPU alone, environments included: for discrete actions and thousands of copies."""

    env_id: str = "CartPole-v1"
    """Gymnasium id of the environment, one that exists as functions of tensors."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Live on the GPU if there is one, else on the CPU."""
    cuda_graph: bool = True
    """Record a rollout and an epoch as CUDA graphs and replay them; on a GPU only."""
    compile: bool = True
    """Let torch.compile fuse the kernels of an iteration: some seconds more at the start; on a GPU only."""
    tf32: bool = True
    """Let the GPU's matrix units round the factors of a product to TensorFloat32."""
    total_timesteps: Annotated[int, Ge(1)] = 10_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 1e-3
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1024
    """Copies of the environment that are stepped at once."""
    num_steps: Annotated[int, Ge(1), Search(16, 512, "power_of_two")] = 32
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(1, 32, "power_of_two")] = 4
    """Minibatches that a rollout is cut into; a divisor of its steps."""
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

    def __post_init__(self) -> None:
        if self.batch_size % self.num_minibatches:
            raise ValueError(
                f"num_minibatches is {self.num_minibatches}, which does not divide the {self.batch_size} steps of a"
                " rollout (num_envs × num_steps)"
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
    def num_iterations(self) -> int:
        return self.total_timesteps // self.batch_size


def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)  # type: ignore[arg-type]
    return layer


class Agent(nn.Module):
    """Two networks of two hidden layers: which action to take, and what a state is worth."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        inputs = int(np.prod(observation_space.shape or ()))
        self.choices = int(action_space.n)  # type: ignore[attr-defined]
        self.critic = nn.Sequential(
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 1), std=1.0),
        )
        self.actor = nn.Sequential(
            layer_init(nn.Linear(inputs, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, 64)),
            nn.Tanh(),
            layer_init(nn.Linear(64, self.choices), std=0.01),
        )

    def values(self, obs: torch.Tensor) -> torch.Tensor:
        return self.critic(obs).view(-1)


class Batch(NamedTuple):
    """A rollout, or a minibatch of it, flattened over steps and environments."""

    obs: torch.Tensor
    actions: torch.Tensor
    logprobs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    values: torch.Tensor

    def rows(self, index: torch.Tensor | slice) -> "Batch":
        return Batch(*(field[index] for field in self))


class Coefficients(NamedTuple):
    """Numbers that may change from one update to the next, as tensors: a graph would hold a Python number for good."""

    learning_rate: Any
    clip_coef: Any
    ent_coef: Any
    vf_coef: Any


def gae(
    rewards: torch.Tensor, values: torch.Tensor, dones: torch.Tensor, gamma: float, gae_lambda: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and returns of a rollout of `steps` × `envs`; `values` has one row more.

    `dones[t]` tells that step t ended its episode, so that `values[t + 1]` belongs to the next one and nothing flows
    back from there; a truncation is an end too, as upstream.
    """
    continues = 1.0 - dones
    deltas = rewards + gamma * values[1:] * continues - values[:-1]
    last = deltas[-1]
    advantages = [last]
    for step in range(len(rewards) - 2, -1, -1):
        last = deltas[step] + gamma * gae_lambda * continues[step] * last
        advantages.append(last)
    stacked = torch.stack(advantages[::-1])
    return stacked, stacked + values[:-1]


def ppo_loss(
    agent: Agent, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """PPO's loss of a minibatch, and what is logged of it; the coefficients are part of the batch."""
    clip_coef = batch["clip_coef"]
    distribution = Categorical(logits=agent.actor(batch["obs"]), validate_args=False)
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


def normalised(advantages: torch.Tensor) -> torch.Tensor:
    """Each row with zero mean and unit (sample) standard deviation; a lone advantage has neither."""
    if advantages.shape[1] == 1:
        return advantages
    return (advantages - advantages.mean(1, keepdim=True)) / (advantages.std(1, keepdim=True) + 1e-8)


class Learner:
    """Acts and learns by the loss. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.optimizer = adam(agent, learning_rate=args.learning_rate, eps=1e-5)
        self.loss = Compiled(ppo_loss, device, enabled=args.compile)

    @torch.no_grad()
    def act(self, obs: torch.Tensor, noise: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions, and their log-probabilities."""
        logits = self.agent.actor(obs)
        actions = (logits + noise).argmax(1)
        return actions, Categorical(logits=logits, validate_args=False).log_prob(actions)

    @torch.no_grad()
    def values(self, obs: torch.Tensor) -> torch.Tensor:
        return self.agent.values(obs)

    def update(self, batch: Batch, coefficients: Coefficients) -> dict[str, torch.Tensor]:
        """One step on a minibatch; what is logged of it."""
        loss, logged = self.loss(self.agent, batch._asdict() | coefficients._asdict(), self.args)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), self.args.max_grad_norm)
        set_learning_rate(self.optimizer, coefficients.learning_rate)
        self.optimizer.step()
        return {name: value.detach() for name, value in logged.items()}

    def state(self) -> dict[str, Any]:
        return {"agent": self.agent.state_dict(), "optimizer": optimizer_state(self.optimizer)}

    def load(self, state: dict[str, Any]) -> None:
        self.agent.load_state_dict(state["agent"])
        load_optimizer(self.optimizer, state["optimizer"])


class Iteration:
    """A rollout and the updates by it. On a GPU the rollout is one graph and an epoch another: nothing leaves the card
    but one vector at the end.
    """

    def __init__(self, learner: Learner, envs: ResidentEnvs, args: Args, choices: int) -> None:
        self.learner, self.envs, self.args, self.choices = learner, envs, args, choices
        self.memory = envs.memory
        """What a replay writes besides the learner; here it is found and compared."""
        device = envs.device
        self.randoms, self.rollouts, self.orders = Inputs(device), Inputs(device), Inputs(device)
        self.step = Compiled(self.one_step, device, enabled=args.compile)
        self.judge = Compiled(self.assess, device, enabled=args.compile)
        self.shuffle = Compiled(self.shuffled, device, enabled=args.compile)
        self.play = Replayed(self.collect, device, enabled=args.cuda_graph)
        self.learn = Replayed(self.epoch, device, enabled=args.cuda_graph)
        self.logged: tuple[str, ...] = ()
        """Names of what is logged of an update."""

    def run(self, coefficients: Coefficients) -> Report:
        args, device = self.args, self.envs.device
        noise = -torch.empty(args.num_steps, args.num_envs, self.choices, device=device).exponential_().log()
        rollout = self.play(self.randoms.put({"draws": self.envs.draws(args.num_steps), "noise": noise}))
        batch = self.rollouts.put({name: rollout[name] for name in Batch._fields})
        numbers = {name: np.float32(value) for name, value in coefficients._asdict().items()}
        losses: list[torch.Tensor] = []
        for _ in range(args.update_epochs):
            order = torch.randperm(args.batch_size, device=device)
            losses.append(self.learn(batch | self.orders.put({"order": order, **numbers}))["losses"].clone())
        return Report(self.logged, torch.stack(losses), rollout["report"], steps=args.num_steps)

    def one_step(self, episodes: Any, obs: torch.Tensor, noise: torch.Tensor, draws: torch.Tensor) -> Any:
        actions, logprobs = self.learner.act(obs, noise)
        episodes, outcome = self.envs.advance(episodes, actions, draws)
        return actions, logprobs, episodes, outcome, self.envs.observe(episodes)

    def assess(self, obs: torch.Tensor, rewards: torch.Tensor, overs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Values of a rollout, its advantages and returns, and how much of the returns the values explain."""
        args = self.args
        values = self.learner.values(obs).view(args.num_steps + 1, args.num_envs)
        advantages, returns = gae(rewards.float(), values, overs.float(), args.gamma, args.gae_lambda)
        return values[:-1], advantages, returns, 1 - (returns - values[:-1]).var() / returns.var()

    def collect(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        """A rollout, flattened; the environments stand behind it afterwards."""
        episodes = self.envs.episodes
        seen, chosen, likely, outcomes = [self.envs.observe(episodes)], list[Any](), list[Any](), list[Any]()
        for noise, draws in zip(inputs["noise"], inputs["draws"], strict=True):
            actions, logprobs, episodes, outcome, obs = self.step(episodes, seen[-1], noise, draws)
            seen.append(obs)
            chosen.append(actions)
            likely.append(logprobs)
            outcomes.append(outcome)
        self.envs.put(episodes)

        # Values are not needed while stepping: they come from one pass, and then the advantages.
        obs = torch.cat(seen)
        rewards = torch.stack([outcome.rewards for outcome in outcomes])
        overs = torch.stack([outcome.terminations | outcome.truncations for outcome in outcomes])
        values, advantages, returns, explained = self.judge(obs, rewards, overs)
        batch = Batch(
            obs=obs[: self.args.batch_size],
            actions=torch.cat(chosen),
            logprobs=torch.cat(likely),
            advantages=advantages.reshape(-1),
            returns=returns.reshape(-1),
            values=values.reshape(-1),
        )
        return batch._asdict() | {"report": packed(explained, outcomes, overs)}

    def shuffled(self, batch: Batch, order: torch.Tensor) -> list[Batch]:
        """Minibatches of a rollout in a random order."""
        mixed, parts = batch.rows(order), self.args.num_minibatches
        if self.args.norm_adv:
            mixed = mixed._replace(advantages=normalised(mixed.advantages.view(parts, -1)).view(-1))
        return [Batch(*fields) for fields in zip(*(field.chunk(parts) for field in mixed), strict=True)]

    def epoch(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        """An update for each minibatch of the rollout."""
        batch = Batch(*(inputs[name] for name in Batch._fields))
        coefficients = Coefficients(*(inputs[name] for name in Coefficients._fields))
        logged = [self.learner.update(each, coefficients) for each in self.shuffle(batch, inputs["order"])]
        last = logged[-1] | {"clipfrac": torch.stack([each["clipfrac"] for each in logged]).mean()}
        self.logged = tuple(last)
        return {"losses": torch.stack([value.float() for value in last.values()])}


def train(run: Run, args: Args) -> None:
    envs = run.make_resident_envs(args.env_id, args.num_envs)
    if args.tf32:
        torch.set_float32_matmul_precision("high")
    agent = Agent(envs.single_observation_space, envs.single_action_space).to(run.device)
    learner = guarded(run, Learner(agent, args, run.device), lambda: FastLearner(agent, args))
    iterate = Iteration(learner, envs, args, agent.choices)
    run.explain_with(lambda seen: of_choices(agent.actor(seen.flatten(1)), agent.values(seen.flatten(1))))

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        first_iteration = saved["iteration"] + 1

    for iteration in range(first_iteration, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        rate = (1.0 - progress) * args.learning_rate
        report = iterate.run(Coefficients(rate, args.clip_coef, args.ent_coef, args.vf_coef))
        envs.advanced(report)
        run.scalars(
            {
                "charts/learning_rate": rate,
                **{f"losses/{name}": value for name, value in report.losses.items()},
                **report.episodes,
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

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        logits = self.actor(observations.reshape(len(observations), -1))
        if not deterministic:
            logits = logits + gumbel(generator, logits.shape)
        return logits.argmax(1)

    def in_torch(self) -> LikeliestActions:
        def actions(observations: torch.Tensor) -> torch.Tensor:
            return self.actor.in_torch(as_vectors(observations)).argmax(1)

        return LikeliestActions(actions)

    def explain(self, observations: Array) -> dict[str, Any]:
        """Probability of each action and the value, for the first of these observations."""
        rows = observations.reshape(len(observations), -1)
        logits = self.actor(rows)[0]
        shares = np.exp(logits - logits.max())
        return {"probabilities": tuple((shares / shares.sum()).tolist()), "value": float(self.critic(rows)[0, 0])}


def load(file: PolicyFile) -> Policy:
    agent = Agent(file.observation_space, file.action_space)
    config.from_json(Args, file.args, what="policy file")
    agent.load_state_dict(file.weights())
    return CategoricalPolicy(agent)


if __name__ == "__main__":
    raise SystemExit(main("ppo_resident"))
