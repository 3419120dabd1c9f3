"""Environments as functions of tensors: Gymnasium's, step for step; exact snapshots; the same pictures."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from mosaic import envs
from mosaic.envs.tensor import tensor_tasks
from mosaic.envs.vector.tensor_vector import TensorVec
from mosaic.errors import CheckpointError, EnvironmentFailed

CONTROL = ("CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1", "Acrobot-v1")
TABLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("FrozenLake-v1", {}),
    ("FrozenLake-v1", {"is_slippery": False}),
    ("FrozenLake8x8-v1", {}),
    ("CliffWalking-v1", {}),
    ("CliffWalkingSlippery-v1", {}),
    ("Taxi-v4", {}),
    ("Taxi-v4", {"is_rainy": True}),
)
STEPS = 10_000


def tensors(env_id: str, copies: int, **settings: Any) -> TensorVec:
    vec = envs.make_vec(env_id, copies, backend="tensor", settings=settings, render_mode="rgb_array")
    assert isinstance(vec, TensorVec)
    return vec


def some_actions(vec: TensorVec, rng: np.random.Generator) -> Any:
    space: Any = vec.single_action_space
    if vec.single_action_space.shape:
        # Beyond the bounds too, where each environment clips in its own manner.
        return rng.uniform(1.5 * space.low, 1.5 * space.high, (vec.num_envs, *space.shape)).astype(np.float32)
    return rng.integers(space.n, size=vec.num_envs)


@pytest.mark.parametrize("env_id", CONTROL)
def test_steps_are_those_of_gymnasium(env_id: str) -> None:
    """Each step begins in our state: Acrobot doubles a difference of the last bit again and again."""
    vec, usual, twin = tensors(env_id, 2), envs.make(env_id, render_mode=None), envs.family_of(env_id).twin
    assert twin is not None
    rng = np.random.default_rng(1)
    usual.reset(seed=0)
    vec.reset(seed=1)
    episodes = 0
    for _ in range(STEPS):
        twin.thaw(usual.unwrapped, vec.frozen(0))
        actions = some_actions(vec, rng)
        obs, rewards, terminations, truncations, infos = vec.step(actions)
        seen, reward, terminated, truncated, _ = usual.step(actions[0])
        np.testing.assert_allclose(infos.get("final_obs", obs)[0], seen, atol=1e-5, rtol=0)
        assert rewards[0] == pytest.approx(reward, abs=1e-5)
        assert (terminations[0], truncations[0]) == (terminated, truncated)
        if terminated or truncated:
            episodes += 1
            usual.reset()
    assert episodes > 5


# MountainCar's steps are so small that single precision on the way would show beside one rounding of an observation.
@pytest.mark.parametrize(("env_id", "most"), [("CartPole-v1", 1e-5), ("MountainCar-v0", 1.2e-7), ("Pendulum-v1", 1e-5)])
def test_whole_episodes_are_those_of_gymnasium(env_id: str, most: float) -> None:
    vec, usual, twin = tensors(env_id, 1), envs.make(env_id, render_mode=None), envs.family_of(env_id).twin
    assert twin is not None
    rng = np.random.default_rng(2)
    usual.reset(seed=0)
    vec.reset(seed=1)
    twin.thaw(usual.unwrapped, vec.frozen(0))
    for _ in range(STEPS // 5):
        actions = some_actions(vec, rng)
        obs, _, _, _, infos = vec.step(actions)
        seen, _, terminated, truncated, _ = usual.step(actions[0])
        np.testing.assert_allclose(infos.get("final_obs", obs)[0], seen, atol=most, rtol=0)
        if terminated or truncated:
            usual.reset()
            twin.thaw(usual.unwrapped, vec.frozen(0))


class Handed:
    """In the place of a generator: the number that our step drew."""

    def __init__(self) -> None:
        self.number = 0.0

    def random(self) -> float:
        return self.number


@pytest.mark.parametrize(("env_id", "settings"), TABLES)
def test_tables_are_those_of_gymnasium(env_id: str, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    vec, usual = tensors(env_id, 2, **settings), envs.make(env_id, render_mode=None, settings=settings)
    game: Any = usual.unwrapped
    handed = Handed()
    drawn = vec.draws

    def draws(steps: int) -> torch.Tensor:
        numbers = drawn(steps)
        handed.number = float(numbers[0, 0, 0])
        return numbers

    monkeypatch.setattr(vec, "draws", draws)
    rng = np.random.default_rng(1)
    usual.reset(seed=0)
    vec.reset(seed=1)
    game.s = int(vec.frozen(0)[0])
    for _ in range(STEPS // 2):
        actions = some_actions(vec, rng)
        obs, rewards, terminations, truncations, infos = vec.step(actions)
        generator, game.np_random = game.np_random, handed
        state, reward, terminated, truncated, _ = usual.step(int(actions[0]))
        game.np_random = generator
        assert infos.get("final_obs", obs)[0].argmax() == state
        assert (rewards[0], terminations[0], truncations[0]) == (reward, terminated, truncated)
        if terminated or truncated:
            usual.reset()
            game.s = int(vec.frozen(0)[0])


@pytest.mark.parametrize("env_id", ["mosaic/Bricks-v0", "mosaic/Lanes-v0"])
@pytest.mark.parametrize("harder", [True, False])
def test_games_are_those_of_their_usual_form(env_id: str, harder: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the beginning of one episode to that of the next, by the numbers that our step drew."""
    vec, usual = tensors(env_id, 2, harder=harder), envs.make(env_id, render_mode=None, settings={"harder": harder})
    game: Any = usual.unwrapped
    handed, numbers, drawn = Handed(), list[float](), vec.draws

    def draws(steps: int) -> torch.Tensor:
        found = drawn(steps)
        handed.number, numbers[:] = float(found[0, 0, 0]), found[0, 0, 1:].double().tolist()
        return found

    monkeypatch.setattr(vec, "draws", draws)
    monkeypatch.setattr(game, "chance", lambda below: int(numbers.pop(0) * below))  # type: ignore[reportUnknownLambdaType]
    rng = np.random.default_rng(1)
    obs, _ = vec.reset(seed=1)
    del numbers[: vec.task.step_draws - 1]
    usual.reset()
    episodes = 0
    for _ in range(STEPS // 2):
        # Upwards in Lanes more often than not, else no lane would be crossed.
        actions = rng.choice(3, size=2, p=(0.2, 0.5, 0.3))
        obs, rewards, terminations, truncations, infos = vec.step(actions)
        fresh = numbers[vec.task.step_draws - 1 :]
        generator, game.np_random = game.np_random, handed
        seen, reward, terminated, truncated, _ = usual.step(int(actions[0]))
        game.np_random = generator
        np.testing.assert_array_equal(infos.get("final_obs", obs)[0], seen)
        assert (rewards[0], terminations[0], truncations[0]) == (reward, terminated, truncated)
        if terminated or truncated:
            episodes += 1
            numbers[:] = fresh
            usual.reset()
            np.testing.assert_array_equal(obs[0], game.seen())
    assert episodes > 3


@pytest.fixture(params=sorted(set(tensor_tasks.ids()) - {"CartPole-v0", "Taxi-v3"}))
def vec(request: pytest.FixtureRequest) -> Iterator[TensorVec]:
    made = tensors(request.param, 3)
    yield made
    made.close()


def test_a_snapshot_goes_on_bit_for_bit(vec: TensorVec) -> None:
    rng = np.random.default_rng(3)
    vec.reset(seed=4)
    for _ in range(30):
        vec.step(some_actions(vec, rng))
    saved = vec.snapshot()
    moves = [some_actions(vec, rng) for _ in range(30)]
    first = [vec.step(each) for each in moves]
    assert vec.restore(saved)
    for before, move in zip(first, moves, strict=True):
        after = vec.step(move)
        for one, other in zip(before[:4], after[:4], strict=True):
            np.testing.assert_array_equal(one, other)


def test_every_task_shows_what_its_space_says_and_is_drawn(vec: TensorVec) -> None:
    rng = np.random.default_rng(5)
    obs, _ = vec.reset(seed=6)
    for _ in range(20):
        obs = vec.step(some_actions(vec, rng))[0]
    assert obs.dtype == np.float32
    assert vec.single_observation_space.contains(obs[0])
    picture = vec.render_slot(1)
    assert picture is not None
    assert picture.std() > 0
    freezer = vec.freezer()
    assert freezer is not None
    assert freezer.freeze(2).dtype == np.float64


def test_a_picture_is_that_of_the_usual_form() -> None:
    vec = tensors("CartPole-v1", 2)
    vec.reset(seed=1)
    usual = envs.make("CartPole-v1")
    usual.reset(seed=0)
    usual.unwrapped.state = vec.frozen(1)[:4]  # type: ignore[attr-defined]
    np.testing.assert_array_equal(vec.render_slot(1), usual.render())


def test_what_there_is_not_is_named_with_what_there_is() -> None:
    with pytest.raises(EnvironmentFailed, match=r"has no 'LunarLander-v3'; it has .*CartPole-v1"):
        envs.make_vec("LunarLander-v3", 2, backend="tensor")


def test_a_setting_that_no_table_shows_steps_aside() -> None:
    choice = envs.choose_backend("Taxi-v4", 2, backend="tensor", settings={"fickle_passenger": True})
    assert choice.backend == "bare"
    assert "fickle_passenger" in choice.reason


def test_a_snapshot_of_another_backend_is_refused() -> None:
    bare = envs.make_vec("CartPole-v1", 2, backend="bare")
    bare.reset(seed=1)
    with pytest.raises(CheckpointError, match="of the bare backend"):
        tensors("CartPole-v1", 2).restore(bare.snapshot())
