"""Rainbow on pictures (docs/algorithms/rainbow_atari.md)."""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import LikeliestActions, Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.convolution import features, laid_out
from cleanrl_worker.sdk.explained import of_worths
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state
from cleanrl_worker.sdk.sum_tree import SumTree
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
OBSERVATIONS = "pixels"
UPSTREAM = None
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock; the exploration of a block is drawn at once."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """Rainbow: off-policy, six improvements of DQN in one, for discrete actions and pictures."""

    env_id: str = "BreakoutNoFrameskip-v4"
    """Gymnasium id of the environment."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the environments, the networks and the sampling."""
    torch_deterministic: bool = True
    """Ask cuDNN for deterministic kernels."""
    cuda: bool = True
    """Train on the GPU if there is one."""
    cuda_graph: bool = True
    """Record acting and the gradient step as CUDA graphs and replay them; on a GPU only."""
    bfloat16: bool = False
    """Multiply in bfloat16, half the bits of float32: faster where processor or GPU have it, and less exact."""
    total_timesteps: Annotated[int, Ge(1)] = 10_000_000
    """Environment steps over all environments."""
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-3, "log")] = 0.0000625
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Steps that the replay memory holds, each frame once; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.95, 0.999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1)] = 1.0
    """How far the target network moves towards the network at each update of it; 1 copies."""
    target_network_frequency: Annotated[int, Ge(1), Search(250, 10_000, "log")] = 8000
    """Environment steps between two updates of the target network."""
    batch_size: Annotated[int, Ge(1), Search(16, 128, "power_of_two")] = 32
    """Transitions sampled for one gradient step."""
    learning_starts: Annotated[int, Ge(0)] = 80_000
    """Environment steps before the first gradient step."""
    train_frequency: Annotated[int, Ge(1), Search(1, 8, "power_of_two")] = 4
    """Environment steps for each gradient step."""
    n_step: Annotated[int, Ge(1), Search(1, 10)] = 3
    """Steps whose rewards are counted before the target network is asked."""
    prioritized_replay_alpha: Annotated[float, Ge(0), Search(0.3, 0.8)] = 0.5
    """How much more often a step with a large loss is sampled; 0 samples all alike."""
    prioritized_replay_beta: Annotated[float, Ge(0), Le(1)] = 0.4
    """How far weights make up for that at the start; rises to 1 over all steps."""
    prioritized_replay_eps: Annotated[float, Gt(0)] = 1e-6
    """Added to each loss, so that no step is never sampled."""
    n_atoms: Annotated[int, Ge(2)] = 51
    """Returns that a distribution is made of."""
    v_min: float = -10.0
    """The lowest of them; what is less counts as this."""
    v_max: float = 10.0
    """The highest of them; what is more counts as this."""

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise ValueError(f"v_min is {self.v_min:g}, not less than v_max, {self.v_max:g}")


class NoisyLinear(nn.Module):
    """A linear layer whose weights are drawn anew for each update: mean + sigma × noise, factorised noise.

    The noise of a weight is the product of one number for its input and one for its output, so that it need not be put
    together: it scales what goes in and what comes out.
    """

    input_noise: torch.Tensor
    output_noise: torch.Tensor

    def __init__(self, inputs: int, outputs: int, std_init: float = 0.5) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight_mu = nn.Parameter(torch.empty(outputs, inputs).uniform_(-bound, bound))
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), std_init / math.sqrt(inputs)))
        self.bias_mu = nn.Parameter(torch.empty(outputs).uniform_(-bound, bound))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), std_init / math.sqrt(outputs)))
        self.register_buffer("input_noise", torch.zeros(inputs))
        self.register_buffer("output_noise", torch.zeros(outputs))

    @torch.no_grad()
    def without_noise(self) -> nn.Linear:
        plain = nn.Linear(self.weight_mu.shape[1], self.weight_mu.shape[0])
        plain.weight.copy_(self.weight_mu)
        plain.bias.copy_(self.bias_mu)
        return plain

    def set_noise(self, input_noise: torch.Tensor, output_noise: torch.Tensor) -> None:
        """Take standard normal numbers, bent as the paper has it."""
        for noise, normal in ((self.input_noise, input_noise), (self.output_noise, output_noise)):
            noise.copy_(normal.sign() * normal.abs().sqrt())

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        mean = nn.functional.linear(rows, self.weight_mu, self.bias_mu)
        noisy = nn.functional.linear(rows * self.input_noise, self.weight_sigma, self.bias_sigma)
        return mean + noisy * self.output_noise


class QNetwork(nn.Module):
    """Three convolutions, then two streams: what a state is worth, and what each action adds; as distributions."""

    support: torch.Tensor

    def __init__(self, action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.choices = int(action_space.n)
        self.n_atoms = args.n_atoms
        self.register_buffer("support", torch.linspace(args.v_min, args.v_max, args.n_atoms))
        self.network = nn.Sequential(
            nn.Conv2d(4, 32, 8, stride=4),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(inplace=True),
            nn.Flatten(),
        )
        self.value_head = nn.Sequential(
            NoisyLinear(64 * 7 * 7, 512), nn.ReLU(inplace=True), NoisyLinear(512, self.n_atoms)
        )
        self.advantage_head = nn.Sequential(
            NoisyLinear(64 * 7 * 7, 512), nn.ReLU(inplace=True), NoisyLinear(512, self.n_atoms * self.choices)
        )

    def forward(self, obs: torch.Tensor, *, bfloat16: bool = False) -> torch.Tensor:
        """Distributions of the return after each action in uint8 stacks: (rows, actions, atoms)."""
        hidden = features(self.network, obs, bfloat16=bfloat16)
        value = self.value_head(hidden).view(-1, 1, self.n_atoms)
        advantage = self.advantage_head(hidden).view(-1, self.choices, self.n_atoms)
        return (value + advantage - advantage.mean(1, keepdim=True)).softmax(2)

    def values(self, pmfs: torch.Tensor) -> torch.Tensor:
        """What distributions are worth on average."""
        return pmfs @ self.support

    @property
    def noisy_layers(self) -> list[NoisyLinear]:
        return [layer for layer in self.modules() if isinstance(layer, NoisyLinear)]

    @torch.no_grad()
    def reset_noise(self) -> None:
        for layer in self.noisy_layers:
            layer.set_noise(torch.randn_like(layer.input_noise), torch.randn_like(layer.output_noise))


class Losses(NamedTuple):
    """What a gradient step logs; on a GPU these stay there until the numbers are asked for."""

    td_loss: SupportsFloat
    q_values: SupportsFloat


def projected(pmfs: torch.Tensor, returns: torch.Tensor, atoms: torch.Tensor) -> torch.Tensor:
    """Distributions over `returns` (rows, atoms) as distributions over `atoms`: each return's probability is shared
    between the two atoms next to it, the more the nearer.
    """
    spacing = (atoms[-1] - atoms[0]) / (len(atoms) - 1)
    returns = returns.clamp(atoms[0], atoms[-1])
    shares = (1 - (returns[:, None, :] - atoms[None, :, None]).abs() / spacing).clamp(min=0)
    return (shares * pmfs[:, None, :]).sum(2)


def rainbow_loss(
    q_network: QNetwork, target_network: QNetwork, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, torch.Tensor]:
    """Of each row the cross entropy between the distribution of its action and the one that n steps tell, and the value
    of its action. The network chooses the action of the successor, the target network says what it is worth. `dones`
    are 1 less the discount of the successor.
    """
    rows = torch.arange(len(batch["actions"]), device=batch["actions"].device)
    with torch.no_grad():
        best = q_network.values(q_network(batch["next_obs"], bfloat16=args.bfloat16)).argmax(1)
        next_pmfs = target_network(batch["next_obs"], bfloat16=args.bfloat16)[rows, best]
        returns = batch["rewards"][:, None] + (1 - batch["dones"])[:, None] * target_network.support
        target_pmfs = projected(next_pmfs, returns, target_network.support)
    old_pmfs = q_network(batch["obs"], bfloat16=args.bfloat16)[rows, batch["actions"]]
    losses = -(target_pmfs * old_pmfs.clamp(1e-5, 1 - 1e-5).log()).sum(1)
    return losses, q_network.values(old_pmfs)


class PrioritisedReplay:
    """Steps sampled in proportion to their last loss; new ones as if theirs were the largest so far."""

    def __init__(self, args: Args, observation_space: gym.Space[Any]) -> None:
        self.args = args
        self.frames = FrameReplay(args.buffer_size, args.num_envs, observation_space)
        self.tree = SumTree(args.num_envs * self.frames.rows)
        self.max_priority = 1.0
        self.places = np.zeros(args.batch_size, np.int64)

    def add(self, *step: Array) -> None:
        """One step of every environment, as `FrameReplay.add` takes it."""
        added = self.frames.add(*step)
        if self.frames.lost:
            self.tree.put(np.array(self.frames.lost), 0.0)
        self.tree.put(added, self.max_priority**self.args.prioritized_replay_alpha)

    def sample(self, generator: np.random.Generator, beta: float) -> dict[str, Array]:
        """A batch of n-step transitions, with the weights that make up for their being drawn more or less often."""
        self.places = self.tree.draw(generator, self.args.batch_size)
        probabilities = self.tree.priorities[self.places] / self.tree.total
        weights = (len(self.frames) * probabilities) ** -beta
        batch = self.frames.n_step(self.places, self.args.n_step, self.args.gamma)
        return {**batch._asdict(), "weights": (weights / weights.max()).astype(np.float32)}

    def learnt(self, losses: Array) -> None:
        """What the rows of the last sample cost."""
        priorities = np.abs(losses).astype(np.float64) + self.args.prioritized_replay_eps
        self.max_priority = max(self.max_priority, float(priorities.max()))
        self.tree.put(self.places, priorities**self.args.prioritized_replay_alpha)

    def state(self) -> dict[str, Any]:
        return {
            "frames": self.frames.state(),
            "priorities": self.tree.priorities,
            "max_priority": self.max_priority,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        self.frames.load(state["frames"])
        self.tree.load(state["priorities"])
        self.max_priority = state["max_priority"]


class Learner:
    """Acting and updating."""

    def __init__(self, q_network: QNetwork, target_network: QNetwork, args: Args, device: torch.device) -> None:
        target_network.load_state_dict(q_network.state_dict())
        self.q_network = laid_out(q_network, device)
        self.target_network = laid_out(target_network, device)
        self.args = args
        self.device = device
        self.optimizer = adam(q_network, learning_rate=args.learning_rate, eps=1.5e-4)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"actions": self.q_network.values(self.q_network(inputs["obs"])).argmax(1)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        self.q_network.reset_noise()
        self.target_network.reset_noise()
        losses, q_values = rainbow_loss(self.q_network, self.target_network, batch, self.args)
        loss = (losses * batch["weights"]).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"losses": losses.detach(), "td_loss": loss.detach(), "q_values": q_values.detach().mean()}

    def update(self, batch: Mapping[str, Array]) -> tuple[Losses, Array]:
        """What is logged, and the loss of each row."""
        result = self.descend(self.inputs.put(batch))
        return Losses(result["td_loss"], result["q_values"]), result["losses"].cpu().numpy()

    @torch.no_grad()
    def update_target(self) -> None:
        tau = self.args.tau
        for target, value in zip(self.target_network.parameters(), self.q_network.parameters(), strict=True):
            target.copy_(tau * value + (1.0 - tau) * target)

    def state(self) -> dict[str, Any]:
        return {
            "q_network": self.q_network.state_dict(),
            "target_network": self.target_network.state_dict(),
            "optimizer": optimizer_state(self.optimizer),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.q_network.load_state_dict(state["q_network"])
        self.target_network.load_state_dict(state["target_network"])
        load_optimizer(self.optimizer, state["optimizer"])


def train(run: Run, args: Args) -> None:
    envs = run.make_envs(args.env_id, args.num_envs, observations="pixels")
    q_network = QNetwork(envs.single_action_space, args)
    learner = Learner(q_network, QNetwork(envs.single_action_space, args), args, run.device)
    replay = PrioritisedReplay(args, envs.single_observation_space)
    run.explain_with(lambda seen: of_worths(q_network.values(q_network(seen))))

    saved = run.resume()
    if saved is None:
        q_network.reset_noise()
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        replay.load(saved["replay"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        for _ in range(steps):
            # The noise in the weights explores.
            actions = learner.act(obs)
            next_obs, rewards, terminations, truncations, infos = envs.step(actions)
            successors = infos.get("final_obs", next_obs)
            replay.add(obs, successors, actions, rewards, terminations, truncations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                if global_step % args.train_frequency == 0:
                    start = args.prioritized_replay_beta
                    beta = min(1.0, start + global_step * (1.0 - start) / args.total_timesteps)
                    losses, of_rows = learner.update(replay.sample(run.generator, beta))
                    replay.learnt(of_rows)
                    run.histograms(q_network)
                    if global_step % LOG_INTERVAL == 0:
                        scalars = {f"losses/{name}": float(value) for name, value in losses._asdict().items()}
                        run.scalars({**scalars, "charts/beta": beta, "charts/SPS": run.steps_per_second()})
                if global_step % args.target_network_frequency == 0:
                    learner.update_target()

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(q_network)


def _noise(generator: np.random.Generator, size: int, *, off: bool) -> Array:
    return np.zeros(size, np.float32) if off else generator.standard_normal(size, np.float32)


class NoisyPolicy:
    """Takes the action worth most; asked to explore, by weights that are drawn anew at each step."""

    def __init__(self, q_network: QNetwork) -> None:
        self.q_network = laid_out(q_network, torch.device("cpu"))

    @torch.no_grad()
    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        for layer in self.q_network.noisy_layers:
            sizes = len(layer.input_noise), len(layer.output_noise)
            layer.set_noise(*(torch.from_numpy(_noise(generator, size, off=deterministic)) for size in sizes))
        return self.q_network.values(self.q_network(torch.from_numpy(observations))).argmax(1).numpy()

    def in_torch(self) -> LikeliestActions:
        still = copy.deepcopy(self.q_network)
        for head in (still.value_head, still.advantage_head):
            for place, layer in enumerate(head):
                if isinstance(layer, NoisyLinear):
                    head[place] = layer.without_noise()

        def actions(observations: torch.Tensor) -> torch.Tensor:
            return still.values(still(observations)).argmax(1)

        return LikeliestActions(actions)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    q_network = QNetwork(file.action_space, args)
    q_network.load_state_dict(file.weights())
    return NoisyPolicy(q_network)


if __name__ == "__main__":
    raise SystemExit(main("rainbow_atari"))
