"""`python -m mosaic.play.export.dataset`: recorded episodes as a Minari dataset, which Minari itself writes.

Standard input is {"episodes": [FILE, …], "dataset": NAME, "author": TEXT, "description": TEXT}. Observations come from
making each episode again, and only an exact replay is taken; a recording in lock-step gives an episode for each seat.
Minari decides where datasets are (MINARI_DATASETS_PATH). Pictures are stored as they are, not as JPEG. The last line of
the output is {"dataset": …, "path": …, "episodes": …, "steps": …}.
"""

import contextlib
import importlib
import json
import shutil
import string
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
from gymnasium import spaces

from cleanrl_worker.sdk.command import worker_flags
from mosaic import envs
from mosaic.errors import HomeUnusable, IncompatibleSpaces, MissingExtra, MosaicError, RecordingError
from mosaic.play.export.remade_episode import RemadeEpisode
from mosaic.spec import episode_file
from mosaic.spec.environment_settings import spoken
from mosaic.spec.episode_file import EpisodeFile

MAX_TEXT = 1000


def main() -> int:
    envs.headless_defaults()
    try:
        made = export(**json.load(sys.stdin))
    except MosaicError as error:
        return worker_flags.reported(error)
    sys.stdout.write(json.dumps(made) + "\n")
    return 0


def export(*, episodes: Sequence[str], dataset: str, author: str = "", description: str = "") -> dict[str, Any]:
    """Make the dataset, whole or not at all."""
    minari = _minari()
    path = _free(dataset)
    found = [_read(Path(each)) for each in episodes]
    env_ids = sorted({each.head.env_id for each in found})
    if len(env_ids) > 1:
        raise RecordingError(f"a dataset is of one environment; these are of {', '.join(env_ids)}")
    settings = found[0].head.env_settings
    for each in found:
        if each.head.env_settings != settings:
            raise RecordingError(
                f"a dataset is of one environment; {found[0].path.name} has {spoken(settings) or 'no settings'},"
                f" {each.path.name} has {spoken(each.head.env_settings) or 'no settings'}"
            )
    # Minari keeps the spec of the environment, and with it the settings.
    env = envs.make(env_ids[0], render_mode=None, settings=settings)
    try:
        made = _written(minari, dataset, found, env, author=author, description=description)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)
        if isinstance(error, OSError):
            raise HomeUnusable(f"{path} could not be written: {error}") from error
        if isinstance(error, ValueError | TypeError | NotImplementedError | AssertionError):
            raise IncompatibleSpaces(f"Minari cannot hold these episodes of {env_ids[0]}: {error}") from error
        raise
    finally:
        env.close()
    return {
        "dataset": dataset,
        "path": str(path),
        "episodes": int(made.total_episodes),
        "steps": int(made.total_steps),
    }


def _written(
    minari: Any, dataset: str, found: Sequence[EpisodeFile], env: Any, *, author: str, description: str
) -> Any:
    """An episode at a time, so that no more than one is in memory."""
    space, made, count = _storable(env.observation_space), None, 0
    actors = sorted({actor.rpartition("/")[2] for each in found for actor in each.head.seats.values()})
    for recording in found:
        for buffer in _buffers(recording):
            numbered = replace(buffer, id=count)
            count += 1
            if made is not None:
                made.update_dataset_from_buffer([numbered])
                continue
            with warnings.catch_warnings():
                # About an author's address and the like, which are for those who publish a dataset.
                warnings.simplefilter("ignore", UserWarning)
                made = minari.create_dataset_from_buffers(
                    dataset,
                    [numbered],
                    env=env,
                    observation_space=space,
                    algorithm_name=", ".join(actors),
                    author=author or None,
                    description=description or None,
                    requirements=_requirements(found[0]),
                    jpeg_encoding=False,
                )
    return made


def _minari() -> Any:
    try:
        # Minari stores with it, and finds out only then.
        importlib.import_module("h5py")
        return importlib.import_module("minari")
    except ImportError as error:
        raise MissingExtra("a Minari dataset", "minari") from error


def _free(dataset: str) -> Path:
    """The folder that the dataset will have."""
    from minari.dataset.minari_dataset import parse_dataset_id
    from minari.storage.datasets_root_dir import get_dataset_path

    try:
        parse_dataset_id(dataset)
    except ValueError as error:
        raise RecordingError(
            f"'{dataset}' is not a name for a Minari dataset, as cartpole/random-v0 is: {error}"
        ) from error
    path = Path(get_dataset_path(dataset))
    if path.exists():
        raise RecordingError(f"the dataset '{dataset}' exists already in {path}; choose another name or version")
    return path


def _read(path: Path) -> EpisodeFile:
    found = episode_file.read(path)
    if found.head.order not in ("one", "copies"):
        raise RecordingError(f"{path.name}: Minari's datasets are for one agent, {found.head.env_id} is for several")
    if not found.steps:
        raise RecordingError(f"{path.name} has no step")
    return found


def _storable(space: gymnasium.Space[Any]) -> gymnasium.Space[Any]:
    """The space as Minari can describe it: a text of some space of its own, such as MiniGrid's missions, is a text."""
    from minari.serialization import serialize_space

    if isinstance(space, spaces.Dict):
        return spaces.Dict({key: _storable(inner) for key, inner in space.spaces.items()})
    try:
        serialize_space(space)
    except (NotImplementedError, TypeError, ValueError) as error:
        if isinstance(space.sample(), str):
            return spaces.Text(MAX_TEXT, charset=string.printable)
        raise IncompatibleSpaces(f"Minari cannot hold values of {space}: {error}") from error
    return space


def _buffers(recording: EpisodeFile) -> list[Any]:
    """One episode for each seat."""
    from minari.data_collector.episode_buffer import EpisodeBuffer

    with contextlib.closing(RemadeEpisode(recording, pictures=False)) as made:
        first = made.begin()
        seats = list(recording.head.seats)
        rows: dict[str, _Rows] = {seat: _Rows(first) for seat in seats}
        for step in made.steps():
            rows[step.seat].add(step.action, step.result)
        if made.difference:
            raise RecordingError(
                f"{recording.path.name} cannot be exported: made again it is not what was recorded: {made.difference}"
            )
        observation_space, action_space = made.arena.observation_space, made.arena.action_space
    return [
        EpisodeBuffer(
            seed=recording.head.seed,
            observations=_columns(observation_space, kept.observations),
            actions=_columns(action_space, kept.actions),
            rewards=kept.rewards,
            terminations=kept.terminations,
            truncations=kept.cut_short(),
            infos=None,
        )
        for kept in rows.values()
        if kept.actions
    ]


class _Rows:
    """An episode, row by row."""

    def __init__(self, observation: Any) -> None:
        self.observations = [observation]
        self.actions: list[Any] = []
        self.rewards: list[float] = []
        self.terminations: list[bool] = []
        self._truncations: list[bool] = []

    def add(self, action: Any, result: tuple[Any, float, bool, bool]) -> None:
        observation, reward, terminated, truncated = result
        self.actions.append(action)
        self.observations.append(observation)
        self.rewards.append(reward)
        self.terminations.append(terminated)
        self._truncations.append(truncated)

    def cut_short(self) -> list[bool]:
        """An episode that was stopped ends where it was cut off: Minari knows no other end."""
        last = self._truncations[-1] or not self.terminations[-1]
        return [*self._truncations[:-1], last]


def _columns(space: gymnasium.Space[Any], values: Sequence[Any]) -> Any:
    """The same values, as Minari stores them: a list for each leaf of the space."""
    if isinstance(space, spaces.Dict):
        return {key: _columns(inner, [value[key] for value in values]) for key, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_columns(inner, [value[at] for value in values]) for at, inner in enumerate(space.spaces))
    return list(values)


def _requirements(recording: EpisodeFile) -> list[str]:
    return [f"{name}=={version}" for name, version in recording.head.versions.items() if name != "mosaic"]


if __name__ == "__main__":
    raise SystemExit(main())
