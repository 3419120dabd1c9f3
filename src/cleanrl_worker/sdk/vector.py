"""The environments of a run: steps counted, episodes reported, state saved and restored with the run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import numpy as np

from cleanrl_worker.sdk.live.open_live_view import LiveView
from cleanrl_worker.sdk.live.video import Videos
from mosaic.envs import VecEnv
from mosaic.envs.wrapping.raw_return import KEY as RAW_RETURN
from mosaic.errors import EnvironmentFailed
from mosaic.spec.events import Episode, number

Array = np.ndarray[Any, Any]


class Envs:
    """A vector of environments under one convention (`AutoresetMode.SAME_STEP`), whatever backend steps them.

    An observation returned by `step` is already the first one of the next episode where one ended; the true successor
    of every slot is `infos.get("final_obs", observations)`. `infos` is empty unless an episode ended.

    Where a lost life ends an episode (Atari) the algorithm sees the ends and clipped rewards of lives, but reported is
    the game: once, when it is over, with its true score. Where wrappers change rewards the episode's return is that of
    the environment itself, and what the algorithm got is told apart.
    """

    def __init__(
        self,
        backend: VecEnv,
        report: Callable[[Episode], None],
        *,
        report_shaped: Callable[[float], None] = lambda _: None,
    ) -> None:
        self.backend = backend
        self.num_envs = backend.num_envs
        self.single_observation_space = backend.single_observation_space
        self.single_action_space = backend.single_action_space
        self.global_step = 0
        self.live: LiveView | None = None
        """A viewer may be connected."""
        self.videos: Videos | None = None
        """The user asked for films."""
        self._report = report
        self._report_shaped = report_shaped
        """Told what an episode brought the algorithm, where wrappers change rewards."""

    def report_to(self, report: Callable[[Episode], None]) -> None:
        """Who is told of ended episodes from now on."""
        self._report = report

    def reset(self, seed: int | None) -> Array:
        observations, _ = self.backend.reset(seed=seed)
        if self.videos is not None:
            self.videos.begin()
        return observations

    @property
    def current_obs(self) -> Array:
        """What the next actions answer to; after a resume this is where to go on."""
        return self.backend.current_obs

    def step(self, actions: Array) -> tuple[Array, Array, Array, Array, dict[str, Any]]:
        # Not by `step_aside`: a call less in each step of the training loop.
        try:
            observations, rewards, terminations, truncations, infos = self.backend.step(actions)
        except Exception as error:  # A border: a user's environment may raise anything.
            raise self._failure(error) from error
        self.global_step += self.num_envs
        if self.live is not None and monotonic() >= self.live.due_at:
            self.live.show()
        if self.videos is not None and not (infos and infos["_final_obs"][0]):
            self.videos.step()
        if infos:
            self._report_episodes(infos)
        return observations, rewards, terminations, truncations, infos

    def advanced(self, steps: int, ended: Sequence[tuple[int, Episode]]) -> None:
        """The algorithm made so many steps in each environment itself; `ended` are episodes, by step of these."""
        first = self.global_step
        self.global_step += steps * self.num_envs
        if self.live is not None and monotonic() >= self.live.due_at:
            self.live.show()
        for step, episode in ended:
            self._report(replace(episode, global_step=first + (step + 1) * self.num_envs))

    def step_aside(self, actions: Array) -> Array:
        """A step that does not count and is not reported: what it led to."""
        try:
            return self.backend.step(actions)[0]
        except Exception as error:  # A border, as in `step`.
            raise self._failure(error) from error

    def _failure(self, error: Exception) -> EnvironmentFailed:
        return EnvironmentFailed(f"the environment raised at step {self.global_step}: {error!r}")

    def _report_episodes(self, infos: dict[str, Any]) -> None:
        for slot in infos["_final_obs"].nonzero()[0].tolist():
            total, length = infos["episode_return"][slot], infos["episode_length"][slot]
            info = infos["final_info"][slot] if "final_info" in infos else {}
            if "game_over" in info:
                if not info["game_over"]:
                    continue
                total, length = info["game_return"], info["game_length"]
            elif RAW_RETURN in info:
                self._report_shaped(float(total))
                total = info[RAW_RETURN]
            episode = Episode(
                global_step=self.global_step,
                slot=slot,
                episodic_return=number(float(total)),
                episodic_length=int(length),
            )
            self._report(episode)
            if slot == 0 and self.videos is not None:
                self.videos.end(episode)

    def state(self) -> dict[str, Any]:
        return {"global_step": self.global_step, "backend": self.backend.snapshot()}

    def restore(self, state: dict[str, Any]) -> bool:
        """Put the environments back; False if some could only begin a new episode."""
        self.global_step = int(state["global_step"])
        return self.backend.restore(state["backend"])

    def close(self) -> None:
        if self.live is not None:
            self.live.close()
        if self.videos is not None:
            self.videos.close()
        self.backend.close()
