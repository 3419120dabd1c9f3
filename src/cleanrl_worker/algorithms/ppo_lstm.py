"""PPO with a memory (LSTM) and a categorical policy on vector observations (docs/algorithms/ppo_lstm.md)."""

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
from cleanrl_worker.sdk.fast.guard import guarded, guarded_policy
from cleanrl_worker.sdk.fast.lstm import State
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.fast.ppo_lstm import FastLearner
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.logged_numbers import explained_variance
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from cleanrl_worker.sdk.policies.choosing import as_vectors
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
UPSTREAM = None
UNITS = 128
"""Of the layer before the memory, and of the memory."""
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """PPO with an LSTM: on-policy, for discrete actions and vector observations that do not tell everything."""

    env_id: str = "mosaic/CartPoleNoVelocity-v1"
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
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-2, "log")] = 2e-3
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 8
    """Environments stepped in parallel; a multiple of num_minibatches."""
    num_steps: Annotated[int, Ge(1), Search(32, 512, "power_of_two")] = 128
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.9, 0.9999, "logit")] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1), Search(0.8, 0.99, "logit")] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1), Search(1, 4, "power_of_two")] = 4
    """Minibatches that a rollout is cut into; each takes whole environments, because a memory cannot be shuffled."""
    update_epochs: Annotated[int, Ge(1), Search(1, 20, "log")] = 4
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
        if self.num_envs % self.num_minibatches:
            raise ValueError(
                f"num_envs is {self.num_envs}, not a multiple of num_minibatches, {self.num_minibatches}: a minibatch"
                " takes whole environments"
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
    def minibatch_envs(self) -> int:
        return self.num_envs // self.num_minibatches

    @property
    def num_iterations(self) -> int:
        return self.total_timesteps // self.batch_size


def layer_init(layer: nn.Linear, std: float = 2**0.5) -> nn.Linear:
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    """A layer, a memory, and two heads on it: which action to take, and what a state is worth."""

    def __init__(self, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.network = layer_init(nn.Linear(int(np.prod(observation_space.shape or ())), UNITS))
        self.lstm = nn.LSTM(UNITS, UNITS)
        for name, parameter in self.lstm.named_parameters():
            if "bias" in name:
                nn.init.constant_(parameter, 0.0)
            else:
                nn.init.orthogonal_(parameter, 1.0)
        self.actor = layer_init(nn.Linear(UNITS, int(action_space.n)), std=0.01)
        self.critic = layer_init(nn.Linear(UNITS, 1), std=1.0)

    def hidden(
        self, obs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor], starts: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """What is remembered after each step (steps, envs, units), and the last state, (envs, units) twice.

        `starts` (steps, envs) is 1 where an episode begins, which knows nothing of the one before.
        """
        features = torch.relu(self.network(obs))
        hidden, cell = state[0][None], state[1][None]
        after: list[torch.Tensor] = []
        for x, start in zip(features, starts, strict=True):
            keep = (1.0 - start).view(1, -1, 1)
            output, (hidden, cell) = self.lstm(x[None], (keep * hidden, keep * cell))
            after.append(output)
        return torch.cat(after), (hidden[0], cell[0])


class Batch(NamedTuple):
    """A rollout, or a minibatch of its environments: steps × environments, but for the state that it begins with."""

    obs: Array
    starts: Array
    actions: Array
    logprobs: Array
    advantages: Array
    returns: Array
    values: Array
    hidden: Array
    """(1, envs, units), as the cell."""
    cell: Array

    def envs(self, index: Array) -> "Batch":
        return Batch(*(np.ascontiguousarray(field[:, index]) for field in self))


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
    hidden, _ = agent.hidden(batch["obs"], (batch["hidden"][0], batch["cell"][0]), batch["starts"])
    distribution = Categorical(logits=agent.actor(hidden), validate_args=False)
    entropy = distribution.entropy().mean()
    logratio = distribution.log_prob(batch["actions"]) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(-advantages * ratio, -advantages * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
    value = agent.critic(hidden).squeeze(2)
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
    if advantages.size == 1:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)


class Learner:
    """Acts and learns by the loss. On a CPU `FastLearner` stands in for it, as long as it computes the same."""

    def __init__(self, agent: Agent, args: Args, device: torch.device) -> None:
        self.agent = agent
        self.args = args
        self.device = device
        self.optimizer = adam(agent, learning_rate=args.learning_rate, eps=1e-5)
        self.inputs = Inputs(device)
        self.recall = Replayed(self.memory, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    def tensor(self, array: Array) -> torch.Tensor:
        return torch.as_tensor(array, device=self.device)

    @torch.no_grad()
    def memory(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        before = inputs["hidden"], inputs["cell"]
        _, after = self.agent.hidden(inputs["obs"][None], before, inputs["starts"][None])
        return dict(zip(State._fields, after, strict=True))

    def remember(self, obs: Array, state: State, starts: Array) -> State:
        after = self.recall(self.inputs.put({"obs": obs, **state._asdict(), "starts": starts}))
        return State(**{name: each.cpu().numpy() for name, each in after.items()})

    @torch.no_grad()
    def logits(self, hidden: Array) -> Array:
        return self.agent.actor(self.tensor(hidden)).cpu().numpy()

    @torch.no_grad()
    def log_probs(self, hidden: Array, actions: Array) -> Array:
        distribution = Categorical(logits=self.agent.actor(self.tensor(hidden)), validate_args=False)
        return distribution.log_prob(self.tensor(actions)).cpu().numpy()

    @torch.no_grad()
    def values(self, hidden: Array) -> Array:
        return self.agent.critic(self.tensor(hidden)).view(-1).cpu().numpy()

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


def nothing_remembered(rows: int) -> State:
    return State(np.zeros((rows, UNITS), np.float32), np.zeros((rows, UNITS), np.float32))


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs)
    observation_space, action_space = envs.single_observation_space, envs.single_action_space
    assert observation_space.shape is not None
    assert isinstance(action_space, gym.spaces.Discrete)
    agent = Agent(observation_space, action_space).to(run.device)
    learner = guarded(run, Learner(agent, args, run.device), lambda: FastLearner(agent, args))
    rollout = (args.num_steps, args.num_envs)
    obs = np.zeros((args.num_steps + 1, args.num_envs, *observation_space.shape), dtype=np.float32)
    # One row more than steps, as the observations: an episode that begins with the next rollout is known already.
    starts = np.ones((args.num_steps + 1, args.num_envs), dtype=np.float32)
    hidden = np.zeros((args.num_steps + 1, args.num_envs, UNITS), dtype=np.float32)
    actions = np.zeros(rollout, dtype=np.int64)
    rewards = np.zeros(rollout, dtype=np.float32)
    # What the network sees, in the same memory: one vector an environment.
    inputs = obs.reshape(args.num_steps + 1, args.num_envs, -1)
    memory = nothing_remembered(args.num_envs)

    saved = run.resume()
    if saved is None:
        first_iteration = 1
        obs[-1] = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        first_iteration = saved["iteration"] + 1
        obs[-1] = envs.current_obs
        if run.episodes_went_on:
            memory, starts[-1] = State(saved["hidden"], saved["cell"]), saved["starts"]

    for iteration in range(first_iteration, args.num_iterations + 1):
        progress = (iteration - 1.0) / args.num_iterations if args.anneal_lr else 0.0
        coefficients = Coefficients(
            learning_rate=(1.0 - progress) * args.learning_rate,
            clip_coef=args.clip_coef,
            ent_coef=args.ent_coef,
            vf_coef=args.vf_coef,
        )

        # Collect. Only actions are needed while stepping: values and log-probabilities come from one pass afterwards.
        obs[0], starts[0], first_memory = obs[-1], starts[-1], memory
        noise = gumbel(run.generator, (*rollout, int(action_space.n)))
        for step in range(args.num_steps):
            memory = learner.remember(inputs[step], memory, starts[step])
            hidden[step] = memory.hidden
            actions[step] = (learner.logits(memory.hidden) + noise[step]).argmax(1)
            obs[step + 1], rewards[step], terminations, truncations, _ = envs.step(actions[step])
            starts[step + 1] = terminations | truncations
        # Looks ahead to value the last observation; the next rollout comes there again, with a better network.
        hidden[-1] = learner.remember(inputs[-1], memory, starts[-1]).hidden

        # Assess and estimate the advantages; a truncation is an end to them, as upstream.
        flat_hidden = hidden.reshape(-1, UNITS)
        values = learner.values(flat_hidden).reshape(-1, args.num_envs)
        logprobs = learner.log_probs(flat_hidden[: args.batch_size], actions.reshape(-1))
        advantages, returns = gae(rewards, values, starts[1:], gamma=args.gamma, gae_lambda=args.gae_lambda)
        batch = Batch(
            obs=inputs[:-1],
            starts=starts[:-1],
            actions=actions,
            logprobs=logprobs.reshape(rollout),
            advantages=advantages,
            returns=returns,
            values=values[:-1],
            hidden=first_memory.hidden[None],
            cell=first_memory.cell[None],
        )

        # Improve. A memory must be trained in the order of its steps: minibatches are of environments.
        clipfracs: list[float] = []
        losses: dict[str, float] = {}
        for _ in range(args.update_epochs):
            shuffled = run.generator.permutation(args.num_envs)
            for start in range(0, args.num_envs, args.minibatch_envs):
                minibatch = batch.envs(shuffled[start : start + args.minibatch_envs])
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
                "iteration": iteration,
                "hidden": memory.hidden,
                "cell": memory.cell,
                "starts": starts[-1],
            }
            run.checkpoint(state, reason=reason)
        if reason == "stop":
            break
    run.save_policy(agent)


class RememberingPolicy:
    """Acts with a trained agent, and remembers what each row has seen until it is told to forget."""

    def __init__(self, agent: Agent, args: Args) -> None:
        self.agent = agent
        plain = Learner(agent, args, torch.device("cpu"))
        self.learner = guarded_policy(plain, lambda: FastLearner(agent, args))
        self.memory = nothing_remembered(0)
        self.starts = np.ones(0, np.float32)

    def forget(self, slots: Array) -> None:
        if len(slots) != len(self.starts):
            self.memory, self.starts = nothing_remembered(len(slots)), np.ones(len(slots), np.float32)
        self.starts[slots] = 1.0

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        rows = len(observations)
        if rows != len(self.starts):
            self.forget(np.ones(rows, np.bool_))
        inputs = observations.reshape(rows, -1).astype(np.float32)
        self.memory = self.learner.remember(inputs, self.memory, self.starts)
        self.starts[:] = 0.0
        logits = self.learner.logits(self.memory.hidden)
        if not deterministic:
            logits = logits + gumbel(generator, logits.shape)
        return logits.argmax(1)

    def in_torch(self) -> LikeliestActions:
        def actions(
            observations: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
            rows = as_vectors(observations)[None]
            after, state = self.agent.hidden(rows, (hidden, cell), torch.zeros_like(hidden[None, :, 0]))
            return self.agent.actor(after[0]).argmax(1), *state

        return LikeliestActions(actions, {"hidden": (UNITS,), "cell": (UNITS,)})


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.observation_space, file.action_space)
    agent.load_state_dict(file.weights())
    return RememberingPolicy(agent, args)


if __name__ == "__main__":
    raise SystemExit(main("ppo_lstm"))
