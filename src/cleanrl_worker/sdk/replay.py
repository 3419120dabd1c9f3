"""The replay buffer of the off-policy algorithms: transitions in one ring of records, sampled uniformly."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from cleanrl_worker.sdk.memory_limits import refuse_what_never_fits
from mosaic.errors import CheckpointError, IncompatibleSpaces

Array = np.ndarray[Any, Any]


class Transitions(NamedTuple):
    """A batch of transitions: views of a buffer that the next `sample` of as many rows overwrites."""

    obs: Array
    """(rows, *observation shape): float32, or uint8 where the environment's are."""
    actions: Array
    """(rows,) int64 of a Discrete space, (rows, *action shape) float32 of a Box."""
    next_obs: Array
    """What the action led to, not what the next episode began with."""
    rewards: Array
    """(rows,) float32."""
    dones: Array
    """(rows,) float32: 1 where the episode was terminated; a truncated one is valued as if it went on."""


def rows_of(array: Array) -> Array:
    """One row each, whatever the shape of an observation or action; scalars stay as they are."""
    return array.reshape(len(array), -1) if array.ndim > 2 else array


def by_rows(batch: Transitions) -> dict[str, Array]:
    return {name: rows_of(array) for name, array in batch._asdict().items()}


def bytes_needed(size: int, num_envs: int, observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> int:
    """Memory of a full buffer."""
    return max(size // num_envs, 1) * num_envs * _record(observation_space, action_space).itemsize


class ReplayBuffer:
    """The last `size` transitions of `num_envs` environments (rounded down to whole steps, at least one).

    A transition is one record of a structured array, so that a batch is gathered by a single `take`. The operating
    system provides the memory as it is first written to: a large buffer costs nothing until it is filled.
    """

    def __init__(
        self, size: int, num_envs: int, observation_space: gym.Space[Any], action_space: gym.Space[Any]
    ) -> None:
        record = _record(observation_space, action_space)
        self.num_envs = num_envs
        self._steps = max(size // num_envs, 1)
        refuse_what_never_fits(bytes_needed(size, num_envs, observation_space, action_space))
        self._records = np.zeros((self._steps, num_envs), record)
        self._flat = self._records.reshape(-1)
        self._obs, self._actions, self._next_obs, self._rewards, self._dones = _fields(self._records)
        self._batches: dict[int, tuple[Array, Transitions]] = {}
        self._position = 0
        self._full = False

    def __len__(self) -> int:
        """Transitions that can be sampled."""
        return (self._steps if self._full else self._position) * self.num_envs

    def add(self, obs: Array, next_obs: Array, actions: Array, rewards: Array, terminations: Array) -> None:
        """One step of every environment; `next_obs` is the true successor, `infos.get("final_obs", observations)`."""
        position = self._position
        self._obs[position] = obs
        self._actions[position] = actions
        self._next_obs[position] = next_obs
        self._rewards[position] = rewards
        self._dones[position] = terminations
        self._position = position + 1
        if self._position == self._steps:
            self._position, self._full = 0, True

    def sample(self, generator: np.random.Generator, batch_size: int) -> Transitions:
        """Transitions drawn uniformly, with replacement."""
        buffer = self._batches.get(batch_size)
        if buffer is None:
            records = np.zeros(batch_size, self._records.dtype)
            buffer = self._batches[batch_size] = records, _fields(records)
        records, batch = buffer
        # mode="clip" lets take write straight into its output; no index is out of range.
        self._flat.take(generator.integers(0, len(self), batch_size), 0, records, "clip")
        return batch

    def state(self) -> dict[str, Any]:
        """What `load` needs to go on bit for bit: the filled part, as views, and where the next step goes."""
        filled = _fields(self._records[: self._steps if self._full else self._position])
        return {"steps": self._steps, "position": self._position, "full": self._full, **filled._asdict()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from the `state` of a buffer of the same size and spaces."""
        position, full = int(state["position"]), bool(state["full"])
        filled = _fields(self._records[: self._steps if full else position])._asdict()
        if state["steps"] != self._steps or any(np.shape(state[name]) != part.shape for name, part in filled.items()):
            raise CheckpointError(
                f"the checkpoint holds a replay buffer of {state['steps']} steps with observations"
                f" {np.shape(state['obs'])}, this run one of {self._steps} steps with {filled['obs'].shape};"
                " resume with the buffer size, environments and number of them that it was saved with"
            )
        for name, part in filled.items():
            part[...] = state[name]
        self._position, self._full = position, full


def _fields(records: Array) -> Transitions:
    return Transitions(*(records[name] for name in Transitions._fields))


def _record(observation_space: gym.Space[Any], action_space: gym.Space[Any]) -> "np.dtype[Any]":
    # Aligned, because numpy and torch are slow at, or refuse, views with odd strides.
    return np.dtype(
        [
            ("obs", *_field(observation_space)),
            ("actions", *_field(action_space)),
            ("next_obs", *_field(observation_space)),
            ("rewards", np.float32),
            ("dones", np.float32),
        ],
        align=True,
    )


def _field(space: gym.Space[Any]) -> tuple[type[np.generic], tuple[int, ...]]:
    """How a value of `space` is stored."""
    if isinstance(space, gym.spaces.Discrete):
        return np.int64, ()
    if not isinstance(space, gym.spaces.Box):
        raise IncompatibleSpaces(f"a replay buffer holds values of Box and Discrete spaces, not of {space}")
    return (np.uint8 if space.dtype == np.uint8 else np.float32), space.shape
