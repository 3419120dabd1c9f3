"""Recorded episodes as the window reads them from the daemon: how to make one again, and where two of them differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic import config
from mosaic.config import JsonValue
from mosaic.errors import RecordingError
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_pb2 import RecordedEpisode
from mosaic.spec import episode_file
from mosaic.spec.episode_file import EpisodeHead
from mosaic.spec.play_config import document_of

COMPARED = (
    ("seat", "another seat acts"),
    ("action", "the actions differ"),
    ("reward", "the rewards differ"),
    ("terminated", "one episode ends here"),
    ("truncated", "one episode ends here"),
    ("digest", "the observations differ"),
)
"""Of a step, in the order in which a person would want to hear of it."""


@dataclass(frozen=True)
class Recorded:
    """One episode."""

    name: str
    """RUN/EPISODE."""
    head: EpisodeHead
    steps: Sequence[Mapping[str, Any]]

    @property
    def is_lockstep(self) -> bool:
        return self.head.order == "copies"

    def document(self, options: Mapping[str, JsonValue]) -> dict[str, Any]:
        """The run config of a session that makes it again."""
        actors = dict.fromkeys(self.head.seats, f"replay:{self.name}")
        view: dict[str, JsonValue] = {"video_mode": "grid" if self.is_lockstep else "single"}
        told = {"interactive": True, "lockstep": self.is_lockstep, **view, **options}
        return document_of(self.head.env_id, actors, told, seed=0)


@dataclass(frozen=True)
class Difference:
    """Where two episodes are no longer the same."""

    step: int
    """0 is the reset."""
    what: str


def fetch(client: Client, episode: RecordedEpisode) -> Recorded:
    """Not in the GUI thread."""
    name = f"{episode.run_id}/{episode.episode}"
    # A line that a kill tore is left out.
    lines = b"".join(client.read_artifact(episode.run_id, episode.path)).split(b"\n")[:-1]
    head = episode_file.decode(lines[0], what=f"{name}, line 1") if lines else None
    if not isinstance(head, EpisodeHead):
        raise RecordingError(f"{episode.path} of run {episode.run_id} is not a recorded episode")
    read = (config.loads(line, what=f"{name}, line {number}") for number, line in enumerate(lines[1:], start=2))
    return Recorded(name, head, [content for content in read if content.get("kind") == "step"])


def first_difference(one: Recorded, other: Recorded) -> Difference | None:
    """None where they are the same to the end."""
    if one.head.env_id != other.head.env_id:
        return Difference(0, f"{one.head.env_id} and {other.head.env_id} are two environments")
    if one.head.digest != other.head.digest:
        seeds = f" (seeds {one.head.seed} and {other.head.seed})" if one.head.seed != other.head.seed else ""
        return Difference(0, f"they begin differently{seeds}")
    for at, (here, there) in enumerate(zip(one.steps, other.steps, strict=False), start=1):
        for key, what in COMPARED:
            if here.get(key) != there.get(key):
                both = f": {_short(here[key])} and {_short(there[key])}" if key in ("action", "reward") else ""
                return Difference(at, what + both)
    if len(one.steps) != len(other.steps):
        return Difference(min(len(one.steps), len(other.steps)), "one episode ends here")
    return None


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else f"{text[:23]}…"
