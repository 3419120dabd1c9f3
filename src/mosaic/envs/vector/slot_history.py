"""Exact resume by replay: how a slot's episode began and what was done since, as plain values.

A slot of a snapshot is a dict of JSON values and numpy arrays:
    known         whether the rest below describes the episode; if not, resuming begins a fresh one
    seed          the seed that the reset was given, or None
    random        the environment's random state just before the reset, or None where the seed says it
    actions       (steps, *action shape): every action since then, in order
    wrappers      what those that keep something over episodes held before that reset (`envs.wrapping.kept_state`)
    soft_resets   how many actions had been made at each reset that did not reset the simulator (lost lives in Atari)
    obs           the last observation, to check the replay against
    length        steps of the running episode
    total         its return so far
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import gymnasium
import numpy as np

from mosaic.envs.family import Family, Step
from mosaic.envs.vector.batch import Batch
from mosaic.envs.wrapping import kept_state, raw_return
from mosaic.errors import CheckpointError

if TYPE_CHECKING:
    from numpy.typing import NDArray

AnyEnv = gymnasium.Env[Any, Any]

FORMAT = 1
LONGEST = 200_000
"""An episode longer than this is not recorded on (its replay would take minutes); resuming starts it anew."""


class FirstTouch(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Innermost wrapper that notes whether the simulator was first reset or first stepped since `first` was cleared.

    A wrapper may answer reset() without resetting the simulator (CleanRL's EpisodicLifeEnv makes one step instead);
    then the replay must begin at an earlier reset.
    """

    first: str | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self.first = self.first or "reset"
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.first = self.first or "step"
        return self.env.step(action)


class Beginning:
    """How one slot's episode began, and how to live it again.

    The actions since then are `prefix` (those that a restore replayed) and what the vector environment recorded from
    `start` on; `start` is None once the record was given up.
    """

    __slots__ = (
        "coming",
        "env",
        "family",
        "keeping",
        "kept",
        "prefix",
        "random",
        "raw",
        "seed",
        "soft_resets",
        "start",
        "touch",
    )

    def __init__(self, env: AnyEnv, family: Family) -> None:
        self.env = env
        self.family = family
        self.touch = raw_return.layer_of(env, FirstTouch)
        self.raw = raw_return.layer_of(env, raw_return.RawReturn)
        self.keeping = kept_state.layers(env)
        """Wrappers that may keep something over episodes."""
        self.kept: list[dict[str, Any]] = []
        """What they held before the reset."""
        self.seed: int | None = None
        self.random: dict[str, Any] | None = None
        self.start: int | None = None
        self.prefix: NDArray[Any] | None = None
        self.soft_resets: list[int] = []
        self.coming: deque[int] = deque()
        """Seeds of the next episodes; once they are used up, the environment goes on with its own generator."""

    def plan(self, seeds: Iterable[int]) -> None:
        """Seed each of the next episodes that begin without a seed of their own."""
        self.coming = deque(seeds)

    def reset(
        self, recorded: int, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environment and remember from what; `recorded` is how many actions the record holds."""
        planned = seed is None and bool(self.coming)
        if planned:
            seed = self.coming[0]
        random = None if seed is not None else self.family.random_state(self.env)
        kept = kept_state.capture(self.keeping)
        if self.touch is not None:
            self.touch.first = None
        obs, info = self.env.reset(seed=seed, options=options)
        if self.touch is None or self.touch.first == "reset":
            self.seed, self.random, self.start, self.prefix, self.soft_resets = seed, random, recorded, None, []
            self.kept = kept
            if planned:
                self.coming.popleft()
        elif self.start is not None:
            before = 0 if self.prefix is None else len(self.prefix)
            self.soft_resets.append(before + recorded - self.start)
        return obs, info

    def told(self, info: dict[str, Any]) -> dict[str, Any]:
        """The info of an episode's last step, with the raw return where rewards are shaped."""
        return info if self.raw is None else {**info, raw_return.KEY: self.raw.total}

    def snapshot(self, actions: "NDArray[Any]", obs: Any) -> dict[str, Any]:
        """The slot's part of a snapshot; `actions` are those recorded since `start`."""
        known = self.start is not None
        return {
            "known": known,
            "seed": self.seed if known else None,
            "random": self.random if known else self.family.random_state(self.env),
            "wrappers": self.kept if known else kept_state.capture(self.keeping),
            "actions": actions if self.prefix is None else np.concatenate([self.prefix, actions]),
            "soft_resets": list(self.soft_resets),
            "obs": obs,
        }

    def restore(self, slot: Mapping[str, Any], step: Step, batch: Batch) -> tuple[Any, bool]:
        """Live the episode of `slot` again; (observation, True), or (a fresh episode's first one, False)."""
        if slot["seed"] is None:
            # A generator must exist before its state can be set, and some environments make theirs at the first reset.
            # Not through the wrappers: one that knows lives would take the reset below for that of a lost life.
            self.env.unwrapped.reset(seed=0)
            self.family.set_random_state(self.env, slot["random"])
        # A snapshot of an earlier version has no wrappers that keep anything.
        kept = slot.get("wrappers", [])
        is_whole = kept_state.restore(self.keeping, kept)
        if slot["known"] and is_whole:
            row = batch.keep(batch.row(self._replay(slot, step)))
            if same(row, slot["obs"]):
                self.seed, self.random, self.start = slot["seed"], slot["random"], 0
                self.prefix, self.soft_resets, self.kept = slot["actions"], list(slot["soft_resets"]), kept
                return row, True
            kept_state.restore(self.keeping, kept)
        return batch.row(self.reset(0)[0]), False

    def _replay(self, slot: Mapping[str, Any], step: Step) -> Any:
        obs, _ = self.env.reset(seed=slot["seed"])
        soft = set(slot["soft_resets"])
        actions = slot["actions"]
        for made, action in enumerate(actions.tolist() if actions.ndim == 1 else actions):
            if made in soft:
                obs, _ = self.env.reset()
            obs = step(action)[0]
        return self.env.reset()[0] if len(actions) in soft else obs


def slots_of(snapshot: Mapping[str, Any], num_envs: int) -> list[dict[str, Any]]:
    """The slots of a snapshot, if it is one of ours and fits."""
    if snapshot.get("format") != FORMAT or len(snapshot["slots"]) != num_envs:
        raise CheckpointError(
            f"environment snapshot has format {snapshot.get('format')} and {len(snapshot.get('slots', ()))} slots; "
            f"this run needs format {FORMAT} and {num_envs}: resume with the settings that it was saved with"
        )
    return snapshot["slots"]


def same(one: Any, other: Any) -> bool:
    """Whether two observations are equal bit for bit (NaN equals NaN)."""
    if isinstance(one, dict):
        parts = cast("dict[str, Any]", one)
        return parts.keys() == other.keys() and all(same(part, other[key]) for key, part in parts.items())
    if isinstance(one, tuple | list):
        items = cast("Sequence[Any]", one)
        return len(items) == len(other) and all(map(same, items, other))
    if isinstance(one, str):
        return one == other
    return np.array_equal(one, other, equal_nan=np.asarray(one).dtype.kind == "f")
