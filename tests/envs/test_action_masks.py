"""Action masks: where they are read, that they belong to the state they stand beside, and what is refused."""

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from mosaic.envs import make_vec
from mosaic.envs.observations import action_masks
from mosaic.envs.observations.parted_rows import how_seen
from mosaic.envs.vector.vector_environment import _Plan
from mosaic.errors import EnvironmentFailed

CHOICES = 5


class Countdown(gym.Env[Any, Any]):
    """Allows as many choices as steps are left, in the way that `says` names; another choice raises."""

    def __init__(self, says: str = "info", fault: str = "") -> None:
        self.says, self.fault = says, fault
        self.action_space = gym.spaces.Discrete(CHOICES, start=1)
        box = gym.spaces.Box(0, CHOICES, (1,), np.float32)
        mask = gym.spaces.MultiBinary(CHOICES)
        inside = says == "observation"
        self.observation_space: Any = gym.spaces.Dict({"observation": box, "action_mask": mask}) if inside else box
        if says == "method":
            self.action_masks = self.mask
        self.left = 0

    def mask(self) -> Any:
        if self.fault == "nothing allowed" and self.left == 1:
            return np.zeros(CHOICES, np.int8)
        return (np.arange(CHOICES + (self.fault == "wrong size")) < self.left).astype(np.int8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.left = int(self.np_random.integers(2, CHOICES + 1))
        return self.seen(), self.told()

    def step(self, action: Any) -> Any:
        assert 1 <= action <= self.left, f"{action} is not allowed"
        self.left -= 1
        return self.seen(), 1.0, self.left == 0, False, self.told()

    def seen(self) -> Any:
        row = np.array([self.left], np.float32)
        return {"observation": row, "action_mask": self.mask()} if self.says == "observation" else row

    def told(self) -> dict[str, Any]:
        silent = self.fault == "silent later" and self.left == 1
        return {"action_mask": self.mask()} if self.says == "info" and not silent else {}


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gym.register("test/Countdown-v0", Countdown)
    yield
    del gym.registry["test/Countdown-v0"]


def vector(says: str = "info", **more: Any) -> Any:
    how: dict[str, Any] = {"masks": "if given", "settings": {"says": says}} | more
    return make_vec("test/Countdown-v0", 3, **how)


def played(envs: Any, steps: int, seed: int) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """Rows before each step, rows after it, and infos; the highest choice that is allowed is taken."""
    rows = envs.current_obs
    generator = np.random.default_rng(seed)
    for _ in range(steps):
        allowed = rows[:, 1:]
        actions = (allowed * generator.random(allowed.shape)).argmax(1)
        following, _, _, _, infos = envs.step(actions)
        yield rows, following, infos
        rows = following


@pytest.mark.parametrize("says", ["info", "method", "observation"])
@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_a_row_ends_with_the_mask_of_its_own_state_also_where_an_episode_begins(says: str, backend: str) -> None:
    envs = vector(says, backend=backend)
    assert how_seen(envs.single_observation_space) == ("vector", True)
    envs.reset(seed=1)
    ends = 0
    for rows, following, infos in played(envs, 40, seed=2):
        for each in (rows, following):
            np.testing.assert_array_equal(each[:, 1:], np.arange(CHOICES) < each[:, :1])
        for slot in np.flatnonzero(infos.get("_final_obs", [])):
            ends += 1
            assert infos["final_obs"][slot, 0] == 0
            assert following[slot, 0] >= 2
    assert ends > 10
    envs.close()


def test_backends_see_the_same_and_resume_to_the_same_masks() -> None:
    runs = []
    for backend in ("bare", "sync"):
        envs = vector(backend=backend)
        envs.reset(seed=4)
        list(played(envs, 7, seed=1))
        saved = pickle.loads(pickle.dumps(envs.snapshot()))
        runs.append([rows for rows, _, _ in played(envs, 20, seed=3)])
        again = vector(backend=backend)
        assert again.restore(saved)
        runs.append([rows for rows, _, _ in played(again, 20, seed=3)])
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0], other)


def test_environments_without_masks_are_neither_wrapped_nor_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    right = _Plan.env
    monkeypatch.setattr(_Plan, "env", lambda self, spec: asked.append(spec.id) or right(self, spec))
    envs = make_vec("CartPole-v1", 2, masks="if given")
    assert asked == ["CartPole-v1"] * 2
    assert not isinstance(envs.envs[0], gym.Wrapper)  # type: ignore[attr-defined]
    assert type(envs.single_observation_space) is gym.spaces.Box
    assert type(make_vec("FrozenLake-v1", 1, masks="if given").single_observation_space) is gym.spaces.Box
    assert type(vector(masks="never").single_observation_space) is gym.spaces.Box


def test_taxi_of_gymnasium_gives_its_masks() -> None:
    envs = make_vec("Taxi-v4", 1, masks="if given")
    rows, _ = envs.reset(seed=1)
    assert rows.shape == (1, 506)
    np.testing.assert_array_equal(rows[0, 500:], envs.envs[0].unwrapped.action_mask(int(rows[0, :500].argmax())))  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("wrong size", "an action mask of 6 values for Discrete(5, start=1): it must have 5"),
        ("nothing allowed", "allows no action in a state that is not the end"),
        ("silent later", "gave action masks at first, and now none"),
    ],
)
def test_a_mask_that_cannot_be_kept_to_is_refused(fault: str, complaint: str) -> None:
    envs = vector(settings={"says": "info", "fault": fault})

    def begin_and_play() -> None:
        envs.reset(seed=1)
        list(played(envs, 10, seed=1))

    with pytest.raises(EnvironmentFailed) as refused:
        begin_and_play()
    assert complaint in str(refused.value)
    assert "test/Countdown-v0" in str(refused.value)


def test_an_environment_that_must_give_masks_and_does_not_is_refused() -> None:
    envs = make_vec("CartPole-v1", 1, masks="always")
    with pytest.raises(EnvironmentFailed, match="CartPole-v1"):
        envs.reset(seed=1)


@pytest.mark.parametrize(
    "space",
    [
        gym.spaces.Discrete(6, start=3),
        gym.spaces.MultiDiscrete([2, 3], start=[5, 1]),
        gym.spaces.MultiDiscrete([[2, 3], [4, 2]]),
        gym.spaces.MultiBinary(3),
    ],
    ids=str,
)
def test_a_random_action_is_one_of_those_allowed(space: Any) -> None:
    sizes = action_masks.sizes_of(space)
    generator = np.random.default_rng(1)
    for _ in range(50):
        parts = [generator.random(size) < 0.4 for size in sizes]
        for part in parts:
            part[generator.integers(len(part))] = True
        for mask in (np.concatenate(parts), np.concatenate(parts).astype(np.int8), tuple(parts)):
            action = action_masks.any_allowed(space, mask)
            assert space.contains(action)
            chosen = np.ravel(action - getattr(space, "start", 0))
            assert all(part[at] for part, at in zip(parts, chosen, strict=True))
    assert action_masks.any_allowed(gym.spaces.Box(-1, 1, (2,)), None).shape == (2,)


def test_choices_that_begin_elsewhere_are_counted_from_zero() -> None:
    class Echo(gym.Env[Any, Any]):
        action_space = gym.spaces.MultiDiscrete([2, 3], start=[5, 1])
        observation_space = gym.spaces.Box(0, 9, (2,), np.float32)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.zeros(2, np.float32), {}

        def step(self, action: Any) -> Any:
            assert self.action_space.contains(action)
            return np.array(action, np.float32), 0.0, False, False, {}

    gym.register("test/Echo-v0", Echo)
    try:
        for backend in ("bare", "sync"):
            envs = make_vec("test/Echo-v0", 2, backend=backend)
            assert envs.single_action_space == gym.spaces.MultiDiscrete([2, 3])
            envs.reset(seed=1)
            rows = envs.step(np.array([[0, 0], [1, 2]]))[0]
            np.testing.assert_array_equal(rows, [[5, 1], [6, 3]])
            again = make_vec("test/Echo-v0", 2, backend=backend)
            assert again.restore(copy.deepcopy(envs.snapshot()))
            np.testing.assert_array_equal(again.current_obs, rows)
    finally:
        del gym.registry["test/Echo-v0"]
