"""Every backend keeps one convention, and bare, sync and async give the same numbers bit for bit."""

from contextlib import closing
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from mosaic.envs import VecEnv, choose_backend, make_vec, preflight
from mosaic.errors import ConfigError, EnvironmentFailed

SIX = (
    "CartPole-v1",
    "LunarLander-v3",
    "HalfCheetah-v5",
    "ALE/Breakout-v5",
    "FrozenLake-v1",
    "MiniGrid-Empty-5x5-v0",
)


def actions_for(envs: VecEnv, steps: int, seed: int = 3) -> list[np.ndarray]:
    space = envs.single_action_space
    space.seed(seed)
    return [np.stack([space.sample() for _ in range(envs.num_envs)]) for _ in range(steps)]


@pytest.mark.parametrize("env_id", SIX)
def test_six_environments_step_and_render(env_id: str) -> None:
    assert preflight(env_id).ok
    envs = make_vec(env_id, 2, render_mode="rgb_array")
    obs, infos = envs.reset(seed=1)
    assert infos == {}
    for actions in actions_for(envs, 5):
        obs, rewards, terminations, truncations, _ = envs.step(actions)
    assert obs.shape == (2, *envs.single_observation_space.shape)
    assert obs.dtype == envs.single_observation_space.dtype
    assert (rewards.dtype, terminations.dtype, truncations.dtype) == (np.float64, np.bool_, np.bool_)
    frame = envs.render_slot(1)
    assert frame is not None
    assert frame.dtype == np.uint8
    assert frame.ndim == 3
    envs.close()


@pytest.mark.parametrize(
    ("env_id", "steps"),
    [
        ("CartPole-v1", 3000),
        ("Pendulum-v1", 2000),
        ("HalfCheetah-v5", 2100),
        ("FrozenLake-v1", 3000),
        ("LunarLander-v3", 1500),
    ],
)
@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_equals_gymnasium_bit_for_bit(env_id: str, steps: int, backend: str) -> None:
    num_envs = 2 if env_id == "HalfCheetah-v5" else 4
    ours = make_vec(env_id, num_envs, backend=backend, observations="raw")
    theirs = SyncVectorEnv([lambda: gymnasium.make(env_id)] * num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    expected, _ = theirs.reset(seed=5)
    obs, _ = ours.reset(seed=5)
    assert np.array_equal(obs, expected)
    endings = 0
    for actions in actions_for(ours, steps):
        *expected, their_infos = theirs.step(actions)
        *got, infos = ours.step(actions)
        for mine, reference in zip(got, expected, strict=True):
            assert mine.dtype == reference.dtype
            assert np.array_equal(mine, reference)
        over = expected[2] | expected[3]
        assert bool(infos) == over.any()
        for slot in np.flatnonzero(over):
            endings += 1
            assert np.array_equal(infos["final_obs"][slot], their_infos["final_obs"][slot])
        if infos:
            assert np.array_equal(infos["_final_obs"], over)
            assert np.array_equal(infos["final_obs"][~over], got[0][~over])
    assert endings >= 2


def test_async_equals_bare() -> None:
    bare, parallel = (make_vec("CartPole-v1", 2, backend=backend) for backend in ("bare", "async"))
    assert np.array_equal(bare.reset(seed=2)[0], parallel.reset(seed=2)[0])
    for actions in actions_for(bare, 200):
        *mine, my_infos = bare.step(actions)
        *others, other_infos = parallel.step(actions)
        assert all(map(np.array_equal, mine, others))
        assert my_infos.keys() == other_infos.keys()
        for key in ("final_obs", "_final_obs", "episode_return", "episode_length") if my_infos else ():
            assert np.array_equal(my_infos[key], other_infos[key])
    parallel.close()


@pytest.mark.parametrize(
    ("env_id", "backend"),
    [
        ("CartPole-v1", "bare"),
        ("CartPole-v1", "sync"),
        ("CartPole-v1", "native"),
        ("CartPole-v1", "envpool"),
        ("FrozenLake-v1", "envpool"),
    ],
)
def test_episode_statistics_add_up(env_id: str, backend: str) -> None:
    envs = make_vec(env_id, 3, backend=backend)
    first, _ = envs.reset(seed=1)
    returns, lengths = np.zeros(3), np.zeros(3, dtype=np.int64)
    endings = 0
    for actions in actions_for(envs, 300):
        obs, rewards, terminations, truncations, infos = envs.step(actions)
        returns += rewards
        lengths += 1
        assert np.array_equal(obs, envs.current_obs)
        over = terminations | truncations
        assert bool(infos) == over.any()
        if infos:
            endings += 1
            assert np.array_equal(infos["episode_return"][over], returns[over])
            assert np.array_equal(infos["episode_length"][over], lengths[over])
            assert infos["final_obs"].shape == first.shape
            assert not np.array_equal(infos["final_obs"][over], obs[over])
            assert len(infos["final_info"]) == 3
            returns[over] = lengths[over] = 0
    assert endings > 5
    envs.close()


def test_native_cartpole_begins_the_next_episode_in_the_same_step() -> None:
    envs = make_vec("CartPole-v1", 2, backend="native")
    envs.reset(seed=0)
    for _ in range(50):
        obs, *_, infos = envs.step(np.array([1, 1]))
        if infos:
            over = infos["_final_obs"]
            assert (np.abs(obs[over]) <= 0.05).all()
            after, rewards, *_ = envs.step(np.array([0, 0]))
            assert (rewards == 1).all()
            assert not np.array_equal(after[over], obs[over])


def test_time_limit_truncates_without_terminating() -> None:
    envs = make_vec("Pendulum-v1", 1)
    envs.reset(seed=0)
    for step in range(1, 401):
        _, _, terminations, truncations, infos = envs.step(np.zeros((1, 1), dtype=np.float32))
        assert not terminations.any()
        assert bool(truncations[0]) == (step % 200 == 0)
        assert not infos or infos["episode_length"][0] == 200


def test_returned_arrays_belong_to_the_caller() -> None:
    envs = make_vec("CartPole-v1", 2)
    obs, _ = envs.reset(seed=0)
    kept = obs.copy()
    later = envs.step(np.array([0, 1]))[0]
    assert np.array_equal(obs, kept)
    later[:] = 99
    assert not (envs.current_obs == 99).any()


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_slots_can_be_reached(backend: str) -> None:
    envs = make_vec("CartPole-v1", 3, backend=backend)
    envs.reset(seed=0)
    assert envs.call("gravity") == (9.8, 9.8, 9.8)
    assert envs.render_slot(0) is None


def test_own_physics_are_honoured_by_the_quick_step() -> None:
    for kwargs in ({}, {"sutton_barto_reward": True}):
        bare, sync = (make_vec("CartPole-v1", 2, backend=backend, **kwargs) for backend in ("bare", "sync"))
        for envs in (bare, sync):
            envs.reset(seed=4)
        for env in bare.envs:
            env.unwrapped.length, env.unwrapped.kinematics_integrator = 0.7, "semi-implicit euler"
        for env in sync.vector.envs:
            env.unwrapped.length, env.unwrapped.kinematics_integrator = 0.7, "semi-implicit euler"
        for actions in actions_for(bare, 300):
            assert all(map(np.array_equal, bare.step(actions)[:4], sync.step(actions)[:4]))


@pytest.mark.parametrize(
    "physics", [{}, {"dt": 0.07, "LINK_MASS_2": 1.3, "LINK_LENGTH_1": 0.9}, {"book_or_nips": "nips"}]
)
def test_the_quick_acrobot_is_gymnasiums_bit_for_bit(physics: dict[str, Any]) -> None:
    bare, sync = (make_vec("Acrobot-v1", 2, backend=backend) for backend in ("bare", "sync"))
    for envs, robots in ((bare, bare.envs), (sync, sync.vector.envs)):
        envs.reset(seed=4)
        for robot in robots:
            for name, value in physics.items():
                setattr(robot.unwrapped, name, value)
    # Pushed the way the outer link turns, it gains energy until it is over the top: angles are wrapped.
    endings = 0
    for actions in actions_for(bare, 700):
        swing = bare.current_obs[:, 5]
        actions = np.where(np.abs(swing) > 0.3, 1 + np.sign(swing), actions).astype(np.int64)
        ours, theirs = bare.step(actions), sync.step(actions)
        assert all(map(np.array_equal, ours[:4], theirs[:4]))
        endings += int((ours[2] | ours[3]).sum())
    assert endings > 2


def test_auto_prefers_bare_and_uses_processes_only_where_they_pay() -> None:
    assert choose_backend("CartPole-v1", 64, cores=64).backend == "bare"
    assert choose_backend("ALE/Breakout-v5", 8, cores=8).backend == "async"
    assert choose_backend("ALE/Breakout-v5", 8, cores=2).backend == "bare"
    assert choose_backend("ALE/Breakout-v5", 1, cores=8).backend == "bare"
    asked = choose_backend("CartPole-v1", 4, backend="envpool")
    assert asked.backend == "envpool"
    assert "not comparable" in asked.reason


def test_envpool_takes_every_seed_that_an_algorithm_takes() -> None:
    with closing(make_vec("CartPole-v1", 1, backend="envpool")) as envs:
        assert envs.reset(seed=2**32 - 1)[0].shape == (1, 4)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(ConfigError, match="num_envs"):
        make_vec("CartPole-v1", 0)
    with pytest.raises(ConfigError, match="wrappers"):
        make_vec("CartPole-v1", 2, backend="native", wrappers=[gymnasium.wrappers.ClipAction])
    with pytest.raises(EnvironmentFailed, match="native"):
        make_vec("Pendulum-v1", 2, backend="native")
    with pytest.raises(EnvironmentFailed, match="envpool has no"):
        make_vec("Taxi-v4", 2, backend="envpool")


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_a_lander_that_may_be_drawn_carries_nothing_for_pictures(backend: Any) -> None:
    """Gymnasium keeps a body for each firing until `render()` is called: the step becomes 16 to 24 times slower."""
    engines = [np.array([2 if step % 3 else 1]) for step in range(60)]
    seen: dict[str | None, list[np.ndarray]] = {}
    bodies: dict[str | None, list[int]] = {}
    for mode in (None, "rgb_array"):
        with closing(make_vec("LunarLander-v3", 1, backend=backend, render_mode=mode)) as envs:
            envs.reset(seed=4)
            seen[mode] = [envs.step(engine)[0] for engine in engines]
            (world,) = envs.call("world")
            bodies[mode] = [world.bodyCount, len(envs.call("particles")[0])]
            assert (envs.render_slot(0) is None) == (mode is None)
    assert bodies["rgb_array"] == bodies[None]
    np.testing.assert_array_equal(seen["rgb_array"], seen[None])
