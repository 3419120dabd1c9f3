"""The environment of a session: made, reset by seed, stepped and drawn; what it raises is said in one sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any, Literal

import gymnasium
import numpy as np
from numpy.typing import NDArray

from mosaic import __version__, envs
from mosaic.envs.action_names import action_names
from mosaic.envs.observations import action_masks
from mosaic.errors import EnvironmentFailed
from mosaic.spec.episode_file import Order, Shown
from mosaic.spec.seat_names import SEAT

DEFAULT_FPS = 30.0

Picture = NDArray[np.uint8]
Result = tuple[Any, float, bool, bool]
"""Of a step: the observation that followed, the reward of the one who acted, terminated, truncated."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of the last action of a seat, once that is known."""

    seat: str
    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])


class Arena:
    """One Gymnasium environment, and what is to be known of it; those for several are made from this."""

    order: Order = "one"
    """Who acts when."""
    observations: Shown = "raw"
    """What the environment gives, or the stacks of pictures that algorithms with convolutions see."""

    def __init__(
        self,
        env_id: str,
        *,
        pictures: bool = True,
        observations: Shown = "raw",
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.env_id = env_id
        self.settings: Mapping[str, Any] = settings or {}
        """Of the environment, as the run config has them."""
        self.observations = observations
        self.family = envs.family_of(env_id)
        self.pictures_problem = ""
        """Why there is no picture; empty if there is one."""
        self._pictures = pictures
        self._env = self._make()
        self._fresh = True
        self.info: Mapping[str, Any] = {}
        self.rewards: Mapping[str, float] = {}
        """Of each seat, for the last step."""
        self.news: Sequence[Outcome] = ()
        """What came of earlier actions, and became known by the last step."""
        self.over: Literal["terminated", "truncated", ""] = ""
        """How the episode ended."""
        self._observation: Any = None
        self._know()

    def _know(self) -> None:
        spec = self._env.spec
        self.observation_space: gymnasium.Space[Any] = self._env.observation_space
        self.action_space: gymnasium.Space[Any] = self._env.action_space
        self.max_episode_steps: int | None = spec.max_episode_steps if spec else None
        self.seats: tuple[str, ...] = (SEAT,)
        self.action_names: tuple[str, ...] = action_names(self._env)

    @property
    def unwrapped(self) -> Any:
        """The simulator itself, for views of its state."""
        return self._env.unwrapped

    @property
    def kinds(self) -> dict[str, str]:
        """What actors are chosen by."""
        return {
            "action": envs.action_kind(self.action_space),
            "observation": envs.observation_kind(self.observation_space),
            "family": self.family.name,
        }

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
                continue  # A user's own family need not be a distribution.
        return found

    @property
    def turn(self) -> str:
        """Whose turn it is."""
        return self.seats[0]

    @property
    def to_act(self) -> "Sequence[str]":
        """Who acts in what is left of this round, in order; what they see does not depend on those before them."""
        return (self.turn,)

    @property
    def shown(self) -> "Sequence[Arena]":
        """Those with a picture of their own."""
        return (self,)

    def at(self, seat: str) -> "Arena":  # noqa: ARG002 - all the same for one
        """The environment as this seat knows it: its spaces, the names of its actions."""
        return self

    def seen(self, seat: str) -> Any:  # noqa: ARG002 - as above
        """What this seat observes now."""
        return self._observation

    def info_at(self, seat: str) -> Mapping[str, Any]:  # noqa: ARG002 - as above
        """What the environment says to this seat beside that."""
        return self.info

    def acted(self, seat: str, t: int) -> int:  # noqa: ARG002 - as above
        """Actions that this seat counts, of the t of the episode so far."""
        return t

    def legal(self, seat: str) -> Any:  # noqa: ARG002 - as above
        """One truth value an action where only some are allowed; None where all are."""
        return action_masks.allowed_now(self._env, self._observation, self.info)

    def refusal(self, seat: str, action: Any) -> str:  # noqa: ARG002 - whatever the space holds may be done
        """Why the rules do not allow this action now; empty if they do."""
        return ""

    def round_ends(self, acted: str) -> bool:
        """Whether all that are to act have acted, after this one did; alone and in turns each action is a round."""
        if self.over or self.order in ("one", "turns"):
            return True
        return self.seats.index(self.turn) <= self.seats.index(acted)

    def reset(self, seed: int) -> Any:
        """The first observation of the episode of this seed."""
        # A simulator that carries something over a reset would not begin alike twice: it is made anew.
        if not self._fresh and not self.family.replays_exactly(self.env_id):
            self.remake()
        self._fresh = False
        try:
            observation, self.info = self._env.reset(seed=seed)
        except Exception as error:  # A border: a user's environment may raise anything.
            raise EnvironmentFailed(f"{self.env_id} raised in reset(): {error!r}") from error
        observation = self._kept(observation)
        self.over, self._observation = "", observation
        return observation

    def step(self, action: Any) -> Result:
        """The action of the one whose turn it is."""
        try:
            observation, reward, terminated, truncated, self.info = self._env.step(action)
            observation = self._kept(observation)
            result = observation, float(reward), bool(terminated), bool(truncated)
        except Exception as error:  # A border: as above.
            raise EnvironmentFailed(f"{self.env_id} raised in step(): {error!r}") from error
        self._observation = observation
        self.over = outcome_of(*result[2:])
        self.rewards = {SEAT: result[1]}
        self.news = (
            Outcome(
                seat=SEAT,
                action=action,
                observation=observation,
                reward=result[1],
                terminated=result[2],
                truncated=result[3],
                info=self.info,
            ),
        )
        return result

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
            self.pictures_problem = f"render() returned {type(picture).__name__}, which is not a picture"
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

    def _kept(self, observation: Any) -> Any:
        """A stack of pictures is changed by the next step, and actors in other threads look at it."""
        return observation.copy() if self.observations == "pixels" else observation

    def _make(self) -> Any:
        how: dict[str, Any] = {
            "pixels": self.observations == "pixels",
            "whole_games": True,
            "settings": self.settings,
        }
        if not self._pictures:
            self.pictures_problem = "the session was started without pictures"
            return envs.make(self.env_id, render_mode=None, **how)
        env = envs.make(self.env_id, render_mode="rgb_array", **how)
        if env.render_mode != "rgb_array":
            self.pictures_problem = f"{self.env_id} cannot be drawn: it has no render mode rgb_array"
        return env


def outcome_of(terminated: bool, truncated: bool) -> Literal["terminated", "truncated", ""]:
    return "terminated" if terminated else "truncated" if truncated else ""
