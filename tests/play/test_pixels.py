"""Policies with convolutions play: they see what they saw in training, and the game is a whole one."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch

from cleanrl_worker.algorithms import ppo_atari
from cleanrl_worker.sdk import policy
from cleanrl_worker.sdk.policy import PolicyFile
from mosaic import config, envs
from mosaic.envs.observations.pixels import SHAPE

GAME = "ALE/Breakout-v5"
Play = Callable[..., Any]


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A policy file of ppo_atari, as good as its first weights."""
    torch.manual_seed(0)
    agent = ppo_atari.Agent(gym.spaces.Discrete(4))
    path = tmp_path / "ppo_atari.cleanrl_model"
    policy.write(
        path,
        PolicyFile(
            algo="ppo_atari",
            env_id=GAME,
            args=config.to_json(replace(ppo_atari.Args(), env_id=GAME)),
            observation_space=gym.spaces.Box(0, 255, SHAPE, np.uint8),
            action_space=gym.spaces.Discrete(4),
            global_step=0,
            arrays={f"agent.{name}": value.numpy() for name, value in agent.state_dict().items()},
        ),
    )
    return path


def test_a_policy_on_pictures_plays_a_whole_game_that_can_be_replayed(play: Play, trained: Path) -> None:
    played = play(GAME, f"policy:{trained}", episodes=1)
    assert played.code == 0
    [episode] = played.episodes
    assert episode.head.observations == "pixels"
    assert episode.steps[-1].terminated
    assert not any(step.terminated for step in episode.steps[:-1]), "a lost life is not an end"
    again = play(GAME, f"replay:{episode.path}", episodes=1)
    assert again.summary["replay"]["exact"], again.summary["replay"]


def test_a_policy_on_pictures_plays_beside_others_in_lock_step(play: Play, trained: Path) -> None:
    played = play(GAME, {"1": f"policy:{trained}", "2": "random"}, episodes=1, lockstep=True)
    assert played.code == 0
    assert played.episodes[0].head.observations == "pixels"


def test_a_session_that_shows_something_else_is_refused_with_what_to_do(
    play: Play, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    played = play(GAME, f"policy:{trained}", episodes=1, observations="raw")
    assert played.code != 0
    assert "--observations pixels" in capsys.readouterr().err


def test_pictures_can_be_asked_for_without_a_policy(play: Play) -> None:
    assert play(GAME, "random", episodes=1, observations="pixels").episodes[0].head.observations == "pixels"
    assert play("CartPole-v1", "random", episodes=1, observations="pixels").code != 0


def test_whole_games_go_on_after_a_lost_life_as_the_next_episode_begins() -> None:
    by_lives, whole = envs.make(GAME, pixels=True), envs.make(GAME, pixels=True, whole_games=True)
    generator = np.random.default_rng(0)
    seen, expected = whole.reset(seed=3)[0], by_lives.reset(seed=3)[0]
    total, lost, over = 0.0, 0, False
    while not over:
        assert np.array_equal(seen, expected)
        action = int(generator.integers(4))
        seen, reward, over, _, _ = whole.step(action)
        expected, _, ended, _, info = by_lives.step(action)
        total += float(reward)
        if ended and not info["game_over"]:
            lost += 1
            expected = by_lives.reset()[0]
    assert lost == 4
    assert ended
    assert total == info["game_return"] > 0
