"""The replay buffer of pictures: every frame is stored once, and stacks are put together when they are sampled.

Each environment has a ring of rows. A row is a frame; it is live if a step began at it: then its action, reward and end
stand in it, the stack before the step ends with its frame, and the stack after the step ends with the frame of the next
row. `depth` says how many of the rows before belong to its stack; older places of the stack repeat the oldest of them,
as they do at the beginning of an episode:

    row          7       8       9      10      11
    depth        0       1       2       0       1      rows 7 to 9: two steps and the frame that the second led to,
    live       yes     yes      no     yes     yes      at which nothing begins; 10: the first frame of the next episode

An episode thus costs one row more than it has steps. A stack that neither goes on from the last one nor is one frame
repeated is stored whole. 1,000,000 steps of 84×84 frames need 6.6 GiB; stored as two stacks each they would need 52.6.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.sdk.checkpoints.paged_array import PagedArray
from cleanrl_worker.sdk.memory_limits import refuse_what_never_fits
from cleanrl_worker.sdk.replay import Transitions
from mosaic.errors import CheckpointError

Array = np.ndarray[Any, Any]


def bytes_needed(size: int, num_envs: int, observation_space: gym.Space[Any]) -> int:
    """Memory of a full buffer."""
    frames, *frame = observation_space.shape or (0,)
    return num_envs * _rows(size, num_envs, frames) * (int(np.prod(frame)) + _ROW.itemsize)


_ROW = np.dtype(
    [("actions", np.int64), ("rewards", np.float32), ("dones", np.bool_), ("depth", np.uint8), ("live", "?")]
)


def _rows(size: int, num_envs: int, frames: int) -> int:
    # The frame that the last step led to, and the history of the oldest one.
    return max(size // num_envs, 1) + frames


class FrameReplay:
    """The last steps of `num_envs` environments that show stacks of frames: `size` steps, less one for each end."""

    def __init__(self, size: int, num_envs: int, observation_space: gym.Space[Any]) -> None:
        refuse_what_never_fits(bytes_needed(size, num_envs, observation_space))
        assert observation_space.shape is not None
        self._stack, *frame = observation_space.shape
        self._shape = (self._stack, *frame)
        self.num_envs = num_envs
        self.rows = _rows(size, num_envs, self._stack)
        self.frames = PagedArray((num_envs * self.rows, int(np.prod(frame))), np.uint8)
        self._row = np.zeros((num_envs, self.rows), _ROW)
        self.actions, self.rewards, self.dones, self.depth, self.live = (self._row[name] for name in _names())
        self._position = [-1] * num_envs
        self._filled = 0
        self._count = 0
        self.lost: list[int] = []
        """Places whose steps the last `add` has overwritten."""
        self._pending = np.zeros((num_envs, *self._shape), np.uint8)
        self._ended = np.ones(num_envs, np.bool_)
        self._buffers: dict[tuple[int, int], Array] = {}

    def __len__(self) -> int:
        """Steps that can be sampled."""
        return self._count

    def add(
        self, obs: Array, next_obs: Array, actions: Array, rewards: Array, terminations: Array, truncations: Array
    ) -> Array:
        """One step of every environment; `next_obs` is the true successor, `infos.get("final_obs", observations)`.

        Returns where the steps were put.
        """
        self.lost = []
        added = np.zeros(self.num_envs, np.int64)
        for env in range(self.num_envs):
            # An episode may begin with the very pictures that the last one was cut off at: its steps do not follow.
            if self._ended[env] or not np.array_equal(obs[env], self._pending[env]):
                self._begin(env, obs[env])
            row = self._position[env]
            self.actions[env, row] = actions[env]
            self.rewards[env, row] = rewards[env]
            self.dones[env, row] = terminations[env]
            self.live[env, row] = True
            self._count += 1
            added[env] = env * self.rows + row
            self._append(env, next_obs[env, -1], min(int(self.depth[env, row]) + 1, self._stack - 1))
        self._pending[...] = next_obs
        np.logical_or(terminations, truncations, out=self._ended)
        return added

    def _begin(self, env: int, stack: Array) -> None:
        """A stack that is not the one that the last step led to."""
        if (stack == stack[-1]).all():
            self._append(env, stack[-1], 0)
            return
        position = self._position[env]
        if position >= 0 and np.array_equal(stack[:-1], self._pending[env, 1:]):
            # envpool goes on with the old frames after a lost life.
            self._append(env, stack[-1], min(int(self.depth[env, position]) + 1, self._stack - 1))
            return
        for age, frame in enumerate(stack):
            self._append(env, frame, age)

    def _append(self, env: int, frame: Array, depth: int) -> None:
        row = (self._position[env] + 1) % self.rows
        # Stacks that reach back to the frame that is overwritten are lost.
        for distance in range(self._stack):
            later = (row + distance) % self.rows
            if self.live[env, later] and self.depth[env, later] >= distance:
                self.live[env, later] = False
                self.lost.append(env * self.rows + later)
                self._count -= 1
        self.frames.write(env * self.rows + row, frame.reshape(-1))
        self.depth[env, row] = depth
        self._position[env] = row
        self._filled = max(self._filled, row + 1)

    def sample(self, generator: np.random.Generator, batch_size: int) -> Transitions:
        """Steps drawn uniformly, with replacement; views of a buffer that the next `sample` of as many overwrites."""
        return self.transitions(self.draw(generator, batch_size))

    def draw(self, generator: np.random.Generator, batch_size: int) -> Array:
        """Where steps are, drawn uniformly, with replacement."""
        assert self._count, "nothing was added yet"
        live = self.live.reshape(-1)
        places = self._any_places(generator, batch_size)
        # Rows at which no step began are few: one for each end.
        while (missed := np.flatnonzero(~live[places])).size:
            places[missed] = self._any_places(generator, missed.size)
        return places

    def _any_places(self, generator: np.random.Generator, count: int) -> Array:
        envs = generator.integers(0, self.num_envs, count)
        return envs * self.rows + generator.integers(0, self._filled, count)

    def transitions(self, places: Array) -> Transitions:
        """The steps at these places."""
        rows = places % self.rows
        depth = self.depth.reshape(-1)[places]
        ages = np.arange(self._stack - 1, -1, -1)
        # The frames of the stack before, then the one frame that the stack after has more.
        wanted = np.concatenate([rows[:, None] - np.minimum(ages, depth[:, None]), rows[:, None] + 1], axis=1)
        both = self._gather(places, wanted)
        return Transitions(
            obs=both[:, :-1],
            actions=self.actions.reshape(-1)[places],
            next_obs=both[:, 1:],
            rewards=self.rewards.reshape(-1)[places],
            dones=self.dones.reshape(-1)[places].astype(np.float32),
        )

    def n_step(self, places: Array, n_step: int, gamma: float) -> Transitions:
        """Up to `n_step` steps from these places on as one: their discounted rewards, and where they led to.

        It stops at an episode's end and at the newest step. `dones` are 1 less the discount of what follows: 1 where
        the episode was terminated, else 1 - gamma to the number of steps.
        """
        live, dones, rewards = (part.reshape(-1) for part in (self.live, self.dones, self.rewards))
        last = places.copy()
        total = rewards[places].copy()
        discount = np.full(len(places), gamma, np.float32)
        for _ in range(n_step - 1):
            ahead = self._after(last)
            goes_on = live[ahead] & ~dones[last]
            total += np.where(goes_on, discount * rewards[ahead], 0)
            discount *= np.where(goes_on, np.float32(gamma), 1)
            last = np.where(goes_on, ahead, last)
        return Transitions(
            obs=self.stacks(places).copy(),
            actions=self.actions.reshape(-1)[places],
            next_obs=self.stacks(self._after(last)),
            rewards=total,
            dones=1 - discount * ~dones[last],
        )

    def _after(self, places: Array) -> Array:
        rows = places % self.rows
        return places - rows + (rows + 1) % self.rows

    def stacks(self, places: Array) -> Array:
        """The stacks that end at these places, which need not be live."""
        depth = self.depth.reshape(-1)[places]
        ages = np.arange(self._stack - 1, -1, -1)
        return self._gather(places, (places % self.rows)[:, None] - np.minimum(ages, depth[:, None]))

    def _gather(self, places: Array, rows: Array) -> Array:
        """The frames of these rows of each place's environment: (places, frames, *frame)."""
        count, frames = rows.shape
        buffer = self._buffers.get((count, frames))
        if buffer is None:
            buffer = self._buffers[count, frames] = np.zeros((count * frames, self.frames.array.shape[1]), np.uint8)
        flat = (places - places % self.rows)[:, None] + rows % self.rows
        # mode="clip" lets take write straight into its output; no index is out of range.
        self.frames.array.take(flat.reshape(-1), 0, buffer, "clip")
        return buffer.reshape(count, frames, *self._shape[1:])

    def state(self) -> dict[str, Any]:
        """What `load` needs to go on bit for bit; of the frames, checkpoints write what has changed."""
        filled = {name: self._row[name][:, : self._filled] for name in _names()}
        positions = np.array(self._position, dtype=np.int64)
        return {"rows": self.rows, "positions": positions, "ended": self._ended, "frames": self.frames, **filled}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from the `state` of a buffer of the same size for the same environments."""
        shape = self.frames.array.shape
        if state["rows"] != self.rows or tuple(state["frames"].shape) != shape:
            raise CheckpointError(
                f"the checkpoint holds a replay buffer of {state['rows']} rows with {state['frames'].shape[0]} frames,"
                f" this run one of {self.rows} rows with {shape[0]}; resume with the buffer size, environments and"
                " number of them that it was saved with"
            )
        self.frames.load(state["frames"])
        self._filled = state["depth"].shape[1]
        for name in _names():
            self._row[name][:, : self._filled] = state[name]
        self._position = [int(position) for position in state["positions"]]
        self._count = int(self.live.sum())
        if self._filled:
            newest = np.arange(self.num_envs) * self.rows + np.array(self._position)
            self._pending[...] = self.stacks(newest)
            self._ended[...] = state.get("ended", False)  # Earlier versions did not tell.


def _names() -> tuple[str, ...]:
    return _ROW.names or ()
