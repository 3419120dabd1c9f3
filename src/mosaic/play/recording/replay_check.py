"""Comparing a replay with its recording, step by step: the first difference, and what may explain it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.config import JsonValue
from mosaic.play.json_values import digest
from mosaic.spec.episode_file import EpisodeFile, EpisodeStep
from mosaic.spec.events import number


@dataclass
class ReplayCheck:
    """Told of every step of a replay, in any order: a scrub begins anew from the seed."""

    recording: EpisodeFile
    versions: Mapping[str, str]
    """Of this replay."""
    compared: int = 0
    """Steps that were the same, from the beginning on."""
    difference: str = ""
    """The first one, in words; empty while there is none."""

    @property
    def length(self) -> int:
        return len(self.recording.steps)

    @property
    def exact(self) -> bool:
        """Every step was made and was the same."""
        return not self.difference and self.compared == self.length

    def begin(self, observation: Any) -> None:
        if not self.difference and digest(observation) != self.recording.head.digest:
            self._differs(0, "the first observation")

    def step(self, t: int, result: tuple[Any, float, bool, bool]) -> None:
        if t > self.length or self.difference:
            return
        recorded = self.recording.steps[t - 1]
        if what := _difference(recorded, result):
            self._differs(t, what)
        else:
            self.compared = max(self.compared, t)

    def _differs(self, t: int, what: str) -> None:
        changed = [
            f"{name} {before} was {self.versions.get(name, 'not there')}"
            for name, before in self.recording.head.versions.items()
            if name != "mosaic" and self.versions.get(name) != before
        ]
        why = (
            f"recorded with {', '.join(changed)} now" if changed else "with the same versions: it is not deterministic"
        )
        self.difference = f"step {t}: {what} differs; {why.replace(' was ', ', which is ')}"

    def as_json(self) -> dict[str, JsonValue]:
        return {
            "of": str(self.recording.path),
            "episode": self.recording.head.episode,
            "length": self.length,
            "compared": self.compared,
            "exact": self.exact,
            "difference": self.difference,
        }


def _difference(recorded: EpisodeStep, result: tuple[Any, float, bool, bool]) -> str:
    observation, reward, terminated, truncated = result
    if number(reward) != recorded.reward:
        return f"the reward ({reward:g}, recorded {float(recorded.reward):g})"
    if (terminated, truncated) != (recorded.terminated, recorded.truncated):
        return "the end of the episode"
    return "" if digest(observation) == recorded.digest else "the observation"
