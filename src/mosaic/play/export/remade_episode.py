"""A recorded episode made again from its seed and actions, step by step, outside of any session: for exports."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mosaic.errors import RecordingError
from mosaic.play.arenas.arena import Arena, Result
from mosaic.play.arenas.arena_choice import arena_of
from mosaic.play.json_values import action_from_json
from mosaic.play.recording.replay_check import ReplayCheck
from mosaic.spec.episode_file import EpisodeFile
from mosaic.spec.run_config import PlayExtras


@dataclass(frozen=True)
class RemadeStep:
    """One step, made again."""

    seat: str
    action: Any
    result: Result
    round_ends: bool
    """All seats that are to act have acted; in an environment for one, always."""


class RemadeEpisode:
    """`begin` is the first observation, then come the `steps`; `difference` tells of the first one."""

    def __init__(self, recording: EpisodeFile, *, pictures: bool) -> None:
        head = recording.head
        options = PlayExtras(mode="play", actors=dict(head.seats), lockstep=head.order == "copies")
        self.recording = recording
        self.arena: Arena = arena_of(
            head.env_id, options, pictures=pictures, observations=head.observations, settings=head.env_settings
        )
        self._comparison = ReplayCheck(recording, self.arena.versions)
        if self.arena.seats != tuple(head.seats):
            self.arena.close()
            raise RecordingError(f"{recording.path}: its seats are {', '.join(head.seats)}, not those of {head.env_id}")

    @property
    def difference(self) -> str:
        """Where it is not what was recorded, and what may explain that; empty if it is."""
        return self._comparison.difference

    @property
    def rounds_per_s(self) -> float:
        """The rate at which it means to be seen, where one acts after the other within a round."""
        in_round = len(self.arena.seats) if self.arena.order in ("copies", "together") else 1
        return self.arena.steps_per_s / in_round

    def begin(self) -> Any:
        observation = self.arena.reset(self.recording.head.seed)
        self._comparison.begin(observation)
        return observation

    def steps(self) -> Iterator[RemadeStep]:
        arena = self.arena
        for line in self.recording.steps:
            if arena.over or arena.turn != line.seat:
                why = "the episode is over" if arena.over else f"it is the turn of {arena.turn}"
                raise RecordingError(
                    f"{self.recording.path} cannot be made again: at step {line.t} {line.seat} acted, but now {why}"
                    + (f" ({self.difference})" if self.difference else "")
                )
            action = action_from_json(line.action, arena.at(line.seat).action_space)
            result = arena.step(action)
            self._comparison.step(line.t, result)
            yield RemadeStep(line.seat, action, result, arena.round_ends(line.seat))

    def close(self) -> None:
        self.arena.close()
