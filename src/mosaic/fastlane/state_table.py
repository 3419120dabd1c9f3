"""The table of states: what a worker hands to its painter, in memory that both map. Private to the two.

Little endian, one row a slot; `floats` is the length of a state.
    0    u64   global step
    8    160s  line for the HUD, UTF-8, zero padded
    168  u64   1 while a viewer is connected; this and the next five are the readers' wishes, written by the painter
    176  u64   first slot shown, 184 u64 number of slots shown
    192  f64   pictures a second, 200 f64 share of the learner's time for handing over
    208  u64   1 + the slot that is to be explained; 0 is none
    216  u64   sequence of what is at 256 (odd while it is written)
    256  2848s what that slot observes and what the agent makes of it, JSON, UTF-8, zero padded
    3104 rows of 24 + 8 * floats bytes: u64 sequence (odd while it is written; 0 never was), f64 episode return,
         u64 episode length, floats × f64 state
One writer, one reader; written and read as a slot of the ring is. The readers' wishes stand here so that the learner
can see them without a system call: another thread of its process that looks for them would take the interpreter away.
"""

import json
import mmap
import os
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mosaic.fastlane.ring_layout import ABOUT_BYTES, LINE_BYTES, Tile, padded, unpadded
from mosaic.fastlane.viewer_lease import Mode
from mosaic.operating_system import nameless_file

ABOUT_AT = 256
ROWS_AT = ABOUT_AT + ABOUT_BYTES
ABOUT_SEQUENCE = 27
"""Word of its sequence."""
LINE_AT = 8
WISHES_AT = 168
ROW_HEAD_WORDS = 3
MAX_RETRIES = 100


@dataclass(frozen=True, kw_only=True)
class Job:
    """What a painter is asked to do, as the JSON text of its one argument."""

    env_id: str
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    """Of the environment."""
    ring: str
    table: int
    """File descriptor of the table."""
    environments: int
    """Rows of the table."""
    floats: int
    grid_limit: int
    mode: Mode
    """Shown where the viewers do not mind."""
    slot: int
    """Environment of the single mode, likewise."""
    fps: float
    """Pictures of each tile a second, likewise."""
    budget: float
    """Share of the learner's time, likewise."""
    evaluation: bool

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Job":
        return cls(**json.loads(text))


class Row(NamedTuple):
    """A slot at one moment."""

    sequence: int
    tile: Tile
    state: NDArray[np.float64]


class Shown(NamedTuple):
    """What the readers want of the learner."""

    slots: range
    fps: float
    budget: float
    explained: int | None = None


class StateTable:
    def __init__(self, descriptor: int, slots: int, floats: int) -> None:
        self.descriptor = descriptor
        self.floats = floats
        self._map = mmap.mmap(descriptor, _size(slots, floats))
        self._words = np.frombuffer(self._map, np.uint64)
        stride = ROW_HEAD_WORDS + floats
        rows = self._words[ROWS_AT // 8 :].reshape(slots, stride)
        self._heads = rows[:, :ROW_HEAD_WORDS]
        self._returns = rows[:, 1].view(np.float64)
        self._states = rows[:, ROW_HEAD_WORDS:].view(np.float64)

    @classmethod
    def create(cls, slots: int, floats: int) -> "StateTable":
        descriptor = nameless_file("mosaic-states")
        os.ftruncate(descriptor, _size(slots, floats))
        return cls(descriptor, slots, floats)

    def write(self, slot: int, state: NDArray[np.float64], episode_return: float, episode_length: int) -> None:
        head = self._heads[slot]
        head[0] += 1
        self._returns[slot] = episode_return
        head[2] = episode_length
        self._states[slot] = state
        head[0] += 1

    def read(self, slot: int) -> Row | None:
        """A whole row, or None if there is none yet."""
        for _ in range(MAX_RETRIES):
            before = int(self._heads[slot, 0])
            if before and not before % 2:
                tile = Tile(slot, int(self._heads[slot, 2]), float(self._returns[slot]))
                row = Row(before, tile, self._states[slot].copy())
                if int(self._heads[slot, 0]) == before:
                    return row
        return None

    def want(self, shown: Shown | None) -> None:
        """Written by the painter: what is to be handed over; None is nothing."""
        words = self._words[WISHES_AT // 8 :][:6]
        words[0] = 0
        if shown is not None:
            words[1], words[2] = shown.slots.start, len(shown.slots)
            words[3:5].view(np.float64)[:] = shown.fps, shown.budget
            words[5] = 0 if shown.explained is None else 1 + shown.explained
            words[0] = 1

    @property
    def wanted(self) -> Shown | None:
        looked, first, count, fps, budget, explained = self._words[WISHES_AT // 8 :][:6].tolist()
        asked_fps, asked_budget = np.array([fps, budget], np.uint64).view(np.float64).tolist()
        if not looked:
            return None
        slots = range(first, min(first + count, len(self._heads)))
        return Shown(slots, asked_fps, asked_budget, explained - 1 if 0 < explained <= len(self._heads) else None)

    @property
    def global_step(self) -> int:
        return int(self._words[0])

    @global_step.setter
    def global_step(self, step: int) -> None:
        self._words[0] = step

    @property
    def line(self) -> str:
        return unpadded(self._map[LINE_AT : LINE_AT + LINE_BYTES])

    @line.setter
    def line(self, text: str) -> None:
        self._map[LINE_AT : LINE_AT + LINE_BYTES] = padded(text, LINE_BYTES)

    @property
    def about(self) -> str:
        """What was said last of the slot that is explained; empty while it is being written."""
        for _ in range(MAX_RETRIES):
            before = int(self._words[ABOUT_SEQUENCE])
            text = unpadded(self._map[ABOUT_AT:ROWS_AT])
            if not before % 2 and int(self._words[ABOUT_SEQUENCE]) == before:
                return text
        return ""

    @about.setter
    def about(self, text: str) -> None:
        self._words[ABOUT_SEQUENCE] += 1
        self._map[ABOUT_AT:ROWS_AT] = padded(text, ABOUT_BYTES)
        self._words[ABOUT_SEQUENCE] += 1

    def close(self) -> None:
        del self._words, self._heads, self._returns, self._states
        self._map.close()
        os.close(self.descriptor)


def _size(slots: int, floats: int) -> int:
    return ROWS_AT + slots * 8 * (ROW_HEAD_WORDS + floats)
