"""Pictures for algorithms with convolutions: CleanRL's way to play Atari, on every backend, and any other picture."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import ale_py
import cv2
import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from mosaic.envs import VecEnv, make, make_vec
from mosaic.errors import ConfigError, IncompatibleSpaces

BREAKOUT, PONG, PACMAN = (f"{game}NoFrameskip-v4" for game in ("Breakout", "Pong", "MsPacman"))


def moves_for(envs: VecEnv, steps: int) -> list[np.ndarray]:
    return list(np.random.default_rng(5).integers(envs.single_action_space.n, size=(steps, envs.num_envs)))


class Upstream:
    """The same preprocessing step by step, as CleanRL stacks its wrappers, around a plain environment."""

    def __init__(self, env_id: str, seed: int) -> None:
        self.env = make(env_id, render_mode=None, frameskip=1, obs_type="grayscale")
        self.fires = "FIRE" in self.env.unwrapped.get_action_meanings()
        self.seed: int | None = seed
        self.game_over, self.lives, self.score = True, 0, 0.0
        self.frames: list[np.ndarray] = []

    def reset(self) -> np.ndarray:
        if self.game_over:
            obs, _ = self.env.reset(seed=self.seed)
            self.seed, self.score = None, 0.0
            for _ in range(self.env.unwrapped.np_random.integers(1, 31)):
                obs, reward, *_ = self.env.step(0)
                self.score += reward
        else:
            obs = self.skip(0)[0]
        for action in (1, 2) if self.fires else ():
            obs = self.skip(action)[0]
        self.game_over, self.lives = False, self.env.unwrapped.ale.lives()
        self.frames = [self.small(obs)] * 4
        return np.stack(self.frames)

    def skip(self, action: int) -> tuple[np.ndarray, float, bool]:
        shown, total, over = [], 0.0, False
        for _ in range(4):
            obs, reward, terminated, truncated, _ = self.env.step(action)
            shown.append(obs)
            total += reward
            if over := terminated or truncated:
                break
        self.score += total
        return shown[-1] if over else np.maximum(shown[-1], shown[-2]), total, over

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        obs, reward, self.game_over = self.skip(action)
        lives = self.env.unwrapped.ale.lives()
        lost, self.lives = 0 < lives < self.lives, lives
        self.frames = [*self.frames[1:], self.small(obs)]
        return np.stack(self.frames), float(np.sign(reward)), self.game_over or lost

    @staticmethod
    def small(picture: np.ndarray) -> np.ndarray:
        return cv2.resize(picture, (84, 84), interpolation=cv2.INTER_AREA)


@pytest.mark.parametrize("env_id", [BREAKOUT, "ALE/Breakout-v5", PACMAN])
def test_is_what_upstreams_wrappers_show(env_id: str) -> None:
    envs, plain = make_vec(env_id, 1, observations="pixels"), Upstream(env_id, seed=4)
    obs, _ = envs.reset(seed=4)
    assert np.array_equal(obs[0], plain.reset())
    lives = games = 0
    for actions in moves_for(envs, 350):
        obs, rewards, terminations, truncations, infos = envs.step(actions)
        wanted, reward, over = plain.step(int(actions[0]))
        assert np.array_equal(infos.get("final_obs", obs)[0], wanted)
        assert (rewards[0], bool(terminations[0] | truncations[0])) == (reward, over)
        if over:
            info = infos["final_info"][0]
            assert (info["game_over"], info["game_return"]) == (plain.game_over, plain.score)
            lives, games = lives + 1, games + plain.game_over
            assert np.array_equal(obs[0], plain.reset())
    assert lives > 1
    assert games or env_id == PACMAN
    assert obs.dtype == np.uint8


@pytest.mark.parametrize("env_id", [BREAKOUT, PONG, PACMAN])
def test_envpool_shows_the_very_same_pictures(env_id: str) -> None:
    """Both in the state that envpool begins with: a new game, no no-ops, FIRE for one frame where there is one."""
    pool = make_vec(env_id, 1, backend="envpool", observations="pixels", noop_max=1)
    pool.reset(seed=3)
    env: Any = make(env_id, render_mode=None, pixels=True)
    env.reset(seed=3)
    emulator = env.unwrapped.ale
    emulator.reset_game()
    emulator.act(ale_py.Action.FIRE if "FIRE" in env.unwrapped.get_action_meanings() else ale_py.Action.NOOP)
    compared = 0
    for step, actions in enumerate(moves_for(pool, 200)):
        theirs, their_rewards, their_ends, _, infos = pool.step(actions)
        ours, reward, ended, _, _ = env.step(actions[0])
        assert (reward, ended) == (their_rewards[0], their_ends[0])
        if step >= 4:  # Until then the stacks still hold how each of them began.
            assert np.array_equal(ours, infos.get("final_obs", theirs)[0]), f"step {step}"
            compared += 1
        if ended:
            break
    assert compared > 15
    pool.close()


def test_envpool_tells_the_score_of_the_game() -> None:
    envs = make_vec("ALE/Breakout-v5", 2, backend="envpool", observations="pixels")
    envs.reset(seed=1)
    seen = {False: 0, True: 0}
    clipped = np.zeros(2)
    for actions in moves_for(envs, 400):
        _, rewards, *_, infos = envs.step(actions)
        assert set(rewards) <= {0.0, 1.0}
        clipped += rewards
        for slot in np.flatnonzero(infos["_final_obs"]) if infos else ():
            info = infos["final_info"][slot]
            seen[bool(info["game_over"])] += 1
            assert info["game_return"] >= clipped[slot]
            if info["game_over"]:
                assert info["game_length"] > infos["episode_length"][slot]
                clipped[slot] = 0
    assert all(seen.values())
    envs.close()


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_wrapped_slots_show_what_bare_ones_show(backend: str) -> None:
    bare, other = (make_vec(BREAKOUT, 2, backend=each, observations="pixels") for each in ("bare", backend))
    assert np.array_equal(bare.reset(seed=2)[0], other.reset(seed=2)[0])
    endings = 0
    for actions in moves_for(bare, 120):
        *mine, my_infos = bare.step(actions)
        *theirs, their_infos = other.step(actions)
        assert all(map(np.array_equal, mine, theirs))
        for slot in np.flatnonzero(my_infos["_final_obs"]) if my_infos else ():
            endings += 1
            assert np.array_equal(my_infos["final_obs"], their_infos["final_obs"])
            names = ("game_over", "game_return", "game_length")
            mine_told, theirs_told = (infos["final_info"][slot] for infos in (my_infos, their_infos))
            assert [mine_told[name] for name in names] == [theirs_told[name] for name in names]
    assert endings > 2
    other.close()


@pytest.mark.parametrize("env_id", [BREAKOUT, "ALE/Breakout-v5"])
def test_goes_on_exactly_after_a_restore_in_the_middle_of_a_game(env_id: str) -> None:
    envs = make_vec(env_id, 2, observations="pixels")
    envs.reset(seed=7)
    moves = moves_for(envs, 460)
    for actions in moves[:300]:
        envs.step(actions)
    saved = envs.snapshot()
    assert any(slot["soft_resets"] for slot in saved["slots"]), "a life was lost before"
    assert all(slot["seed"] is None for slot in saved["slots"]), "and a game"
    again = make_vec(env_id, 2, observations="pixels")
    assert again.restore(saved)
    assert np.array_equal(again.current_obs, envs.current_obs)
    games = 0
    for actions in moves[300:]:
        *wanted, infos = envs.step(actions)
        *got, other_infos = again.step(actions)
        assert all(map(np.array_equal, got, wanted))
        if infos:
            told, others = ([info.get("game_return") for info in each["final_info"]] for each in (infos, other_infos))
            assert told == others
            games += sum(info.get("game_over", False) for info in infos["final_info"])
    assert games


class Chequered(gymnasium.Env[Any, Any]):
    """A coloured picture of another size, brighter with each step."""

    observation_space = spaces.Box(0, 255, (100, 60, 3), np.uint8)
    action_space = spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._picture(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._picture(), 2.5, self.steps == 6, False, {}

    def _picture(self) -> np.ndarray:
        picture = np.zeros((100, 60, 3), np.uint8)
        picture[:50, :, 0] = picture[50:, :, 2] = 20 * self.steps
        return picture


@pytest.fixture
def chequered() -> Iterator[str]:
    gymnasium.register("tests/Chequered-v0", Chequered)
    yield "tests/Chequered-v0"
    del gymnasium.registry["tests/Chequered-v0"]


def test_any_picture_becomes_a_stack_of_four_small_grey_ones(chequered: str) -> None:
    envs = make_vec(chequered, 1, observations="pixels")
    obs, _ = envs.reset(seed=0)
    assert obs.shape == (1, 4, 84, 84)
    assert not obs.any()
    for step in range(1, 7):
        obs, rewards, terminations, _, infos = envs.step(np.zeros(1, np.int64))
        assert rewards[0] == 2.5, "only Atari's rewards are clipped"
        shown = infos.get("final_obs", obs)[0]
        # Luminance of red is 0.299, of blue 0.114.
        assert shown[:, 10, 40].tolist() == [round(0.299 * 20 * max(step - age, 0)) for age in (3, 2, 1, 0)]
        assert shown[:, 80, 40].tolist() == [round(0.114 * 20 * max(step - age, 0)) for age in (3, 2, 1, 0)]
    assert terminations[0]
    assert not obs.any(), "the next episode begins with its own picture four times"


def test_what_shows_no_pictures_is_refused() -> None:
    with pytest.raises(IncompatibleSpaces, match="'CartPole-v1' shows no pictures"):
        make_vec("CartPole-v1", 1, observations="pixels")
    with pytest.raises(ConfigError, match="use bare, sync or async"):
        make_vec(BREAKOUT, 1, backend="native", observations="pixels")
    with pytest.raises(ConfigError, match="envpool gives no 84×84 pictures of 'CartPole-v1'"):
        make_vec("CartPole-v1", 1, backend="envpool", observations="pixels")


def test_without_opencv_the_error_names_the_command() -> None:
    code = (
        "import sys; sys.modules['cv2'] = None\n"
        "from mosaic.envs import make\nfrom mosaic.errors import MissingExtra\n"
        f"try: make({BREAKOUT!r}, render_mode=None, pixels=True)\n"
        "except MissingExtra as error: assert \"needs the extra 'atari'\" in str(error), error\n"
        "else: raise SystemExit('no MissingExtra')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
