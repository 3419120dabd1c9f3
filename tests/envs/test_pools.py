"""Environments of envpool, one at a time and many at once, and dm_control by its own interface."""

from contextlib import closing

import numpy as np
import pytest
from gymnasium import spaces

from mosaic.envs import describe, headless_defaults, list_ids, make, make_vec
from mosaic.envs.vector.twin import Freezer
from mosaic.errors import UnknownEnvironment


def test_a_seed_says_what_happens_in_all_episodes_of_a_game() -> None:
    def played(seed: int) -> list[np.ndarray]:
        with closing(make("procgen/CoinrunEasy-v0", render_mode=None)) as env:
            pictures = [env.reset(seed=seed)[0]]
            pictures += [env.step(5)[0] for _ in range(20)]
            return [*pictures, env.reset()[0]]

    one, same, other = played(3), played(3), played(4)
    assert all(map(np.array_equal, one, same))
    assert not np.array_equal(one[0], other[0])
    assert not np.array_equal(one[0], one[-1])


def test_levels_of_procgen_are_a_setting() -> None:
    settings = {"num_levels": 1, "start_level": 17}
    with closing(make("procgen/MazeEasy-v0", render_mode=None, settings=settings)) as env:
        assert np.array_equal(env.reset(seed=1)[0], env.reset(seed=2)[0])
        assert env.reset()[1]["level_seed"] == 17


@pytest.mark.parametrize("env_id", ["procgen/StarpilotHard-v0", "envpool/Jumanji-Snake-v1"])
def test_a_pool_of_many_shows_what_one_shows(env_id: str) -> None:
    with closing(make_vec(env_id, 3, backend="envpool")) as pool, closing(make_vec(env_id, 3)) as bare:
        assert pool.backend == "envpool"
        assert pool.single_observation_space == bare.single_observation_space
        assert pool.single_action_space == bare.single_action_space
        pool.reset(seed=1)
        for _ in range(40):
            seen = pool.step(np.zeros(3, np.int64))[0]
        assert seen.shape == bare.reset(seed=1)[0].shape


def test_bounds_that_mean_none_are_none_and_whole_numbers_are_choices() -> None:
    with closing(make("envpool/Jumanji-BinPack-v2", render_mode=None)) as env:
        assert isinstance(env.action_space, spaces.MultiDiscrete)
        assert env.action_space.nvec.tolist() == [40, 20]
    with closing(make("envpool/FetchReach-v4", render_mode=None)) as env:
        assert np.isinf(env.observation_space["observation"].high).all()


def test_masks_of_envpool_are_read_where_it_has_them_in_its_own_place() -> None:
    with closing(make("envpool/Play2048-v1", render_mode=None)) as env:
        assert env.reset(seed=0)[1]["action_mask"].shape == (4,)


def test_every_id_of_envpool_is_there_once() -> None:
    ids = list_ids("envpool")
    assert {"envpool/gfootball-5_vs_5-v1", "envpool/MyoSuite-myoElbowPose1D6MRandom-v0"} <= set(ids)
    assert not [env_id for env_id in ids if env_id.startswith(("envpool/CartPole", "envpool/MiniGrid", "envpool/Coin"))]


def test_what_envpool_cannot_draw_says_so() -> None:
    with closing(make("envpool/Catch-v0")) as env:
        env.reset(seed=0)
        with pytest.raises(Exception, match="envpool has no pictures of Catch-v0"):
            env.render()


def test_dm_control_ends_as_its_tasks_say_and_is_cut_off_after_1000_steps() -> None:
    with closing(make("dm_control/pendulum-swingup-v0", render_mode=None)) as env:
        env.reset(seed=1)
        ends = [env.step(np.zeros(1, np.float32))[2:4] for _ in range(1000)]
    assert ends[:-1] == [(False, False)] * 999
    assert ends[-1] == (False, True)


def test_a_simulation_that_diverges_ends_the_episode() -> None:
    settings = {"max_episode_steps": 5000}
    with closing(make("dm_control/lqr-lqr_2_1-v0", render_mode=None, settings=settings)) as env:
        seen = [env.reset(seed=1)[0]]
        env.action_space.seed(1)
        info: dict[str, object] = {}
        while "diverged" not in info:
            observation, _, terminated, truncated, info = env.step(env.action_space.sample())
            assert not truncated
            seen.append(observation)
        assert terminated
        assert np.isfinite(seen[-1]["position"]).all()


@pytest.mark.parametrize("env_id", ["dm_control/reacher-hard-v0", "dm_control/quadruped-escape-v0"])
def test_a_twin_draws_what_the_task_draws(env_id: str) -> None:
    headless_defaults()
    from mosaic.envs import family_of

    twin = family_of(env_id).twin
    assert twin is not None
    size = {"width": 64, "height": 64}
    with closing(make(env_id, **size)) as one, closing(make(env_id, **size)) as other:
        one.reset(seed=1)
        other.reset(seed=2)
        for _ in range(5):
            one.step(one.action_space.sample())
        assert not np.array_equal(one.render(), other.render())
        frozen = Freezer(env_id, [one], twin).freeze(0)
        twin.thaw(other.unwrapped, frozen)
        assert np.array_equal(one.render(), other.render())


def test_descriptions_need_no_simulation() -> None:
    football = describe("envpool/gfootball-5_vs_5-v1")
    assert (football.action, football.observation) == ("discrete", "pixels")
    assert describe("dm_control/cheetah-run-v0").seen_shape == (17,)


def test_an_id_of_envpool_for_several_players_is_not_there() -> None:
    with pytest.raises(UnknownEnvironment, match="not known"):
        make("envpool/Go9x9-v1")
