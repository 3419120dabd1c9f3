"""C51, distributional DQN, on pictures (docs/algorithms/c51_atari.md)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, SupportsFloat

import gymnasium as gym
import numpy as np
import torch
from annotated_types import Ge, Gt, Le
from torch import nn

from cleanrl_worker.sdk import Policy, PolicyFile, Run, main
from cleanrl_worker.sdk.convolution import features, laid_out
from cleanrl_worker.sdk.explained import of_worths
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.graph import Inputs, Replayed, Tensors
from cleanrl_worker.sdk.optimizer import adam, load_optimizer, optimizer_state
from cleanrl_worker.sdk.policies.choosing import EpsilonGreedy, of_pictures
from cleanrl_worker.sdk.replay import Transitions
from mosaic import config
from mosaic.search_range import Search

ACTIONS = "discrete"
OBSERVATIONS = "pixels"
BLOCK = 100
"""Steps of each environment between two looks at the checkpoint clock; the exploration of a block is drawn at once."""
LOG_INTERVAL = 100
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, kw_only=True)
class Args:
    """C51: off-policy, learns distributions of returns, for discrete actions and pictures."""

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
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-3, "log")] = 2.5e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    n_atoms: Annotated[int, Ge(2)] = 51
    """Returns that a distribution is made of."""
    v_min: float = -10.0
    """The lowest of them; what is less counts as this."""
    v_max: float = 10.0
    """The highest of them; what is more counts as this."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Steps that the replay memory holds, each frame once; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.95, 0.999, "logit")] = 0.99
    """Discount factor."""
    target_network_frequency: Annotated[int, Ge(1), Search(250, 10_000, "log")] = 10_000
    """Environment steps between two copies of the network to the target network."""
    batch_size: Annotated[int, Ge(1), Search(16, 128, "power_of_two")] = 32
    """Transitions sampled for one gradient step."""
    start_e: Annotated[float, Ge(0), Le(1)] = 1.0
    """Probability of a random action at the start."""
    end_e: Annotated[float, Ge(0), Le(1), Search(0.005, 0.1)] = 0.01
    """Probability of a random action once the exploration has ended."""
    exploration_fraction: Annotated[float, Gt(0), Le(1), Search(0.02, 0.3)] = 0.10
    """Part of all steps over which that probability falls from start_e to end_e."""
    learning_starts: Annotated[int, Ge(0)] = 80_000
    """Environment steps before the first gradient step."""
    train_frequency: Annotated[int, Ge(1), Search(1, 8, "power_of_two")] = 4
    """Environment steps for each gradient step."""

    def __post_init__(self) -> None:
        if self.v_min >= self.v_max:
            raise ValueError(f"v_min is {self.v_min:g}, not less than v_max, {self.v_max:g}")


class QNetwork(nn.Module):
    """Three convolutions and a hidden layer: how likely each return is after each action."""

    atoms: torch.Tensor

    def __init__(self, action_space: gym.Space[Any], args: Args) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.choices = int(action_space.n)
        self.n_atoms = args.n_atoms
        self.register_buffer("atoms", torch.linspace(args.v_min, args.v_max, args.n_atoms))
        self.network = nn.Sequential(
            nn.Conv2d(4, 32, 8, stride=4),
            nn.ReLU(inplace=True),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(64 * 7 * 7, 512),
            nn.ReLU(inplace=True),
            nn.Linear(512, self.choices * self.n_atoms),
        )

    def forward(self, obs: torch.Tensor, *, bfloat16: bool = False) -> torch.Tensor:
        """Logits of the returns after each action in uint8 stacks: (rows, actions, atoms)."""
        hidden = features(self.network[:-1], obs, bfloat16=bfloat16)
        return self.network[-1](hidden).view(-1, self.choices, self.n_atoms)

    def values(self, pmfs: torch.Tensor) -> torch.Tensor:
        """What distributions are worth on average."""
        return pmfs @ self.atoms


class Losses(NamedTuple):
    """What a gradient step logs; on a GPU these stay there until the numbers are asked for."""

    loss: SupportsFloat
    q_values: SupportsFloat


def linear_schedule(start_e: float, end_e: float, duration: float, step: Array) -> Array:
    """Epsilon after so many steps: from `start_e` down to `end_e` over `duration` steps."""
    return np.maximum((end_e - start_e) / duration * step + start_e, end_e)


def projected(pmfs: torch.Tensor, returns: torch.Tensor, atoms: torch.Tensor) -> torch.Tensor:
    """Distributions over `returns` (rows, atoms) as distributions over `atoms`: each return's probability is shared
    between the two atoms next to it, the more the nearer.
    """
    spacing = (atoms[-1] - atoms[0]) / (len(atoms) - 1)
    returns = returns.clamp(atoms[0], atoms[-1])
    shares = (1 - (returns[:, None, :] - atoms[None, :, None]).abs() / spacing).clamp(min=0)
    return (shares * pmfs[:, None, :]).sum(2)


def c51_loss(
    q_network: QNetwork, target_network: QNetwork, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, torch.Tensor]:
    """The cross entropy between the distribution of an action taken and the one that its reward and successor tell, and
    the mean value of the actions taken. `dones` are terminations only.
    """
    rows = torch.arange(len(batch["actions"]), device=batch["actions"].device)
    with torch.no_grad():
        next_pmfs = target_network(batch["next_obs"], bfloat16=args.bfloat16).softmax(2)
        next_pmfs = next_pmfs[rows, target_network.values(next_pmfs).argmax(1)]
        continues = args.gamma * (1 - batch["dones"])
        returns = batch["rewards"][:, None] + continues[:, None] * target_network.atoms
        target_pmfs = projected(next_pmfs, returns, target_network.atoms)
    old_pmfs = q_network(batch["obs"], bfloat16=args.bfloat16)[rows, batch["actions"]].softmax(1)
    loss = -(target_pmfs * old_pmfs.clamp(1e-5, 1 - 1e-5).log()).sum(1).mean()
    return loss, q_network.values(old_pmfs).mean()


class Learner:
    """Acting and updating."""

    def __init__(self, q_network: QNetwork, target_network: QNetwork, args: Args, device: torch.device) -> None:
        target_network.load_state_dict(q_network.state_dict())
        self.q_network = laid_out(q_network, device)
        self.target_network = laid_out(target_network, device)
        self.args = args
        self.device = device
        self.optimizer = adam(q_network, learning_rate=args.learning_rate, eps=0.01 / args.batch_size)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        pmfs = self.q_network(inputs["obs"]).softmax(2)
        return {"actions": self.q_network.values(pmfs).argmax(1)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, q_values = c51_loss(self.q_network, self.target_network, batch, self.args)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.detach(), "q_values": q_values.detach()}

    def update(self, batch: Transitions) -> Losses:
        return Losses(**self.descend(self.inputs.put(batch._asdict())))

    def update_target(self) -> None:
        self.target_network.load_state_dict(self.q_network.state_dict())

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
    replay = FrameReplay(args.buffer_size, args.num_envs, envs.single_observation_space)
    choices = q_network.choices
    exploration_steps = args.exploration_fraction * args.total_timesteps
    run.explain_with(lambda seen: of_worths(q_network.values(q_network(seen).softmax(2))))

    saved = run.resume()
    if saved is None:
        obs = envs.reset(args.seed)
    else:
        learner.load(saved["learner"])
        replay.load(saved["replay"])
        obs = envs.current_obs

    while (steps := min(BLOCK, (args.total_timesteps - run.global_step) // args.num_envs)) > 0:
        before = run.global_step + args.num_envs * np.arange(steps)
        epsilon = linear_schedule(args.start_e, args.end_e, exploration_steps, before)
        explores: Array = run.generator.random((steps, args.num_envs)) < epsilon[:, None]
        random_actions = run.generator.integers(choices, size=explores.shape)
        explorers: list[int] = np.add.reduce(explores, axis=1, dtype=int).tolist()

        for step in range(steps):
            if explorers[step] == args.num_envs:
                actions = random_actions[step]
            else:
                actions = learner.act(obs)
                if explorers[step]:
                    actions = np.where(explores[step], random_actions[step], actions)
            next_obs, rewards, terminations, truncations, infos = envs.step(actions)
            successors = infos.get("final_obs", next_obs)
            replay.add(obs, successors, actions, rewards, terminations, truncations)
            obs = next_obs

            # Upstream's schedule, asked for each single environment's step.
            for global_step in range(run.global_step - args.num_envs + 1, run.global_step + 1):
                if global_step <= args.learning_starts:
                    continue
                if global_step % args.train_frequency == 0:
                    losses = learner.update(replay.sample(run.generator, args.batch_size))
                    run.histograms(q_network)
                    if global_step % LOG_INTERVAL == 0:
                        scalars = {f"losses/{name}": float(value) for name, value in losses._asdict().items()}
                        run.scalars({**scalars, "charts/SPS": run.steps_per_second()})
                if global_step % args.target_network_frequency == 0:
                    learner.update_target()

        if reason := run.checkpoint_reason(ended=args.total_timesteps - run.global_step < args.num_envs):
            run.checkpoint({"learner": learner.state(), "replay": replay.state()}, reason=reason)
        if reason == "stop":
            break
    run.save_policy(q_network)


def load(file: PolicyFile) -> Policy:
    args = config.from_json(Args, file.args, what="policy file")
    q_network = QNetwork(file.action_space, args)
    q_network.load_state_dict(file.weights())
    laid_out(q_network, torch.device("cpu"))
    values = of_pictures(lambda observations: q_network.values(q_network(observations).softmax(2)))
    return EpsilonGreedy(values, args.end_e)


if __name__ == "__main__":
    raise SystemExit(main("c51_atari"))
