"""Writing episodes as they are played: each line is the kernel's before the next step, so a kill loses one at most."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import HomeUnusable
from mosaic.fastlane.video_file import VideoFile
from mosaic.play.arenas.arena import Arena, Result
from mosaic.play.arenas.lockstep_arena import in_colour
from mosaic.play.json_values import digest, to_json
from mosaic.spec.episode_file import EpisodeEnd, EpisodeHead, EpisodeStep, Line, Outcome, encode
from mosaic.spec.events import Number, number
from mosaic.spec.run_dir import RunDir


class EpisodeWriter:
    """The episodes of a session, one file each; `film` adds a video of each."""

    def __init__(self, run_dir: RunDir, arena: Arena, *, observations: bool, film: bool) -> None:
        self._run_dir = run_dir
        self._arena = arena
        self._observations = observations
        self._filmed = film
        self._film: VideoFile | None = None
        self._file: Any = None
        self._began = 0.0
        self.path: Path | None = None

    def begin(self, episode: int, seed: int, seats: dict[str, str], observation: Any) -> None:
        self._run_dir.episodes.mkdir(mode=0o700, exist_ok=True)
        self.path = self._run_dir.episode(episode)
        try:
            # Unbuffered: one write a line, so that this process leaves whole lines behind, however it ends.
            self._file = self.path.open("wb", buffering=0)
        except OSError as error:
            raise HomeUnusable(f"{self.path} could not be written: {error}; free some disk") from error
        self._began = time.monotonic()
        head = EpisodeHead(
            run_id=self._run_dir.run_id,
            episode=episode,
            env_id=self._arena.env_id,
            env_settings=dict(self._arena.settings),
            seed=seed,
            seats=seats,
            order=self._arena.order,
            observations=self._arena.observations,
            versions=self._arena.versions,
            digest=digest(observation),
            observation=self._whole(observation),
            started_at=round(time.time(), 3),
        )
        self._write(head)
        if self._filmed:
            self._film = VideoFile(self.path.with_suffix(".mp4"), fps=max(1, round(self._arena.steps_per_s)))
            self.shoot()

    def step(
        self,
        t: int,
        seat: str,
        actor: str,
        action: Any,
        result: Result,
        *,
        rewards: Mapping[str, float] | None = None,
    ) -> None:
        """`rewards` of each seat, where there are several."""
        observation, reward, terminated, truncated = result
        line = EpisodeStep(
            t=t,
            seat=seat,
            actor=actor,
            action=to_json(action),
            reward=number(reward),
            terminated=terminated,
            truncated=truncated,
            digest=digest(observation),
            observation=self._whole(observation),
            rewards=None if rewards is None else {each: number(got) for each, got in rewards.items()},
            wall_s=round(time.monotonic() - self._began, 4),
        )
        self._write(line)
        if self._film is not None:
            self.shoot()

    def end(self, outcome: Outcome, length: int, returns: dict[str, float]) -> None:
        """The file is on disk when this returns."""
        if self._file is None:
            return
        totals: dict[str, Number] = {seat: number(value) for seat, value in returns.items()}
        self._write(EpisodeEnd(outcome=outcome, length=length, returns=totals, ended_at=round(time.time(), 3)))
        with self._file:
            os.fsync(self._file.fileno())
        self._file = None
        if self._film is not None:
            self._film.close()
            self._film = None

    def shoot(self) -> None:
        picture = self._arena.render()
        if picture is not None and self._film is not None:
            self._film.add(in_colour(picture))

    def _whole(self, observation: Any) -> Any:
        return to_json(observation) if self._observations else None

    def _write(self, line: Line) -> None:
        data = (encode(line) + "\n").encode()
        try:
            while data:
                data = data[self._file.write(data) :]
        except OSError as error:
            raise HomeUnusable(
                f"{self.path} could not be written: {error}; the session ends rather than play unrecorded"
            ) from error
