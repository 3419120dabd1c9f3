"""The rules of the games on a grid, each at the moment in which it pays, and how they look."""

import numpy as np
import pytest

from mosaic.envs import list_ids, make
from mosaic.envs.grid_games import GAMES
from mosaic.envs.grid_games.bricks import Bricks
from mosaic.envs.grid_games.divers import AIR, Divers, Swimmer
from mosaic.envs.grid_games.fleet import Fleet
from mosaic.envs.grid_games.grid_game import SIDE, GridGame
from mosaic.envs.grid_games.hunt import Hunt, Passer
from mosaic.envs.grid_games.lanes import BOTTOM, COLUMN, Car, Lanes


def begun(game: type[GridGame], **settings: object) -> GridGame:
    env = game(repeat_action_probability=0.0, **settings)
    env.reset(seed=1)
    return env


def act(env: GridGame, name: str) -> tuple[float, bool]:
    _, reward, over, _, _ = env.step(env.actions.index(name))
    return reward, over


@pytest.mark.parametrize("env_id", list_ids("grids"))
def test_a_game_plays_to_its_end_and_every_plane_is_shown(env_id: str) -> None:
    env = make(env_id, settings={"max_episode_steps": 3000})
    seen = np.zeros(env.observation_space.shape, np.bool_)
    env.action_space.seed(3)
    for seed in range(12):
        observation, over = env.reset(seed=seed)[0], False
        while not over:
            assert env.observation_space.contains(observation)
            seen |= observation
            observation, _, terminated, truncated, _ = env.step(env.action_space.sample())
            over = terminated or truncated
    # Random actions bring no diver up, but pick one up now and then.
    assert seen.any(axis=(0, 1)).all()
    assert env.render().shape == (240, 240, 3)


def test_bricks_pay_and_a_lost_ball_ends_the_episode() -> None:
    env = begun(Bricks)
    env.row, env.column, env.down, env.right = 4, 4, -1, 1
    assert act(env, "nothing") == (1.0, False)
    assert not env.bricks[3, 5]
    assert env.down == 1
    env.row, env.column, env.down, env.right, env.paddle = 8, 4, 1, 1, 0
    assert act(env, "nothing") == (0.0, True)


def test_a_paddle_under_the_ball_sends_it_back_and_brings_a_new_wall_when_none_is_left() -> None:
    env = begun(Bricks)
    env.bricks[:] = False
    env.row, env.column, env.down, env.right, env.paddle = 8, 4, 1, 1, 5
    assert act(env, "nothing") == (0.0, False)
    assert env.down == -1
    assert env.bricks.sum() == 4 * SIDE


def test_a_crossing_pays_and_a_car_sends_back() -> None:
    env = begun(Lanes)
    env.cars = [Car(0, 1, 3) for _ in env.cars]
    env.row = 1
    assert act(env, "up") == (1.0, False)
    assert env.row == BOTTOM
    env.cars = [Car(COLUMN, 1, 3) for _ in env.cars]
    assert act(env, "up") == (0.0, False)
    assert env.row == BOTTOM


def test_gold_pays_and_an_enemy_ends_the_episode() -> None:
    env = begun(Hunt)
    env.passers = [Passer(env.row, env.column + 1, 1, is_gold=True)]
    assert act(env, "right") == (1.0, False)
    env.passers = [Passer(env.row, env.column + 1, 1, is_gold=False)]
    assert act(env, "right") == (0.0, True)


def test_a_shot_pays_and_a_shot_of_theirs_ends_the_episode() -> None:
    env = begun(Fleet)
    env.fleet[:] = False
    env.fleet[[0, 8], [0, env.column]] = True
    assert act(env, "fire") == (1.0, False)
    env.theirs[8, env.column] = True
    assert act(env, "nothing") == (0.0, True)


def test_the_fleet_that_reaches_the_bottom_ends_the_episode() -> None:
    env = begun(Fleet)
    env.fleet[:] = False
    env.fleet[8, SIDE - 1] = True
    env.direction, env.column = 1, 0
    while not act(env, "nothing")[1]:
        env.theirs[:] = False
    assert env.fleet[9].any()


def test_divers_who_are_brought_up_pay_and_the_tank_is_filled() -> None:
    env = begun(Divers)
    act(env, "down")
    env.swimmers = [Swimmer(1, env.column + 1, 1, is_diver=True)]
    assert act(env, "right") == (0.0, False)
    assert env.aboard == 1
    assert act(env, "up") == (1.0, False)
    assert (env.aboard, env.air) == (0, AIR)


def test_a_fish_that_is_shot_pays_and_no_air_ends_the_episode() -> None:
    env = begun(Divers)
    act(env, "down")
    env.swimmers = [Swimmer(1, env.column + 2, 1, is_diver=False)]
    env.facing = 1
    assert act(env, "fire") == (1.0, False)
    env.swimmers, env.air = [], 1
    assert act(env, "nothing") == (0.0, True)


def test_actions_repeat_by_chance() -> None:
    env = Lanes(repeat_action_probability=1.0)
    env.reset(seed=1)
    env.step(1)
    assert env.row == BOTTOM


def test_the_observation_is_of_truth_values() -> None:
    for game in GAMES:
        assert begun(game).observation_space.dtype == np.bool_
