"""The environment of a session: made, reset by seed, stepped and drawn; what it raises is said in one sentence."""

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mosaic import __version__, envs
from mosaic.errors import EnvironmentFailed
from mosaic.play.keys import action_names

SEAT = "agent_0"
"""The one seat of an environment for one."""
DEFAULT_FPS = 30.0

Picture = NDArray[np.uint8]


class Arena:
    """One Gymnasium environment, and what is to be known of it."""

    def __init__(self, env_id: str, *, pictures: bool = True) -> None:
        self.env_id = env_id
        self.family = envs.family_of(env_id)
        self.pictures_problem = ""
        """Why there is no picture; empty if there is one."""
        self._pictures = pictures
        self._env = self._make()
        self._fresh = True
        spec = self._env.spec
        self.observation_space: gymnasium.Space[Any] = self._env.observation_space
        self.action_space: gymnasium.Space[Any] = self._env.action_space
        self.max_episode_steps = spec.max_episode_steps if spec else None
        self.seats = (SEAT,)
        self.action_names = action_names(self._env)
        self.info: Mapping[str, Any] = {}

    @property
    def unwrapped(self) -> Any:
        """The simulator itself, for those who show its state."""
        return self._env.unwrapped

    @property
    def kinds(self) -> dict[str, str]:
        """What actors are chosen by."""
        about = envs.describe(self.env_id)
        return {"action": about.action, "observation": about.observation, "family": about.family}

    @property
    def steps_per_s(self) -> float:
        """The rate at which the environment means to be seen."""
        rate: Any = (self._env.metadata or {}).get("render_fps")
        return float(rate) if isinstance(rate, int | float) and rate > 0 else DEFAULT_FPS

    @property
    def versions(self) -> dict[str, str]:
        found = {"mosaic": __version__}
        for name in sorted({"gymnasium", "numpy", self.family.distribution}):
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # A family of somebody's own need not be a distribution.
        return found

    @property
    def turn(self) -> str:
        """Whose turn it is."""
        return self.seats[0]

    def reset(self, seed: int) -> Any:
        """The first observation of the episode of this seed."""
        # A simulator that carries something over a reset would not begin alike twice: it is made anew.
        if not self._fresh and not self.family.replays_exactly(self.env_id):
            self.remake()
        self._fresh = False
        try:
            observation, self.info = self._env.reset(seed=seed)
        except Exception as error:  # A border: whatever somebody else's environment raises.
            raise EnvironmentFailed(f"{self.env_id} raised in reset(): {error!r}") from error
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool, bool]:
        try:
            observation, reward, terminated, truncated, self.info = self._env.step(action)
            return observation, float(reward), bool(terminated), bool(truncated)
        except Exception as error:  # A border: as above.
            raise EnvironmentFailed(f"{self.env_id} raised in step(): {error!r}") from error

    def render(self) -> Picture | None:
        """The picture of now; None, with the reason in `pictures_problem`, where there is none."""
        if self.pictures_problem:
            return None
        try:
            picture: Any = self._env.render()
        except Exception as error:  # A border: as above.
            self.pictures_problem = f"render() raised {error!r}"
            return None
        if not isinstance(picture, np.ndarray) or picture.ndim not in (2, 3) or min(picture.shape[:2]) < 1:
            self.pictures_problem = f"render() returned {type(picture).__name__}, which is no picture"
            return None
        return picture.astype(np.uint8, copy=False)

    def remake(self) -> None:
        """A new simulator, for one that raised or that remembers too much."""
        self.close()
        self._env = self._make()
        self._fresh = True

    def close(self) -> None:
        try:
            self._env.close()
        except Exception as error:  # A border: as above; what is closed is done with.
            self.pictures_problem = self.pictures_problem or f"close() raised {error!r}"

    def _make(self) -> Any:
        if not self._pictures:
            self.pictures_problem = "the session was started without pictures"
            return envs.make(self.env_id, render_mode=None)
        env = envs.make(self.env_id, render_mode="rgb_array")
        if env.render_mode != "rgb_array":
            self.pictures_problem = f"{self.env_id} cannot be drawn: it has no render mode rgb_array"
        return env
