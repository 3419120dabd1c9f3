"""Wrappers by name: made with their arguments, exact after a resume with all that they keep, raw and shaped apart."""

import json
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers as theirs

from mosaic.envs import choose_backend, make, make_vec
from mosaic.envs.own import loaded_code
from mosaic.envs.wrapping import chosen_wrappers, wrapper_schema
from mosaic.envs.wrapping.raw_return import KEY
from mosaic.errors import ConfigError, EnvironmentFailed, MosaicError
from mosaic.spec import wrappers

SHAPING = '''
import gymnasium as gym

class Bonus(gym.RewardWrapper):
    """More for each further step of all episodes."""

    def __init__(self, env, scale: float = 0.5):
        super().__init__(env)
        self.scale = scale
        self.counts = {"steps": 0}

    def reward(self, reward):
        self.counts["steps"] += 1
        return reward + self.scale * (self.counts["steps"] % 7)
'''


def settings(*words: str) -> dict[str, Any]:
    known = {one["name"]: one for one in wrapper_schema.gymnasiums()}
    return {wrappers.SETTING: [wrappers.read_words(text, known).as_json() for text in words]}


@pytest.fixture
def bonus(tmp_path: Path) -> str:
    (tmp_path / "shaping.py").write_text(SHAPING)
    return loaded_code.of_typed(f"{tmp_path / 'shaping.py'}:Bonus")


CASES = [
    ("CartPole-v1", ["TimeLimit:9", "FrameStackObservation:4"], "bare"),
    ("CartPole-v1", ["NormalizeObservation", "NormalizeReward:gamma=0.9", "TimeLimit:9"], "bare"),
    ("CartPole-v1", ["NormalizeObservation", "NormalizeReward", "TimeAwareObservation"], "sync"),
    ("CartPole-v1", ["StickyAction:0.3,repeat_action_duration=[1,3]", "DelayObservation:2"], "bare"),
    ("CartPole-v1", ["RepeatAction:2", "ClipReward:max_reward=0.5", "MaxAndSkipObservation:2"], "bare"),
    ("Pendulum-v1", ["RescaleAction:-1,1", "RescaleObservation:-1,1", "TimeLimit:30"], "bare"),
    ("Pendulum-v1", ["DiscretizeAction:5", "FlattenObservation"], "bare"),
]


@pytest.mark.parametrize(("env_id", "words", "backend"), CASES)
def test_a_resume_with_wrappers_is_exact(env_id: str, words: list[str], backend: Any) -> None:
    assert_exact(env_id, settings(*words), backend)


@pytest.mark.parametrize("backend", ["bare", "sync"])
def test_a_resume_with_a_wrapper_of_a_user_is_exact(bonus: str, backend: Any) -> None:
    assert_exact("CartPole-v1", {"wrappers": [{"name": bonus, "arguments": {"scale": 0.25}}]}, backend)


def assert_exact(env_id: str, chosen: dict[str, Any], backend: Any) -> None:
    """Observations, rewards and ends alike, over episodes that end behind the snapshot."""
    one = make_vec(env_id, 2, backend=backend, settings=chosen)
    one.reset(seed=3)
    one.single_action_space.seed(3)
    actions = [np.stack([one.single_action_space.sample() for _ in range(2)]) for _ in range(200)]
    for action in actions[:77]:
        one.step(action)
    saved = one.snapshot()
    kept = [slot.pop("wrappers") for slot in saved["slots"]]
    # Without pickle: what is not an array is JSON.
    for slot, states in zip(saved["slots"], kept, strict=True):
        json.dumps(states, default=lambda array: array.tolist() if array.dtype != object else 1 / 0)
        slot["wrappers"] = states
    other = make_vec(env_id, 2, backend=backend, settings=chosen)
    other.reset(seed=99)
    for action in actions[:5]:
        other.step(action)
    assert other.restore(saved)
    for action in actions[77:]:
        *expected, infos = one.step(action)
        *got, other_infos = other.step(action)
        assert all(map(np.array_equal, expected, got))
        for key in ("final_obs", "episode_return", "episode_length") if infos else ():
            assert np.array_equal(infos[key], other_infos[key])
    one.close()
    other.close()


def test_what_a_wrapper_keeps_and_cannot_be_told_makes_a_resume_inexact(bonus: str) -> None:
    vector = make_vec("CartPole-v1", 1, backend="bare", settings={"wrappers": [{"name": bonus, "arguments": {}}]})
    vector.reset(seed=1)
    assert vector.restore(vector.snapshot())
    layer: Any = vector.envs[0]  # type: ignore[attr-defined]
    layer.source = iter(range(9))
    vector.reset(seed=1)
    assert not vector.restore(vector.snapshot())


def test_the_raw_return_stands_beside_the_shaped_one(bonus: str) -> None:
    for backend in ("bare", "sync"):
        vector = make_vec("CartPole-v1", 1, backend=backend, settings={"wrappers": [{"name": bonus, "arguments": {}}]})
        vector.reset(seed=1)
        infos: dict[str, Any] = {}
        while not infos:
            infos = vector.step(np.array([0]))[4]
        assert infos["final_info"][0][KEY] == infos["episode_length"][0]
        assert infos["episode_return"][0] > infos["final_info"][0][KEY]
        vector.close()


def test_wrappers_that_leave_rewards_alone_count_none() -> None:
    assert [type(one).__name__ for one in chosen_wrappers.chosen(settings("TimeLimit:9"))] == ["ChosenWrapper"]


def test_wrappers_are_put_around_in_order() -> None:
    env = make("CartPole-v1", render_mode=None, settings=settings("TimeLimit:9", "FrameStackObservation:4"))
    assert isinstance(env, theirs.FrameStackObservation)
    assert isinstance(env.env, theirs.TimeLimit)
    assert env.observation_space.shape == (4, 4)


def test_backends_with_physics_of_their_own_step_aside() -> None:
    choice = choose_backend("CartPole-v1", 2, backend="native", settings=settings("TimeLimit:9"))
    assert choice.backend == "bare"
    assert "does not know the setting --wrap" in choice.reason


def test_every_wrapper_of_gymnasium_is_known_and_described() -> None:
    ours = wrapper_schema.USABLE.keys() | wrapper_schema.REFUSED.keys()
    assert ours == set(theirs.__all__) - {"vector"}
    for one in wrapper_schema.gymnasiums():
        assert one.get("refused") or one["summary"], one["name"]
        assert "env" not in one.get("properties", {})


def test_a_wrapper_that_does_not_fit_says_so() -> None:
    with pytest.raises(EnvironmentFailed, match="--wrap GrayscaleObservation cannot be put around"):
        make("CartPole-v1", render_mode=None, settings=settings("GrayscaleObservation"))
    with pytest.raises(ConfigError, match=r"cannot be imported .* or name its file, as in \./not_there\.py:Bonus"):
        make("CartPole-v1", render_mode=None, settings={"wrappers": [{"name": "not_there:Bonus", "arguments": {}}]})


def test_a_normaliser_goes_on_by_the_moments_of_its_training() -> None:
    chosen = settings("NormalizeObservation")
    trained = make_vec("CartPole-v1", 1, settings=chosen)
    trained.reset(seed=1)
    for _ in range(50):
        trained.step(np.array([0]))
    played = chosen_wrappers.with_normalisers(chosen, trained.normalisers())
    assert json.loads(json.dumps(played)) == played
    vectors = [make_vec("CartPole-v1", 1, settings=played) for _ in range(2)]
    first = [vector.reset(seed=5)[0] for vector in vectors]
    assert np.array_equal(*first)
    vectors[0].step(np.array([0]))
    # It learns no others.
    assert vectors[0].normalisers() == vectors[1].normalisers() == trained.normalisers()
    fresh = make_vec("CartPole-v1", 1, settings=chosen)
    assert not np.array_equal(fresh.reset(seed=5)[0], first[0])


def test_a_file_that_cannot_be_executed_says_where(tmp_path: Path) -> None:
    (tmp_path / "broken_env.py").write_text("import gymnasium\n\nraise ValueError('no')\n")
    word = loaded_code.of_typed(f"{tmp_path / 'broken_env.py'}:Any")
    with pytest.raises(ConfigError, match="line 3: raises ValueError when it is imported: no"):
        make(word, render_mode=None)


def test_two_folders_may_have_modules_of_one_name(tmp_path: Path) -> None:
    found = []
    for size in (2, 3):
        folder = tmp_path / str(size)
        folder.mkdir()
        (folder / "sizes.py").write_text(f"SIZE = {size}\n")
        (folder / f"env_{size}.py").write_text(
            "import gymnasium as gym\nfrom sizes import SIZE\n\n"
            "class Env(gym.Env):\n    observation_space = gym.spaces.Discrete(SIZE)\n"
            "    action_space = gym.spaces.Discrete(2)\n"
            "    def reset(self, *, seed=None, options=None):\n        super().reset(seed=seed)\n        return 0, {}\n"
        )
        word = loaded_code.of_typed(f"{folder / f'env_{size}.py'}:Env")
        found.append(make(word, render_mode=None).observation_space)
        assert set(loaded_code.source_of(word, "environment").texts) == {f"env_{size}.py", "sizes.py"}
    assert found == [gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(3)]


def test_the_code_of_a_wrapper_has_nothing_of_an_environment_that_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "an_env.py").write_text("import gymnasium\nclass Env(gymnasium.Env): ...\n")
    (tmp_path / "a_wrapper.py").write_text("import gymnasium\nclass Wrap(gymnasium.Wrapper): ...\n")
    env, wrapper = (loaded_code.of_typed(f"{tmp_path / name}") for name in ("an_env.py:Env", "a_wrapper.py:Wrap"))
    assert set(loaded_code.source_of(env, "environment").texts) == {"an_env.py"}
    assert set(loaded_code.source_of(wrapper, "wrapper").texts) == {"a_wrapper.py"}


def test_an_id_that_a_file_registers_keeps_what_it_is_registered_with(tmp_path: Path) -> None:
    (tmp_path / "registering.py").write_text(
        "import gymnasium as gym\nfrom gymnasium.envs.classic_control import CartPoleEnv\n\n"
        "gym.register(id='OfAFile-v0', entry_point=CartPoleEnv, max_episode_steps=7)\n"
    )
    env = make(loaded_code.of_typed(f"{tmp_path / 'registering.py'}:OfAFile-v0"), render_mode=None)
    env.reset(seed=1)
    steps = 0
    truncated = terminated = False
    while not (truncated or terminated):
        _, _, terminated, truncated, _ = env.step(steps % 2)
        steps += 1
    assert (steps, truncated) == (7, True)
    with pytest.raises(MosaicError, match="did you mean OfAFile-v0"):
        make(loaded_code.of_typed(f"{tmp_path / 'registering.py'}:OfFile-v0"), render_mode=None)
