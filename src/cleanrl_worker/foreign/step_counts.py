"""Steps, episodes and returns of the environments that a script steps, counted where they are stepped.

A step is one call of `step` on the outermost wrapper that is not Gymnasium's own, so that a wrapper which repeats an
action four times makes one step. Return and end of an episode are those of the environment itself, below all wrappers
of the script: no clipped rewards, no lost lives. An episode that the script breaks off by a reset is none.
"""

import time
import weakref
from collections import deque
from typing import Any, NamedTuple

import numpy as np

MOST_WAITING = 100_000
"""Episodes that wait for the record; a script whose episodes last a step each may end more than can be written."""
ENDLESS = 2**62
"""Steps, where there is no limit."""


class EndedEpisode(NamedTuple):
    time: float
    slot: int
    episodic_return: float
    length: int
    global_step: int


class StepCounts:
    """Of all environments of a script. Its own thread adds up, the recorder's thread reads."""

    def __init__(self) -> None:
        self.past = 0
        """Steps of episodes that are over."""
        self.counting: set[EnvCount] = set()
        """Environments whose episode may go on."""
        self.ended: deque[EndedEpisode] = deque(maxlen=MOST_WAITING)

    @property
    def steps(self) -> int:
        # A copy at once: environments come and go meanwhile.
        return self.past + sum(count.steps for count in tuple(self.counting))

    def end(self, slot: int, episodic_return: Any, length: int) -> None:
        self.ended.append(EndedEpisode(time.time(), slot, float(episodic_return), length, self.steps))


class EnvCount:
    """Of one environment and its episode. A step of the environment costs two additions, which its hook does itself."""

    __slots__ = (
        "counts", "depth", "has_steps_of_a_wrapper", "inside", "left", "length", "limit", "over", "seen", "skipped",
        "slot", "total",
    )  # fmt: skip

    def __init__(self, counts: StepCounts) -> None:
        self.counts = counts
        self.slot = 0
        self.limit = ENDLESS
        """Steps of the environment after which Gymnasium's TimeLimit cuts the episode off."""
        self.left = ENDLESS
        """How many of them are left."""
        self.skipped = 0
        """Those that were made within a reset: none of the script's."""
        self.length = 0
        """Steps of the outermost wrapper."""
        self.has_steps_of_a_wrapper = False
        self.total: Any = 0.0
        self.depth = 0
        """How many wrappers of the script are within a call: only the outermost one makes a step."""
        self.inside = False
        """The environment's own `step` is within a call."""
        self.over = False
        """The outermost wrapper said at its last step that the episode is over."""
        self.seen: Any = None
        counts.counting.add(self)

    @property
    def steps(self) -> int:
        """Of the script, in this episode."""
        return self.length if self.has_steps_of_a_wrapper else self.limit - self.left - self.skipped

    def watch(self, env: Any) -> None:
        """Be counted as long as this environment lives."""
        try:
            self.seen = weakref.ref(env, lambda _: self._leave())
        except TypeError:  # It takes no weak references: it is counted to the end.
            self.seen = None

    def limit_to(self, steps: int) -> None:
        done = self.limit - self.left
        self.limit = min(self.limit, steps)
        self.left = self.limit - done

    def take(self, result: Any) -> None:
        """What the environment itself returned."""
        self.left -= 1
        self.total += result[1]
        if result[2] or result[3] or not self.left:
            self.end()

    def end(self) -> None:
        self.counts.end(self.slot, self.total, self.steps)
        self.begin()

    def begin(self) -> None:
        steps = self.steps
        # In this order: one who reads meanwhile may miss these steps, and never sees them twice.
        self.left, self.length, self.skipped, self.total = self.limit, 0, 0, 0.0
        self.counts.past += steps

    def reset(self) -> None:
        """The environment is about to be reset: what no wrapper called an end was broken off."""
        if self.over and self.left < self.limit:
            self.end()
        self.over = False
        self.begin()

    def _leave(self) -> None:
        self.begin()
        self.counts.counting.discard(self)

    def __reduce__(self) -> Any:
        # A copy of an environment is for looking ahead: its steps are none of the script's training.
        return EnvCount, (StepCounts(),)


class VectorCount:
    """Of environments that are stepped together, in another process or in no Python at all."""

    def __init__(self, counts: StepCounts, num_envs: int, *, resets_by_a_step: bool) -> None:
        self.inside = False
        self._counts = counts
        self._resets_by_a_step = resets_by_a_step
        """An end is followed by a step that only resets: it belongs to no episode."""
        self._returns = np.zeros(num_envs)
        self._lengths = np.zeros(num_envs, np.int64)
        self._are_told = False
        """Gymnasium's RecordEpisodeStatistics is inside and knows better: it stands below other wrappers."""

    def reset(self) -> None:
        self._returns[:] = self._lengths[:] = 0

    def take_step(self, result: Any) -> None:
        """What a vector environment's `step` returned."""
        _, rewards, terminated, truncated, infos = result
        self.take(rewards, np.logical_or(terminated, truncated), infos)

    def take(self, rewards: Any, ended: Any, infos: Any = None) -> None:
        """A step of all of them."""
        self._counts.past += len(self._lengths)
        self._lengths += 1
        if self._resets_by_a_step:
            self._counts.past -= int(np.count_nonzero(self._lengths == 0))
        self._returns += rewards
        if not np.any(ended):
            return
        for slot in np.flatnonzero(ended).tolist():
            told = _told(infos, slot)
            self._are_told |= told is not None
            if told is not None or not self._are_told:
                self._counts.end(slot, *(told or (self._returns[slot], int(self._lengths[slot]))))
            self._returns[slot], self._lengths[slot] = 0, -1 if self._resets_by_a_step else 0


def _told(infos: Any, slot: int) -> tuple[float, int] | None:
    """What RecordEpisodeStatistics, or the Monitor of Stable-Baselines3, says of a slot whose episode is over."""
    final = infos.get("final_info", infos) if isinstance(infos, dict) else infos  # type: ignore[reportUnknownMemberType]
    if final is None:
        return None
    if isinstance(final, dict):
        # Gymnasium 1.x: arrays over all slots, with a mask.
        known: dict[str, Any] = final
        if "episode" not in known or not known["_episode"][slot]:
            return None
        return float(known["episode"]["r"][slot]), int(known["episode"]["l"][slot])
    # Gymnasium 0.29 and Stable-Baselines3: a dict or None for each slot.
    episode: Any = (final[slot] or {}).get("episode")
    return None if episode is None else (np.asarray(episode["r"]).item(), np.asarray(episode["l"]).item())
