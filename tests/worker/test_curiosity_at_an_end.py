"""What ppo_rnd is curious about where an episode ends: its last picture, not the first one of the next."""

from types import SimpleNamespace
from typing import Any, cast

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ppo_rnd
from cleanrl_worker.sdk import Run

SHAPE = (4, 84, 84)
Array = np.ndarray[Any, Any]


class ThreeSteps:
    """Two environments whose pictures tell the steps since the start; the episodes of the second end after three."""

    single_observation_space = gym.spaces.Box(0, 255, SHAPE, np.uint8)
    single_action_space = gym.spaces.Discrete(2)

    def __init__(self) -> None:
        self.ages = np.zeros(2, dtype=np.uint8)
        self.backend = self

    def reset(self, seed: int | None) -> None:
        self.ages[:] = 0

    @property
    def current_obs(self) -> Array:
        return np.broadcast_to(self.ages[:, None, None, None], (2, *SHAPE)).copy()

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        self.ages += 1
        reached, ends = self.current_obs, np.array([False, self.ages[1] == 3])
        self.ages[ends] = 0
        infos = {"final_obs": reached, "_final_obs": ends} if ends.any() else {}
        return self.current_obs, np.zeros(2), ends, np.zeros(2, dtype=bool), infos

    def step_aside(self, actions: Array) -> Array:
        return self.step(actions)[0]


def test_curiosity_at_an_end_looks_at_the_last_picture_of_the_episode(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []
    normalised = ppo_rnd.Novelty.normalised

    def noted(novelty: ppo_rnd.Novelty, frames: torch.Tensor) -> torch.Tensor:
        seen.append([int(pixel) for pixel in frames[:, 0, 0]])
        return normalised(novelty, frames)

    monkeypatch.setattr(ppo_rnd.Novelty, "normalised", noted)

    def nothing(*_: Any, **__: Any) -> None:
        return

    envs = ThreeSteps()
    run = SimpleNamespace(
        make_envs=lambda *_, **__: envs,  # pyright: ignore[reportUnknownLambdaType]
        device=torch.device("cpu"),
        generator=np.random.default_rng(1),
        resume=nothing,
        explain_with=nothing,
        scalars=nothing,
        checkpoint=nothing,
        save_policy=nothing,
        mean_return=lambda count: 0.0,  # pyright: ignore[reportUnknownLambdaType]
        steps_per_second=lambda: 0.0,
        checkpoint_reason=nothing,
        histograms=nothing,
    )
    # A rollout ends where an episode does, and one goes on in the next rollout.
    args = ppo_rnd.Args(
        cuda=False,
        num_envs=2,
        num_steps=6,
        total_timesteps=12,
        num_minibatches=1,
        update_epochs=1,
        num_iterations_obs_norm_init=1,
    )
    ppo_rnd.train(cast("Run", run), args)
    assert seen == [[picture for age in range(1, 7) for picture in (age, (age - 1) % 3 + 1)]]
