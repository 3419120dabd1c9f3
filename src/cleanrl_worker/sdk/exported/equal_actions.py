"""Whether an exported policy does what the policy does, in its environment."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from cleanrl_worker.sdk.policies.fitting_environment import make_fitting
from cleanrl_worker.sdk.policy import Policy, PolicyFile, RecurrentPolicy
from mosaic.errors import MosaicError, PolicyError

ROWS = 4
STEPS = 250
FEW = 0.005
"""Share of choices that may differ: where two are worth the same, the last bits decide."""
CLOSE = 1e-4
"""Of an action's number, or of 1 where that is larger."""
Array = np.ndarray[Any, Any]
Actions = Callable[[Array, Array], Array]
"""Of observations, and of which rows begin an episode: the actions."""


@dataclass(frozen=True)
class Compared:
    """What came of it."""

    observations: int
    different: int
    largest: float
    """Difference of two numbers of an action; 0 for choices."""
    where: str

    def __str__(self) -> str:
        same = f"{self.observations - self.different:,} of {self.observations:,} actions"
        close = f", the largest difference {self.largest:.1e}" if self.largest else ""
        return f"{same} are those of the policy ({self.where}{close})"


def compare(file: PolicyFile, policy: Policy, exported: Actions, *, steps: int = STEPS) -> Compared:
    """PolicyError where they differ by more than the last bits."""
    try:
        vector: Any = make_fitting(file, ROWS)
    except MosaicError as error:
        where = f"observations drawn from its space, because {error}"
        found = _compared(file, policy, exported, _drawn(file.observation_space, steps), where)
    else:
        with closing(vector):
            found = _compared(file, policy, exported, _played(vector, steps), f"played in {file.env_id}")
    if found.different > FEW * found.observations:
        raise PolicyError(f"the export of '{file.algo}' does something else and was not kept: only {found}")
    return found


Play = Iterator[tuple[Array, Array]]


def _compared(file: PolicyFile, policy: Policy, exported: Actions, play: Any, where: str) -> Compared:
    generator, observations, different, largest = np.random.default_rng(0), 0, 0, 0.0
    acted: Array | None = None
    while True:
        try:
            obs, begins = play.send(acted)
        except StopIteration:
            return Compared(observations, different, largest, where)
        if isinstance(policy, RecurrentPolicy):
            policy.forget(begins)
        # A copy: a quick policy hands out the same memory again.
        acted = np.array(policy.act(obs, generator, deterministic=True))
        other = exported(obs, begins)
        observations += len(obs)
        if acted.shape != other.shape:
            raise PolicyError(f"the export of '{file.algo}' gives actions of shape {other.shape}, not {acted.shape}")
        off = np.abs(acted.astype(np.float64) - other).reshape(len(obs), -1)
        if isinstance(file.action_space, gym.spaces.Box):
            largest = max(largest, float(off.max()))
            off = off > CLOSE * np.maximum(1.0, np.abs(acted.astype(np.float64))).reshape(off.shape)
        different += int(off.any(1).sum())


def _played(vector: Any, steps: int) -> Any:
    """Observations and which rows begin an episode; takes actions."""
    obs, _ = vector.reset(seed=1)
    begins = np.ones(ROWS, np.bool_)
    for _ in range(steps):
        actions = yield np.array(obs), begins
        obs, _, terminations, truncations, _ = vector.step(actions)
        begins = terminations | truncations


def _drawn(space: gym.Space[Any], steps: int) -> Any:
    space.seed(1)
    begins = np.ones(ROWS, np.bool_)
    for _ in range(steps):
        yield np.stack([space.sample() for _ in range(ROWS)]), begins
        begins = np.zeros(ROWS, np.bool_)
