"""Learners of the algorithms on made-up data: what they do, without environments; on a GPU where there is one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from cleanrl_worker.algorithms import (
    c51,
    c51_atari,
    ddpg_continuous_action,
    dqn,
    dqn_atari,
    ppo,
    ppo_atari,
    ppo_continuous_action,
    ppo_lstm,
    ppo_rnd,
    pqn,
    rainbow_atari,
    rpo_continuous_action,
    sac_continuous_action,
    td3_continuous_action,
)
from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.frame_replay import FrameReplay
from cleanrl_worker.sdk.replay import ReplayBuffer

VECTOR, TORQUES = gym.spaces.Box(-10, 10, (17,), np.float32), gym.spaces.Box(-1, 1, (6,), np.float32)
"""The spaces of HalfCheetah-v5."""
POLE, PUSHES = gym.spaces.Box(-10, 10, (4,), np.float32), gym.spaces.Discrete(2)
SCREEN, BUTTONS = gym.spaces.Box(0, 255, (4, 84, 84), np.uint8), gym.spaces.Discrete(4)
STORED = 2_000
Call = Callable[[], None]


@dataclass(frozen=True)
class Subject:
    """A learner at work."""

    learner: Any
    generator: np.random.Generator
    step: Call
    gradient: Call
    calls_to_record: int = 16

    def weights(self) -> torch.Tensor:
        parameters = tree_of_tensors(self.learner.state())
        return torch.cat([tensor.detach().double().cpu().flatten() for tensor in parameters])

    def state(self) -> dict[str, Any]:
        """All that it goes on from, random generators included."""
        generators = {"numpy": self.generator.bit_generator.state, "torch": torch.cuda.get_rng_state()}
        return {"learner": self.learner.state(), "generators": generators}

    def load(self, state: dict[str, Any]) -> None:
        self.learner.load(state["learner"])
        self.generator.bit_generator.state = state["generators"]["numpy"]
        torch.cuda.set_rng_state(state["generators"]["torch"])


def tree_of_tensors(state: Any) -> list[torch.Tensor]:
    if isinstance(state, torch.Tensor):
        return [state]
    return [found for value in state.values() for found in tree_of_tensors(value)] if isinstance(state, dict) else []


def device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def actor_critic(module: Any, critics: str, *, cuda_graph: bool) -> Subject:
    """SAC, TD3 and DDPG: one environment, a gradient step at each of its steps."""
    torch.manual_seed(1)
    args = module.Args(cuda_graph=cuda_graph)
    generator = np.random.default_rng(1)
    learner = module.Learner(module.Agent(VECTOR, TORQUES).to(device()), args, device())
    coefficients = coefficients_of(module, args)
    noise = (args.exploration_noise,) if hasattr(args, "exploration_noise") else ()
    replay = ReplayBuffer(100_000, 1, VECTOR, TORQUES)

    def transition(actions: Any) -> None:
        obs = generator.standard_normal((2, 1, 17), np.float32)
        replay.add(obs[0], obs[1], actions, generator.standard_normal(1, np.float32), np.array([False]))

    for _ in range(STORED):
        transition(generator.uniform(-1, 1, (1, 6)).astype(np.float32))
    obs = generator.standard_normal((1, 17), np.float32)
    batch = replay.sample(generator, args.batch_size)
    count = 0

    def improve() -> None:
        nonlocal count
        count += 1
        getattr(learner, critics)(batch, coefficients)
        if count % args.policy_frequency == 0:
            learner.update_policy(batch, coefficients)
        if hasattr(learner, "update_targets"):
            learner.update_targets(args.tau)

    def step() -> None:
        transition(learner.act(obs, *noise))
        replay.sample(generator, args.batch_size)
        improve()

    return Subject(learner, generator, step, improve)


def q_learner(module: Any, *, cuda_graph: bool) -> Subject:
    """DQN and C51 on vectors: a gradient step at every tenth step of the environment."""
    torch.manual_seed(1)
    args = module.Args(cuda_graph=cuda_graph)
    generator = np.random.default_rng(1)
    settings = (args,) if module is c51 else ()
    networks = [module.QNetwork(POLE, PUSHES, *settings).to(device()) for _ in range(2)]
    learner = module.Learner(*networks, args, device())
    coefficients = coefficients_of(module, args)
    replay = ReplayBuffer(args.buffer_size, 1, POLE, PUSHES)

    def transition(actions: Any) -> None:
        obs = generator.standard_normal((2, 1, 4), np.float32)
        replay.add(obs[0], obs[1], actions, generator.standard_normal(1, np.float32), np.array([False]))

    for _ in range(STORED):
        transition(generator.integers(2, size=1))
    obs = generator.standard_normal((1, 4), np.float32)
    batch = replay.sample(generator, args.batch_size)

    def step() -> None:
        for _ in range(args.train_frequency):
            transition(learner.act(obs))
        learner.update(replay.sample(generator, args.batch_size), coefficients)

    return Subject(learner, generator, step, lambda: learner.update(batch, coefficients))


def pixel_q_learner(module: Any, *, cuda_graph: bool, **settings: Any) -> Subject:
    """DQN, C51 and Rainbow on pictures: a gradient step at every fourth step of the environment."""
    torch.manual_seed(1)
    args = replace(module.Args(), cuda_graph=cuda_graph, buffer_size=10_000, **settings)
    generator = np.random.default_rng(1)
    atoms = () if module is dqn_atari else (args,)
    learner = module.Learner(*(module.QNetwork(BUTTONS, *atoms) for _ in range(2)), args, device())
    rainbow = module is rainbow_atari
    replay = module.PrioritisedReplay(args, SCREEN) if rainbow else FrameReplay(args.buffer_size, 1, SCREEN)
    obs = generator.integers(256, size=(1, 4, 84, 84), dtype=np.uint8)

    def transition(actions: Any) -> None:
        nonlocal obs
        following = np.concatenate([obs[:, 1:], generator.integers(256, size=(1, 1, 84, 84), dtype=np.uint8)], axis=1)
        never = np.array([False])
        replay.add(obs, following, actions, generator.standard_normal(1, np.float32), never, never)
        obs = following

    for _ in range(STORED):
        transition(generator.integers(4, size=1))

    def sample() -> Any:
        return replay.sample(generator, 0.5) if rainbow else replay.sample(generator, args.batch_size)

    batch = sample()

    def step() -> None:
        for _ in range(args.train_frequency):
            transition(learner.act(obs))
        found = learner.update(sample())
        if rainbow:
            replay.learnt(found[1])

    return Subject(learner, generator, step, lambda: learner.update(batch))


def rollouts(module: Any, *, cuda_graph: bool, **settings: Any) -> Subject:
    """PPO on pictures, with and without curiosity: one iteration."""
    torch.manual_seed(1)
    args = replace(module.Args(), cuda_graph=cuda_graph, num_envs=8, **settings)
    generator = np.random.default_rng(1)
    curious = module is ppo_rnd
    networks = (module.Agent(BUTTONS), module.Curiosity()) if curious else (module.Agent(BUTTONS),)
    learner = module.Learner(*networks, args, device())
    rollout = module.Rollout(args, SCREEN.shape, device())
    shape = (args.num_steps, args.num_envs)
    obs = generator.integers(256, size=(args.num_envs, 4, 84, 84), dtype=np.uint8)
    estimates = [generator.standard_normal(shape, np.float32) for _ in range(3 if curious else 2)]
    pixels = torch.ones((2, 84, 84), device=device())

    def act() -> None:
        noise = gumbel(generator, (*shape, 4))
        for step in range(args.num_steps):
            rollout.obs[step] = torch.from_numpy(obs)
            choice = learner.act(rollout.obs[step], noise[step])
            rollout.add(step, choice)
            choice.actions.cpu()

    def improve() -> None:
        batch = rollout.batch(*estimates)
        if curious:
            batch |= {"pixel_mean": pixels[0], "pixel_scale": pixels[1]}
        losses = None
        for _ in range(args.update_epochs):
            shuffled = generator.permutation(args.batch_size)
            for start in range(0, args.batch_size, args.minibatch_size):
                losses = learner.update(
                    batch, shuffled[start : start + args.minibatch_size], coefficients_of(module, args)
                )
        assert losses is not None
        losses.tolist()

    def step() -> None:
        act()
        improve()

    act()
    return Subject(learner, generator, step, improve, calls_to_record=1)


def coefficients_of(module: Any, args: Any) -> Any:
    """As at the start of a run."""
    return module.Coefficients(**{name: getattr(args, name) for name in module.Coefficients._fields})


def vector_rollouts(module: Any, *, cuda_graph: bool) -> Subject:
    """PPO, RPO and PQN on vectors: 128 steps of acting and 16 minibatches."""
    torch.manual_seed(1)
    args = module.Args(cuda_graph=cuda_graph)
    generator = np.random.default_rng(1)
    spaces = (POLE, PUSHES) if "discrete" in module.ACTIONS else (VECTOR, TORQUES)
    network = getattr(module, "Agent", None) or module.QNetwork
    learner = module.Learner(network(*spaces).to(device()), args, device())
    recurrent = module is ppo_lstm
    rows = (args.num_steps, args.num_envs // args.num_minibatches) if recurrent else (args.minibatch_size,)
    batch = module.Batch(**{name: _field(name, rows, spaces, generator) for name in module.Batch._fields})
    obs = generator.standard_normal((args.num_envs, *spaces[0].shape), np.float32)
    noise = generator.standard_normal((args.num_envs, 2 if spaces[0] is POLE else 6), np.float32)
    memory = module.nothing_remembered(args.num_envs) if recurrent else None

    def act() -> None:
        nonlocal memory
        if recurrent:
            memory = learner.remember(obs, memory, np.zeros(args.num_envs, np.float32))
            learner.logits(memory.hidden)
        else:
            learner.act(obs) if module is pqn else learner.act(obs, noise)

    def improve() -> None:
        for _ in range(16):
            learner.update(batch, args.learning_rate if module is pqn else coefficients_of(module, args))

    def step() -> None:
        for _ in range(128):
            act()
        improve()

    return Subject(learner, generator, step, improve, calls_to_record=1)


def _field(name: str, rows: tuple[int, ...], spaces: tuple[Any, Any], generator: np.random.Generator) -> Any:
    """Of a batch."""
    if name in ("hidden", "cell"):
        return np.zeros((1, rows[1], ppo_lstm.UNITS), np.float32)
    if name == "actions" and isinstance(spaces[1], gym.spaces.Discrete):
        return generator.integers(spaces[1].n, size=rows)
    if name == "starts":
        return (generator.random(rows) < 0.1).astype(np.float32)
    shapes = {"obs": spaces[0].shape, "actions": spaces[1].shape, "shifts": spaces[1].shape}
    return generator.standard_normal((*rows, *shapes.get(name, ())), np.float32)


SUBJECTS: dict[str, Callable[..., Subject]] = {
    "ppo_atari": partial(rollouts, ppo_atari),
    "ppo_atari-bfloat16": partial(rollouts, ppo_atari, bfloat16=True),
    "sac_continuous_action": partial(actor_critic, sac_continuous_action, "update_critics"),
    "td3_continuous_action": partial(actor_critic, td3_continuous_action, "update_critics"),
    "ddpg_continuous_action": partial(actor_critic, ddpg_continuous_action, "update_critic"),
    "dqn_atari": partial(pixel_q_learner, dqn_atari),
    "c51_atari": partial(pixel_q_learner, c51_atari),
    "rainbow_atari": partial(pixel_q_learner, rainbow_atari),
    "ppo_rnd": partial(rollouts, ppo_rnd),
    "dqn": partial(q_learner, dqn),
    "c51": partial(q_learner, c51),
    "ppo": partial(vector_rollouts, ppo),
    "ppo_continuous_action": partial(vector_rollouts, ppo_continuous_action),
    "rpo_continuous_action": partial(vector_rollouts, rpo_continuous_action),
    "ppo_lstm": partial(vector_rollouts, ppo_lstm),
    "pqn": partial(vector_rollouts, pqn),
}
