"""An environment and a wrapper in files of a user's: trained in, watched, evaluated, played, resumed; by the gate."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.rpc.client import Client, Refused
from mosaic.spec.run_dir import Home, RunDir

ENV = '''
"""A walk on a line."""

from typing import Literal

import gymnasium as gym
import numpy as np
from steps import COST


class Walk(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}

    def __init__(self, length: int = 4, side: Literal["left", "right"] = "left", render_mode=None):
        self.length, self.side, self.render_mode = length, side, render_mode
        self.observation_space = gym.spaces.Box(0.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)

    def seen(self):
        return np.array([self.place / self.length, self.count / 20], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place, self.count = int(self.np_random.integers(2)), 0
        return self.seen(), {}

    def step(self, action):
        self.count += 1
        self.place = min(max(self.place + (1 if action == 1 else -1), 0), self.length)
        over = self.place == self.length
        return self.seen(), 1.0 if over else COST, over, self.count >= 20, {}

    def render(self):
        return np.full((32, 64, 3), 9 * self.place, np.uint8)
'''
WRAPPER = """
import gymnasium as gym


class Bonus(gym.RewardWrapper):
    def __init__(self, env, scale: float = 0.5):
        super().__init__(env)
        if scale < 0:
            raise ValueError(f"scale is {scale}")
        self.scale = scale

    def reward(self, reward):
        return reward + self.scale
"""
SMALL = ("--total-timesteps", "1024", "--num-envs", "2", "--num-steps", "64", "--no-tensorboard")


@pytest.fixture(scope="module")
def folder(mosaic: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    made = tmp_path_factory.mktemp("envs")
    (made / "walk_env.py").write_text(ENV)
    (made / "steps.py").write_text("COST = -0.1\n")
    (made / "shaping.py").write_text(WRAPPER)
    said = mosaic("train", "ppo", "--env-id", f"{made / 'walk_env.py'}:Walk")
    assert said.code == 2
    assert f"lies in no folder whose environments may run; to allow it: mosaic envs add {made}" in said.err
    said = mosaic("envs", "add", str(made))
    assert said.out == (
        f"{made}: its environments and scripts may run; environments: walk_env.py:Walk; wrappers: shaping.py:Bonus\n"
    )
    yield made
    assert mosaic("envs", "remove", str(made)).code == 0


@pytest.fixture(scope="module")
def trained(mosaic: Any, folder: Path) -> RunDir:
    words = ("--env-id", f"{folder / 'walk_env.py'}:Walk", "--env.length", "3")
    wraps = ("--wrap", "shaping.py:Bonus:0.25", "--wrap", "FrameStackObservation:2")
    # The first one, of step 256, is always there: others are left out while one is being written.
    keep = ("--checkpoint-interval-steps", "256", "--checkpoint-interval-s", "0", "--checkpoints-kept", "9")
    said = mosaic("train", "ppo", *words, *wraps, *SMALL, *keep, "--follow", "--json")
    assert said.code == 0, said.err
    return Home.resolve().run(said.objects[-1]["run_id"])


@pytest.fixture
def changed(folder: Path) -> Iterator[None]:
    """A module beside the environment, changed for one test."""
    path = folder / "steps.py"
    text = path.read_text()
    path.write_text("COST = -0.2\n")
    yield
    path.write_text(text)


SETTINGS = {
    "length": 3,
    "wrappers": [
        {"name": "shaping.py:Bonus", "arguments": {"scale": 0.25}},
        {"name": "FrameStackObservation", "arguments": {"stack_size": 2}},
    ],
}


def test_it_is_listed_described_and_its_parameters_are_settings(mosaic: Any, folder: Path) -> None:
    assert "walk_env.py:Walk\n" in mosaic("envs", "own").out
    page = mosaic("envs", str(folder / "walk_env.py:Walk")).out
    assert "Discrete(2)" in page
    assert "--env.side = left" in page
    assert "one of left, right" in page
    with Client() as client:
        [own] = [one for one in client.environments() if one.name == "own"]
        assert [one.place for one in own.environments] == [f"{folder / 'walk_env.py'}:Walk"]


def test_a_run_keeps_what_it_was_trained_in(trained: RunDir, folder: Path) -> None:
    environment = json.loads(trained.config.read_text())["environment"]
    assert environment == {"env_id": "walk_env.py:Walk", "settings": SETTINGS}
    kept = {path.name: path.read_text() for path in trained.source.rglob("*.py")}
    assert kept == {name: (folder / name).read_text() for name in ("walk_env.py", "steps.py", "shaping.py")}
    events = [json.loads(line) for line in trained.events.read_text().splitlines()]
    raw = [float(one["episodic_return"]) for one in events if one["kind"] == "episode"]
    shaped = [
        one["values"]["charts/shaped_return"]
        for one in events
        if one["kind"] == "scalars" and "charts/shaped_return" in one["values"]
    ]
    lengths = [one["episodic_length"] for one in events if one["kind"] == "episode"]
    assert raw
    expected = [value + 0.25 * length for value, length in zip(raw, lengths, strict=True)]
    assert shaped == pytest.approx(expected)


def test_an_evaluation_repeats_it_all_and_says_so(mosaic: Any, trained: RunDir) -> None:
    said = mosaic("evaluate", trained.run_id, "--episodes", "2", "--json")
    assert said.code == 0, said.err
    assert (
        "walk_env.py:Walk with length=3, --wrap shaping.py:Bonus:scale=0.25 --wrap FrameStackObservation:stack_size=2,"
        " as in its training"
    ) in said.err
    # The return is that of the environment itself.
    assert said.objects[-1]["max"] <= 1.0
    refused = mosaic("evaluate", trained.run_id, "--no-wrap", "--episodes", "2", "--json")
    assert refused.code != 0
    assert "the policy has observation space Box(0.0, 1.0, (2, 2), float32)" in refused.err
    assert "FrameStackObservation:stack_size=2, as it was trained" in refused.err


def test_a_policy_plays_and_its_episode_is_replayed(mosaic: Any, trained: RunDir) -> None:
    said = mosaic("play", "walk_env.py:Walk", "--actor", f"policy:{trained.run_id}", "--episodes", "1", "--json")
    assert said.code == 0, said.err
    [played] = mosaic("episodes", said.objects[-1]["run_id"], "--json").objects
    replay = mosaic("replay", said.objects[-1]["run_id"], "--json")
    assert replay.code == 0, replay.err
    assert played["env_id"] == "walk_env.py:Walk"


def test_changed_code_is_warned_of_and_used_without_a_restart(mosaic: Any, trained: RunDir, changed: None) -> None:
    del changed
    said = mosaic("evaluate", trained.run_id, "--episodes", "2", "--json")
    assert said.code == 0, said.err
    run_id = said.objects[-1]["run_id"]
    assert (
        "walk_env.py is not what it was when the policy was saved (steps.py changed)"
        in said.err + mosaic("logs", run_id).out
    )
    said = mosaic("resume", trained.run_id, "--from-step", "256", "--follow")
    assert "walk_env.py is not what it was at step 256 (steps.py changed)" in said.out + said.err


def test_a_run_whose_environment_is_gone_does_not_go_on(mosaic: Any, trained: RunDir, folder: Path) -> None:
    (folder / "walk_env.py").rename(folder / "elsewhere.txt")
    try:
        for words in (("resume", trained.run_id, "--from-step", "256"), ("evaluate", trained.run_id)):
            said = mosaic(*words)
            assert said.code != 0
            assert "no file walk_env.py lies in an allowed folder" in said.err
            assert "mosaic envs copy RUN DIR" in said.err
    finally:
        (folder / "elsewhere.txt").rename(folder / "walk_env.py")


def test_the_code_can_be_had_from_run_and_policy(mosaic: Any, trained: RunDir, folder: Path, tmp_path: Path) -> None:
    assert mosaic("envs", "copy", trained.run_id, str(tmp_path / "of_run")).code == 0
    assert (tmp_path / "of_run" / "steps.py").read_text() == (folder / "steps.py").read_text()
    [policy] = trained.root.glob("runs/*/ppo.cleanrl_model")
    said = mosaic("envs", "copy", str(policy), str(tmp_path / "of_policy"))
    assert f"mosaic envs add {tmp_path / 'of_policy'}" in said.err
    assert mosaic("envs", "copy", str(policy), str(folder)).code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--env-id", "walk_env.py:Wlk"), "walk_env.py defines no Wlk; did you mean Walk?"),
        (("--env-id", "nowhere.py:Walk"), "no file nowhere.py lies in an allowed folder"),
        (("--env-id", "./nowhere.py:Walk"), "./nowhere.py is not a file"),
        (("--env-id", "walk_env.py:Walk", "--env.lenth", "3"), "did you mean length?"),
        (("--env-id", "walk_env.py:Walk", "--env.side", "up"), "must be one of left, right (got up)"),
        (("--env-id", "CartPole-v1", "--wrap", "TimLimit:3"), "did you mean TimeLimit?"),
        (("--env-id", "CartPole-v1", "--wrap", "shaping.py:Bonus:scal=3"), "has no argument scal; did you mean scale?"),
        (("--env-id", "CartPole-v1", "--wrap", "shaping.py:Bonus:scale=x"), "scale must be a number (got x)"),
        (("--env-id", "CartPole-v1", "--wrap", "shaping.py:Bnus"), "defines no Bnus; did you mean Bonus?"),
        (("--env-id", "CartPole-v1", "--wrap", "GrayscaleObservation"), "--wrap: GrayscaleObservation"),
    ],
)
def test_what_is_wrong_is_refused_and_no_run_is_made(mosaic: Any, folder: Path, words: Any, said: str) -> None:
    del folder
    before = mosaic("runs").out
    answer = mosaic("train", "ppo", *words, "--detach")
    assert answer.code == 2, answer.out
    assert said in answer.err
    assert mosaic("runs").out == before


def test_a_module_of_this_folder_is_told_how_to_be_named(mosaic: Any, folder: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(folder)
    said = mosaic("train", "ppo", "--env-id", "walk_env:Walk-v0")
    assert said.code == 2
    assert "name its file: ./walk_env.py:Walk ('mosaic envs add .' allows this folder once)" in said.err


def test_python_gives_wrappers_by_words(folder: Path) -> None:
    del folder
    with Client() as client:
        with pytest.raises(Refused, match=r"no file elsewhere\.py lies in an allowed folder"):
            client.train("ppo", env_id="CartPole-v1", total_timesteps=64, wrappers=["elsewhere.py:Bonus"])
        # What the constructor of a user's wrapper refuses only a worker can tell, and no run is made for it.
        with pytest.raises(Refused, match=r"^--wrap shaping\.py:Bonus:scale=-1.* cannot be put around .*: scale is -1"):
            client.train("ppo", env_id="CartPole-v1", total_timesteps=1024, wrappers=["shaping.py:Bonus:-1"])
        document = client._wrapped("CartPole-v1", {"max_episode_steps": 9}, ["shaping.py:Bonus:0.1", "TimeLimit:5"])
    assert document["wrappers"][0] == {"name": "shaping.py:Bonus", "arguments": {"scale": 0.1}}
    assert document["max_episode_steps"] == 9


def test_gymnasiums_wrappers_are_listed_with_their_arguments(mosaic: Any) -> None:
    [one] = mosaic("envs", "wrappers", "stack", "--json").objects
    assert one["name"] == "FrameStackObservation"
    assert one["required"] == ["stack_size"]
    assert "stack_size (a whole number, at least 1 and at most 1000)" in mosaic("envs", "wrappers").out


def test_a_check_says_what_holds_and_what_to_change(folder: Path, tmp_path: Path, capfd: Any, mosaic: Any) -> None:
    assert mosaic("envs", "check", f"{folder / 'walk_env.py'}:Walk", "--steps", "40", "--json").code == 0
    checks = {one["check"]: one for one in map(json.loads, capfd.readouterr().out.splitlines())}
    assert all(one["ok"] for one in checks.values())
    assert checks["snapshot and resume"]["said"][0]["text"].startswith("exact")
    bad = ENV.replace("super().reset(seed=seed)", "pass").replace("self.np_random.integers(2)", "np.random.randint(2)")
    (tmp_path / "bad_env.py").write_text(bad.replace("from steps import COST", "COST = 0.0"))
    assert mosaic("envs", "check", f"{tmp_path / 'bad_env.py'}:Walk", "--steps", "40").code == 1
    said = capfd.readouterr().out
    assert "change  seeding: reset() seeds nothing; begin it with super().reset(seed=seed)" in said
    assert "change  snapshot and resume" in said or "change  determinism" in said
