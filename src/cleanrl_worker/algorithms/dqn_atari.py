"""DQN on pictures (docs/algorithms/dqn_atari.md)."""

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
    """DQN: off-policy, for discrete actions and pictures."""

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
    learning_rate: Annotated[float, Gt(0), Search(1e-5, 1e-3, "log")] = 1e-4
    """Step size of Adam."""
    num_envs: Annotated[int, Ge(1)] = 1
    """Environments stepped in parallel."""
    buffer_size: Annotated[int, Ge(1)] = 1_000_000
    """Steps that the replay memory holds, each frame once; the oldest make room."""
    gamma: Annotated[float, Ge(0), Le(1), Search(0.95, 0.999, "logit")] = 0.99
    """Discount factor."""
    tau: Annotated[float, Gt(0), Le(1)] = 1.0
    """How far the target network moves towards the network at each update of it; 1 copies."""
    target_network_frequency: Annotated[int, Ge(1), Search(250, 10_000, "log")] = 1000
    """Environment steps between two updates of the target network."""
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


class QNetwork(nn.Module):
    """Three convolutions and a hidden layer: what each action is worth in a state."""

    def __init__(self, action_space: gym.Space[Any]) -> None:
        super().__init__()
        assert isinstance(action_space, gym.spaces.Discrete)
        self.choices = int(action_space.n)
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
            nn.Linear(512, self.choices),
        )

    def forward(self, obs: torch.Tensor, *, bfloat16: bool = False) -> torch.Tensor:
        """Values of the actions in uint8 stacks."""
        hidden = features(self.network[:-1], obs, bfloat16=bfloat16)
        return self.network[-1](hidden)


class Losses(NamedTuple):
    """What a gradient step logs; on a GPU these stay there until the numbers are asked for."""

    td_loss: SupportsFloat
    q_values: SupportsFloat


def linear_schedule(start_e: float, end_e: float, duration: float, step: Array) -> Array:
    """Epsilon after so many steps: from `start_e` down to `end_e` over `duration` steps."""
    return np.maximum((end_e - start_e) / duration * step + start_e, end_e)


def td_loss(
    q_network: QNetwork, target_network: QNetwork, batch: Mapping[str, torch.Tensor], args: Args
) -> tuple[torch.Tensor, torch.Tensor]:
    """The definition: the mean squared temporal-difference error, and the mean value of the actions taken.

    `dones` are terminations only, so that a truncated episode is valued as if it went on.
    """
    with torch.no_grad():
        target_max = target_network(batch["next_obs"], bfloat16=args.bfloat16).max(dim=1).values
        td_target = batch["rewards"] + args.gamma * target_max * (1 - batch["dones"])
    old_val = q_network(batch["obs"], bfloat16=args.bfloat16).gather(1, batch["actions"][:, None]).squeeze(1)
    return nn.functional.mse_loss(td_target, old_val), old_val.mean()


class Learner:
    """Acting and updating."""

    def __init__(self, q_network: QNetwork, target_network: QNetwork, args: Args, device: torch.device) -> None:
        target_network.load_state_dict(q_network.state_dict())
        self.q_network = laid_out(q_network, device)
        self.target_network = laid_out(target_network, device)
        self.args = args
        self.device = device
        self.optimizer = adam(q_network, learning_rate=args.learning_rate)
        self.inputs = Inputs(device)
        self.choose = Replayed(self.best, device, enabled=args.cuda_graph)
        self.descend = Replayed(self.step, device, enabled=args.cuda_graph)

    @torch.no_grad()
    def best(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        return {"actions": self.q_network(inputs["obs"]).argmax(1)}

    def act(self, obs: Array) -> Array:
        return self.choose(self.inputs.put({"obs": obs}))["actions"].cpu().numpy()

    def step(self, batch: Tensors) -> dict[str, torch.Tensor]:
        loss, q_values = td_loss(self.q_network, self.target_network, batch, self.args)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return {"td_loss": loss.detach(), "q_values": q_values.detach()}

    def update(self, batch: Transitions) -> Losses:
        return Losses(**self.descend(self.inputs.put(batch._asdict())))

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
    q_network = QNetwork(envs.single_action_space)
    learner = Learner(q_network, QNetwork(envs.single_action_space), args, run.device)
    replay = FrameReplay(args.buffer_size, args.num_envs, envs.single_observation_space)
    choices = q_network.choices
    exploration_steps = args.exploration_fraction * args.total_timesteps
    run.explain_with(lambda seen: of_worths(q_network(seen)))

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
    q_network = QNetwork(file.action_space)
    q_network.load_state_dict(file.weights())
    return EpsilonGreedy(of_pictures(laid_out(q_network, torch.device("cpu"))), args.end_e)


if __name__ == "__main__":
    raise SystemExit(main("dqn_atari"))
