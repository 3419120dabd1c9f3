"""A preset: settings of one algorithm in one environment under a name, where they came from, and what they scored.

A JSON file for each (docs/protocols/preset.md). What it does not name stays as the algorithm has it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from annotated_types import Ge, MaxLen, MinLen

from mosaic import config
from mosaic.config import JsonValue
from mosaic.errors import ConfigError, Problem
from mosaic.spec.run_config import Environment, TrainOptions

if TYPE_CHECKING:
    from mosaic.statistics.intervals import Interval

LONGEST_NAME = 80
LARGE = 10
"""Scores above it are shown with one digit behind the point, others with two."""
Name: TypeAlias = Annotated[str, MinLen(1), MaxLen(LONGEST_NAME)]
OUTSIDE = ("env_id", "seed")
"""Settings of an algorithm that no preset has."""
OPTIONS = frozenset({"cpus", "gpus", "tensorboard", "seeds", "priority"} | {one.name for one in fields(TrainOptions)})
"""Flags of the run that a preset may have."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What trainings with a preset scored: a training counts with the mean return of its last episodes."""

    seeds: Annotated[tuple[int, ...], MinLen(1)]
    """A training for each."""
    total_timesteps: Annotated[int, Ge(1)]
    """Environment steps of each."""
    last_episodes: Annotated[int, Ge(1)]
    """So many episodes at the end of a training are its score."""
    scores: Annotated[tuple[float, ...], MinLen(1)]
    """Of the trainings, in the order of the seeds."""
    default_scores: tuple[float, ...] = ()
    """The same seeds and steps with the default settings, where that was measured."""
    version: str = ""
    """Of MOSAIC."""

    @property
    def iqm(self) -> "Interval":
        return _iqm(self.scores)

    @property
    def default_iqm(self) -> "Interval | None":
        return _iqm(self.default_scores) if self.default_scores else None

    @property
    def how(self) -> str:
        """In a few words: `5 seeds of 100,000 steps, last 100 episodes`."""
        seeds = "1 seed" if len(self.seeds) == 1 else f"{len(self.seeds)} seeds"
        return f"{seeds} of {self.total_timesteps:,} steps, last {self.last_episodes} episodes"

    def text(self, iqm: "Interval") -> str:
        """`230.1 [201.3, 251.9] rough`: with what to think of it where seeds are few."""
        return iqm.text(len(self.seeds), self._spec)

    def short(self, iqm: "Interval") -> str:
        """`230.1 [201.3, 251.9]`, or the number alone where seeds are too few for an interval."""
        spec = self._spec
        limits = f" [{iqm.low:{spec}}, {iqm.high:{spec}}]" if iqm.is_known else ""
        return f"{iqm.value:{spec}}{limits}"

    @property
    def _spec(self) -> str:
        return ".1f" if max(map(abs, (*self.scores, *self.default_scores))) > LARGE else ".2f"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """One file."""

    v: Literal[1] = 1
    """Version of this format."""
    name: Name
    """What it is called by."""
    about: str = ""
    """For the reader."""
    algo: Annotated[str, MinLen(1)]
    """Algorithm, by its name."""
    environment: Environment
    """Environment, with the settings that it is made with."""
    settings: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Settings of the algorithm that are not as it has them, `total_timesteps` among them."""
    options: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Flags of the run, as `capture_video`; a preset that ships has none."""
    origin: dict[str, str] = field(default_factory=dict[str, str])
    """Where each setting came from."""
    reference: str = ""
    """What `origin` means by the name of another project: which file of it."""
    left_out: tuple[str, ...] = ()
    """What the reference says that has no setting here, or another value here."""
    measured: Measured | None = None
    """What it scored; null where it was not measured."""

    @property
    def env_id(self) -> str:
        return self.environment.env_id

    @property
    def key(self) -> tuple[str, str, str]:
        return self.algo, self.env_id, self.name


def parse(text: str | bytes, *, what: str) -> Preset:
    """ConfigError with everything that is wrong with it, apart from settings that the algorithm does not have."""
    preset = config.from_json_text(Preset, text, what=what)
    problems = [Problem(f"settings.{name}", "is not part of a preset") for name in OUTSIDE if name in preset.settings]
    problems += [
        Problem(f"options.{name}", "is not an option of a run") for name in preset.options if name not in OPTIONS
    ]
    if preset.name != preset.name.strip():
        problems.append(Problem("name", "begins or ends with a blank"))
    if preset.measured and len(preset.measured.seeds) != len(preset.measured.scores):
        problems.append(Problem("measured.scores", "are not as many as seeds"))
    if problems:
        raise ConfigError(problems, what=what)
    return preset


def settings_problems(preset: Preset, properties: Mapping[str, Any]) -> list[Problem]:
    """Settings that the algorithm does not have, by the properties of its schema."""
    return [
        Problem(f"settings.{name}", f"is not a setting of {preset.algo}")
        for name in preset.settings
        if name not in properties
    ]


def _iqm(scores: Sequence[float]) -> "Interval":
    # Only here: numpy takes a tenth of a second to import, and a command that trains with a preset needs none.
    import numpy as np

    from mosaic.statistics import aggregates, stratified_bootstrap

    return stratified_bootstrap.interval([np.array(scores)], aggregates.iqm)
