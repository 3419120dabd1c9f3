"""An Atari game as CleanRL's algorithms play it, in one wrapper that works on the emulator itself.

In this order, with upstream's settings:
    1. a new game begins with 1 to 30 no-ops (frames, not steps)
    2. a step repeats its action for 4 frames, sums their rewards and shows the brighter of the last two, pixel by pixel
    3. a lost life ends the episode, but only the end of the game resets the emulator: the next begins with a no-op
    4. where the game has FIRE, each episode begins with the actions 1 and 2
    5. the reward is its sign
    6. grey, 84×84, the last four

The setting `frameskip` of a run replaces the 4 of the second.

Grey comes from the emulator's palette before two frames are merged, as in envpool and Gymnasium; upstream merges and
shrinks in colour. The emulator is called directly: `AtariEnv.step` would copy out every frame, most of them unused.

For those who play, `whole_games` does without 3 and 5: after a lost life the game goes on, and the stack with it, as
the next episode would have begun, so that a policy sees what it saw in training.

`info` of an episode's end says whether the game ended (`game_over`), and then its true score (`game_return`, unclipped,
over all lives) and length in steps (`game_length`).
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from mosaic.envs.observations.pixels import SHAPE, SKIP
from mosaic.envs.observations.stacked_pictures import Stack

NOOP_MAX = 30


class AtariFrames(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The array returned is changed by the next step."""

    def __init__(self, env: gymnasium.Env[Any, Any], *, whole_games: bool = False, skip: int = SKIP) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(0, 255, SHAPE, np.uint8)
        atari: Any = env.unwrapped
        self._ale = atari.ale
        self._actions: list[Any] = list(atari._action_set)  # The emulator's codes; nothing public lists them.
        self._noop = self._actions[0]
        self._starts = self._actions[1:3] if "FIRE" in atari.get_action_meanings() else []
        height, width = self._ale.getScreenDims()
        self._last: NDArray[np.uint8] = np.zeros((2, height, width), np.uint8)
        self._brighter = np.zeros((height, width), np.uint8)
        self._stack = Stack()
        self._whole_games = whole_games
        self._skip = skip
        self._lives = 0
        self._game_over = True
        self._game_return = 0.0
        self._game_length = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        if self._game_over or seed is not None:
            self._begin_game(seed, options)
        else:
            self._game_return += self._advance(self._noop)
        for action in self._starts:
            self._game_return += self._advance(action)
            if self._ended():
                self._begin_game(None, None)
        self._lives = self._ale.lives()
        return self._stack.fill(self._brighter), {"lives": self._lives}

    def _next_life(self) -> float:
        """The game goes on as the next episode begins; what that brought in. The game may end in it."""
        reward = self._advance(self._noop)
        for action in self._starts:
            if not self._ale.game_over():
                reward += self._advance(action)
        return reward

    def _begin_game(self, seed: int | None, options: dict[str, Any] | None) -> None:
        self.env.reset(seed=seed, options=options)
        self._game_over = False
        self._game_return, self._game_length = 0.0, 0
        for _ in range(int(self.unwrapped.np_random.integers(1, NOOP_MAX + 1))):
            self._game_return += self._ale.act(self._noop)
            if self._ale.game_over():
                self.env.reset()
                self._game_return = 0.0
        self._ale.getScreenGrayscale(self._brighter)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        reward = self._advance(self._actions[action])
        self._game_return += reward
        self._game_length += 1
        if self._whole_games:
            return self._whole_step(reward)
        clipped = float(np.sign(reward))
        obs = self._stack.push(self._brighter)
        lives, before = self._ale.lives(), self._lives
        self._lives = lives
        terminated, truncated = self._ended(), self._ale.game_truncated()
        self._game_over = terminated or truncated
        # Some games stay at no lives for a few frames before they end (Qbert): that is not a further life.
        lost = 0 < lives < before
        if not (lost or self._game_over):
            return obs, clipped, False, False, {}
        return obs, clipped, terminated or lost, truncated, self._final_info()

    def _whole_step(self, reward: float) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        lives, before = self._ale.lives(), self._lives
        lost = 0 < lives < before and not self._ale.game_over()
        if lost:
            following = self._next_life()
            self._game_return += following
            reward += following
        obs = self._stack.fill(self._brighter) if lost else self._stack.push(self._brighter)
        self._lives = self._ale.lives()
        terminated, truncated = self._ended(), self._ale.game_truncated()
        self._game_over = terminated or truncated
        return obs, reward, terminated, truncated, self._final_info() if self._game_over else {"lives": self._lives}

    def _final_info(self) -> dict[str, Any]:
        game = {"game_over": self._game_over, "lives": self._lives}
        return game | {"game_return": self._game_return, "game_length": self._game_length}

    def _ended(self) -> bool:
        return self._ale.game_over(with_truncation=False)

    def _advance(self, action: Any) -> float:
        """All frames of an action, fewer at the game's end; `_brighter` is what they show."""
        ale, skip = self._ale, self._skip
        reward = 0.0
        for frame in range(skip):
            reward += ale.act(action)
            if ale.game_over():
                # A frame more would do nothing but draw a random number for a sticky action.
                ale.getScreenGrayscale(self._brighter)
                return reward
            if frame >= skip - 2:
                ale.getScreenGrayscale(self._last[frame - skip])
        if skip == 1:
            self._brighter[:] = self._last[-1]
            return reward
        np.maximum(self._last[0], self._last[1], out=self._brighter)
        return reward
