"""PPO with a memory (LSTM) and a categorical policy on vector observations (docs/algorithms/ppo_lstm.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn
from torch.distributions.categorical import Categorical

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.fast import FlatParameters, clip_gradient_norm, ppo_gradient
from cleanrl_worker.sdk.fast.fused_adam import FusedAdam
from cleanrl_worker.sdk.fast.linear import Linear
from cleanrl_worker.sdk.fast.lstm import Lstm, State
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state, set_learning_rate
from mosaic import config

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
    learning_rate: Annotated[float, Gt(0)] = 2e-3
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 8
    """Environments stepped in parallel; a multiple of num_minibatches."""
    num_steps: Annotated[int, Ge(1)] = 128
    """Steps in each environment between two updates."""
    anneal_lr: bool = True
    """Let the learning rate fall linearly to zero."""
    gamma: Annotated[float, Ge(0), Le(1)] = 0.99
    """Discount factor."""
    gae_lambda: Annotated[float, Ge(0), Le(1)] = 0.95
    """Lambda of the generalised advantage estimation: 0 trusts the critic, 1 the returns."""
    num_minibatches: Annotated[int, Ge(1)] = 4
    """Minibatches that a rollout is cut into; each takes whole environments, because a memory cannot be shuffled."""
    update_epochs: Annotated[int, Ge(1)] = 4
    """Passes over each rollout."""
    norm_adv: bool = True
    """Normalise the advantages of each minibatch."""
    clip_coef: Annotated[float, Gt(0)] = 0.1
    """How far the policy may move from the one that collected the rollout, as a probability ratio."""
    clip_vloss: bool = True
    """Clip the value loss as well."""
    ent_coef: Annotated[float, Ge(0)] = 0.01
    """Weight of the entropy bonus."""
    vf_coef: Annotated[float, Ge(0)] = 0.5
    """Weight of the value loss."""
    max_grad_norm: Annotated[float, Gt(0)] = 0.5
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
    """The definition: PPO's loss of a minibatch, and what is logged of it."""
    hidden, _ = agent.hidden(batch["obs"], (batch["hidden"][0], batch["cell"][0]), batch["starts"])
    distribution = Categorical(logits=agent.actor(hidden), validate_args=False)
    entropy = distribution.entropy().mean()
    logratio = distribution.log_prob(batch["actions"]) - batch["logprobs"]
    ratio = logratio.exp()
    advantages = batch["advantages"]
    policy_loss = torch.max(
        -advantages * ratio, -advantages * torch.clamp(ratio, 1 - args.clip_coef, 1 + args.clip_coef)
    ).mean()
    value = agent.critic(hidden).squeeze(2)
    errors = (value - batch["returns"]) ** 2
    if args.clip_vloss:
        change = torch.clamp(value - batch["values"], -args.clip_coef, args.clip_coef)
        errors = torch.max(errors, (batch["values"] + change - batch["returns"]) ** 2)
    value_loss = 0.5 * errors.mean()
    with torch.no_grad():
        logged = {
            "value_loss": value_loss,
            "policy_loss": policy_loss,
            "entropy": entropy,
            "old_approx_kl": (-logratio).mean(),
            "approx_kl": ((ratio - 1) - logratio).mean(),
            "clipfrac": ((ratio - 1.0).abs() > args.clip_coef).float().mean(),
        }
    return policy_loss - args.ent_coef * entropy + args.vf_coef * value_loss, logged


def normalised(advantages: Array) -> Array:
    """Zero mean and unit (sample) standard deviation; a lone advantage has neither and stays as it is."""
    if advantages.size == 1:
        return advantages
    return (advantages - advantages.mean()) / (advantages.std(ddof=1) + 1e-8)


def explained_variance(values: Array, returns: Array) -> float:
    """1 is a critic that foretells every return, 0 one that knows nothing; not a number while all returns are equal."""
    variance = float(np.var(returns))
    return float("nan") if variance == 0 else 1.0 - float(np.var(returns - values)) / variance


class Learner(Protocol):
    """Remembering, assessing and updating, on either path."""

    def remember(self, obs: Array, state: State, starts: Array) -> State: ...

    def logits(self, hidden: Array) -> Array: ...

    def values(self, hidden: Array) -> Array: ...

    def update(self, batch: Batch, learning_rate: float) -> Losses: ...

    def state(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


class NumpyLearner:
    """The fast path on a CPU: the same maths by hand, on the memory of the torch parameters."""

    def __init__(self, agent: Agent, args: Args) -> None:
        self.args = args
        self.parameters = FlatParameters(agent)
        self.network = Linear(self.parameters, "network")
        self.lstm = Lstm(self.parameters, agent.lstm, "lstm")
        self.actor, self.critic = Linear(self.parameters, "actor"), Linear(self.parameters, "critic")
        self.adam = FusedAdam(self.parameters, eps=1e-5)

    def remember(self, obs: Array, state: State, starts: Array) -> State:
        features = self.network.infer(obs)
        return self.lstm.step(np.maximum(features, 0, out=features), state, starts)

    def logits(self, hidden: Array) -> Array:
        return self.actor.infer(hidden)

    def values(self, hidden: Array) -> Array:
        return self.critic.infer(hidden)[:, 0]

    def gradient(self, batch: Batch) -> Losses:
        """Write the gradient of `ppo_loss` into the flat vector; the test compares the two."""
        args, (steps, envs) = self.args, batch.actions.shape
        features = self.network.forward(batch.obs.reshape(steps * envs, -1))
        np.maximum(features, 0, out=features)
        state = State(batch.hidden[0], batch.cell[0])
        hidden = self.lstm.forward(features.reshape(steps, envs, -1), state, batch.starts).reshape(steps * envs, -1)
        policy = ppo_gradient.categorical(
            self.actor.forward(hidden),
            batch.actions.reshape(-1),
            batch.logprobs.reshape(-1),
            batch.advantages.reshape(-1),
            clip_coef=args.clip_coef,
            ent_coef=args.ent_coef,
        )
        grad_value, value_loss = ppo_gradient.value(
            self.critic.forward(hidden),
            batch.returns.reshape(-1),
            batch.values.reshape(-1),
            clip_coef=args.clip_coef,
            clip_vloss=args.clip_vloss,
            vf_coef=args.vf_coef,
        )
        self.actor.backward(policy.grad_logits)
        self.critic.backward(grad_value)
        grad_hidden = self.actor.input_gradient(policy.grad_logits) + self.critic.input_gradient(grad_value)
        grad_features = self.lstm.backward(grad_hidden.reshape(steps, envs, -1)).reshape(steps * envs, -1)
        grad_features *= features > 0
        self.network.backward(grad_features)
        return Losses(value_loss, *policy[1:])

    def update(self, batch: Batch, learning_rate: float) -> Losses:
        losses = self.gradient(batch)
        clip_gradient_norm(self.parameters.gradient, self.args.max_grad_norm)
        self.adam.step(learning_rate)
        return losses

    def state(self) -> dict[str, Any]:
        return {"parameters": self.parameters.values, "adam": self.adam.state()}

    def load(self, state: dict[str, Any]) -> None:
        self.parameters.values[:] = state["parameters"]
        self.adam.load(state["adam"])


class TorchLearner:
    """The path on a GPU: autograd of `ppo_loss`."""

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
    def values(self, hidden: Array) -> Array:
        return self.agent.critic(self.tensor(hidden)).view(-1).cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, logged = ppo_loss(self.agent, batch, self.args)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.agent.parameters(), self.args.max_grad_norm)
        self.optimizer.step()
        return {"losses": torch.stack([logged[name].detach() for name in Losses._fields])}

    def update(self, batch: Batch, learning_rate: float) -> Losses:
        set_learning_rate(self.optimizer, learning_rate)
        return Losses(*self.descend(self.inputs.put(batch._asdict()))["losses"].tolist())

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
    learner: Learner = NumpyLearner(agent, args) if run.device.type == "cpu" else TorchLearner(agent, args, run.device)
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
        learning_rate = (1.0 - progress) * args.learning_rate

        # Collect. Only actions are needed while stepping: values and log-probabilities come from one pass afterwards.
        obs[0], starts[0], first_memory = obs[-1], starts[-1], memory
        noise = ppo_gradient.gumbel(run.generator, (*rollout, int(action_space.n)))
        for step in range(args.num_steps):
            memory = learner.remember(inputs[step], memory, starts[step])
            hidden[step] = memory.hidden
            actions[step] = ppo_gradient.sample_categorical(learner.logits(memory.hidden), noise[step])
            obs[step + 1], rewards[step], terminations, truncations, _ = envs.step(actions[step])
            starts[step + 1] = terminations | truncations
        # Looks ahead to value the last observation; the next rollout comes there again, with a better network.
        hidden[-1] = learner.remember(inputs[-1], memory, starts[-1]).hidden

        # Assess and estimate the advantages; a truncation is an end to them, as upstream.
        flat_hidden = hidden.reshape(-1, UNITS)
        values = learner.values(flat_hidden).reshape(-1, args.num_envs)
        logits = learner.logits(flat_hidden[: args.batch_size])
        advantages, returns = gae(rewards, values, starts[1:], gamma=args.gamma, gae_lambda=args.gae_lambda)
        batch = Batch(
            obs=inputs[:-1],
            starts=starts[:-1],
            actions=actions,
            logprobs=ppo_gradient.categorical_log_prob(logits, actions.reshape(-1)).reshape(rollout),
            advantages=advantages,
            returns=returns,
            values=values[:-1],
            hidden=first_memory.hidden[None],
            cell=first_memory.cell[None],
        )

        # Improve. A memory must be trained in the order of its steps: minibatches are of environments.
        clipfracs: list[float] = []
        losses = None
        for _ in range(args.update_epochs):
            shuffled = run.generator.permutation(args.num_envs)
            for start in range(0, args.num_envs, args.minibatch_envs):
                minibatch = batch.envs(shuffled[start : start + args.minibatch_envs])
                if args.norm_adv:
                    minibatch = minibatch._replace(advantages=normalised(minibatch.advantages))
                losses = learner.update(minibatch, learning_rate)
                clipfracs.append(losses.clipfrac)
            if args.target_kl is not None and losses is not None and losses.approx_kl > args.target_kl:
                break

        assert losses is not None
        scalars = {f"losses/{name}": value for name, value in losses._asdict().items()}
        run.scalars(
            {
                "charts/learning_rate": learning_rate,
                **scalars,
                "losses/clipfrac": float(np.mean(clipfracs)),
                "losses/explained_variance": explained_variance(batch.values, batch.returns),
                "charts/SPS": run.steps_per_second(),
            }
        )
        # Read once: a signal between the two questions would end the run without its checkpoint.
        stopping, ended = run.stopping, iteration == args.num_iterations
        if run.checkpoint_due or stopping or ended:
            state = {
                "learner": learner.state(),
                "iteration": iteration,
                "hidden": memory.hidden,
                "cell": memory.cell,
                "starts": starts[-1],
            }
            run.checkpoint(state, reason="stop" if stopping else "end" if ended else "interval")
        if stopping:
            break
    run.save_policy(agent)


class RememberingPolicy:
    """Acts with a trained agent, and remembers what each row has seen until it is told to forget."""

    def __init__(self, agent: Agent, args: Args) -> None:
        self.learner = NumpyLearner(agent, args)
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
        if deterministic:
            return logits.argmax(1)
        return ppo_gradient.sample_categorical(logits, ppo_gradient.gumbel(generator, logits.shape))


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    agent = Agent(file.observation_space, file.action_space)
    agent.load_state_dict(file.weights())
    return RememberingPolicy(agent, args)


if __name__ == "__main__":
    raise SystemExit(main("ppo_lstm"))
