"""A Minari data set as a replay memory: what was recorded once, in the way in which a run's environment shows it.

    data = MinariData(args.dataset, envs.single_observation_space, envs.single_action_space)
    batch = data.replay.sample(run.generator, args.batch_size)

Observations go through the rule for vectors, so that what is learnt from them acts in the environment itself. Nothing
is downloaded, and nothing that the data set names is imported.
"""

import importlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np

from cleanrl_worker.sdk.replay import ReplayBuffer, Transitions
from mosaic.envs.observations.observation_rule import flat_encoder
from mosaic.envs.observations.parted_rows import is_like
from mosaic.errors import CheckpointError, ConfigError, IncompatibleSpaces, MissingExtra, Problem, RecordingError

Array = np.ndarray[Any, Any]


class MinariData:
    """The steps of a data set, or of the part `best` of its episodes with the highest returns."""

    def __init__(
        self, dataset: str, observation_space: gym.Space[Any], action_space: gym.Space[Any], *, best: float = 1.0
    ) -> None:
        self.dataset = dataset
        found = _opened(dataset)
        parts = [_steps_of(episode, found) for episode in found.iterate_episodes()]
        parts = [part for part in parts if len(part.rewards)]
        if not parts:
            raise RecordingError(f"the data set {dataset} holds no steps")
        if best < 1:
            parts.sort(key=lambda part: -float(part.rewards.sum()))
            parts = parts[: max(round(best * len(parts)), 1)]
        seen = flat_encoder(found.observation_space).space
        if not is_like(seen, observation_space) or not is_like(found.action_space, action_space):
            raise IncompatibleSpaces(
                f"the data set {dataset} has observations {found.observation_space} and actions {found.action_space},"
                f" the environment {observation_space} and {action_space}; give the --env-id that it was recorded in"
            )
        self.transitions = Transitions(*(np.concatenate(field) for field in zip(*parts, strict=True)))
        steps = len(self.transitions.rewards)
        self.replay = ReplayBuffer(steps, 1, observation_space, action_space)
        rows = {name: array[:, None] for name, array in self.transitions._asdict().items()}
        self.replay.load({"steps": steps, "position": 0, "full": True, **rows})

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps of it: not the data, but what tells whether they are the same."""
        digest = 0
        for array in self.transitions:
            digest = zlib.crc32(array.tobytes(), digest)
        return {"steps": len(self.transitions.rewards), "digest": digest}

    def check(self, saved: Mapping[str, Any]) -> None:
        """Refuse to go on with other data than those of the checkpoint."""
        now = self.state()
        if any(int(saved[name]) != now[name] for name in now):
            raise CheckpointError(
                f"the data set {self.dataset} is not what it was at the checkpoint: it had {int(saved['steps'])} steps"
                f" and has {now['steps']}, or their numbers differ; put the old one back, or begin a new run"
            )


def _opened(dataset: str) -> Any:
    if not dataset:
        raise ConfigError([Problem("--dataset", "is missing: the name of a Minari data set, or its folder")])
    try:
        # Minari reads with it, and finds out only then.
        importlib.import_module("h5py")
        minari: Any = importlib.import_module("minari")
    except ImportError as error:
        raise MissingExtra("training from a Minari data set", "minari") from error
    folder = Path(dataset).expanduser()
    try:
        if folder.is_absolute():
            return minari.MinariDataset(folder / "data" if (folder / "data").is_dir() else folder)
        return minari.load_dataset(dataset)
    except FileNotFoundError as error:
        there = sorted(minari.list_local_datasets())
        raise RecordingError(
            f"there is no data set {dataset} on this machine: {error}. There are {', '.join(there) or 'none'};"
            " 'mosaic export-minari' makes one of recorded episodes"
        ) from error
    except (OSError, ValueError, KeyError, TypeError, AssertionError) as error:
        raise RecordingError(f"the data set {dataset} cannot be read: {error!r}; it may be damaged") from error


def _steps_of(episode: Any, found: Any) -> Transitions:
    """One episode's steps; an episode that was cut off is valued as if it went on."""
    steps = len(episode.rewards)
    encoder = flat_encoder(found.observation_space)
    rows = [_at(found.observation_space, episode.observations, step) for step in range(steps + 1)]
    if encoder.encode is not None:
        rows = [encoder.encode(row) for row in rows]
    obs = np.asarray(rows, encoder.space.dtype).reshape(steps + 1, *encoder.space.shape)
    return Transitions(
        obs=obs[:-1],
        actions=_actions(found.action_space, np.asarray(episode.actions)),
        next_obs=obs[1:],
        rewards=np.asarray(episode.rewards, np.float32),
        dones=np.asarray(episode.terminations, np.float32),
    )


def _actions(space: Any, actions: Array) -> Array:
    if isinstance(space, gym.spaces.Discrete):
        # As algorithms count them: from 0.
        return actions.astype(np.int64) - int(cast(Any, space).start)
    return actions.astype(np.float32)


def _at(space: Any, observations: Any, step: int) -> Any:
    """One observation of an episode, in which each part of a composite space is an array over the steps."""
    if isinstance(space, gym.spaces.Dict):
        return {name: _at(part, observations[name], step) for name, part in space.spaces.items()}
    if isinstance(space, gym.spaces.Tuple):
        return tuple(_at(part, observations[at], step) for at, part in enumerate(space.spaces))
    return observations[step]
