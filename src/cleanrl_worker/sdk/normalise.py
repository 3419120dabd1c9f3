"""Running normalisers of observations and rewards: Gymnasium's wrappers for a whole vector of environments at once.

With one environment they give the numbers of `NormalizeObservation` and `NormalizeReward`, each followed by a clip to
±10; with more, all environments share one set of moments, as in Gymnasium's vector wrappers.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from cleanrl_worker.sdk.policy import MissingNormaliser, PolicyFile
from mosaic.errors import PolicyError

Array = np.ndarray[Any, Any]

EPSILON = 1e-8
LIMIT = 10.0


class Moments:
    """Mean and variance of everything seen, in float64, combined batch by batch (Chan's parallel formula)."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        # Shaped as a batch of one, because numpy takes twice as long where it must broadcast.
        self.mean: Array = np.zeros((1, *shape))
        self.var: Array = np.ones((1, *shape))
        self.count = 1e-4
        """As in Gymnasium: the first sample outweighs this prior ten thousand times."""

    def update(self, batch: Array) -> None:
        """Take in the rows of `batch`."""
        rows = len(batch)
        total = self.count + rows
        old, new = self.count / total, rows / total
        delta = (batch if rows == 1 else batch.mean(0, keepdims=True)) - self.mean
        change = delta * new
        self.mean += change
        change *= delta
        self.var += change
        self.var *= old
        if rows > 1:
            self.var += new * batch.var(0)
        self.count = total

    def state(self) -> dict[str, Any]:
        return {"mean": self.mean[0], "var": self.var[0], "count": self.count}

    def load(self, state: Mapping[str, Any]) -> None:
        self.mean[0], self.var[0], self.count = state["mean"], state["var"], float(state["count"])


class ObservationNormaliser(Moments):
    """Observations with zero mean and unit variance, clipped to ±10."""

    def first(self, obs: Array) -> Array:
        """What `envs.reset` returned, learnt from and normalised."""
        return self.next(obs, {})

    def next(self, obs: Array, infos: Mapping[str, Any]) -> Array:
        """What `envs.step` returned, learnt from and normalised.

        Where an episode ended, its last observation is learnt from before the first one of the next episode.
        """
        obs = obs.astype(np.float64)
        if infos:
            self.update(infos["final_obs"].astype(np.float64))
            self.update(obs[infos["_final_obs"]])
        else:
            self.update(obs)
        return self.apply(obs)

    def apply(self, obs: Array) -> Array:
        """Normalise without learning."""
        centred = obs - self.mean
        centred /= np.sqrt(self.var + EPSILON)
        return centred.clip(-LIMIT, LIMIT, centred)

    def in_torch(self, obs: torch.Tensor) -> torch.Tensor:
        """The same of a tensor."""
        mean, std = torch.from_numpy(self.mean.copy()), torch.from_numpy(np.sqrt(self.var + EPSILON))
        return ((obs.double() - mean) / std).clamp(-LIMIT, LIMIT)


class RunningNormaliser(ObservationNormaliser):
    """Learns from every observation that it normalises: for a policy whose own moments were not saved."""

    def apply(self, obs: Array) -> Array:
        self.update(obs.astype(np.float64))
        return super().apply(obs)

    def in_torch(self, obs: torch.Tensor) -> torch.Tensor:
        del obs
        raise PolicyError("it learns the moments of its observations while it plays, so nothing of it stands still")


def normaliser_of(file: PolicyFile) -> ObservationNormaliser:
    """The one that a policy was trained with. It is never made up: without it, the policy sees another world."""
    shape = file.observation_space.shape or ()
    if file.running_normaliser:
        return RunningNormaliser(shape)
    state = file.group("observation_normaliser")
    if not state:
        raise MissingNormaliser(
            f"'{file.algo}' normalises its observations, and the file does not hold the moments that it was trained"
            " with (upstream CleanRL keeps them in a wrapper and loses them); --normaliser running learns them again"
            " while it plays, as upstream's own evaluation does, and its first returns are lower for that"
        )
    normaliser = ObservationNormaliser(shape)
    normaliser.load(state)
    return normaliser


class RewardNormaliser(Moments):
    """Rewards divided by the running standard deviation of the discounted return, clipped to ±10.

    The mean stays, because shifting rewards would change the task. A return starts anew at a termination, not at a
    truncation, and takes the terminal reward with it (Gymnasium's convention).
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        super().__init__(())
        self.gamma = gamma
        self.returns: Array = np.zeros(num_envs)

    def rollout(self, rewards: Array, terminations: Array) -> Array:
        """Normalise a rollout of `steps` × `envs`, each step by the moments up to and including it."""
        steps, num_envs = rewards.shape
        returns = self._discounted(rewards, terminations)
        self.returns = returns[-1]
        # The moments after each step in one pass, from sums of deviations from the mean before the rollout.
        deviations = returns - self.mean
        counts = self.count + num_envs * np.arange(1, steps + 1)
        sums = deviations.sum(1).cumsum()
        squares = self.var * self.count + (deviations * deviations).sum(1).cumsum()
        variances = (squares - sums * sums / counts) / counts
        self.mean += sums[-1] / counts[-1]
        self.var[0], self.count = variances[-1], float(counts[-1])
        return (rewards / np.sqrt(variances + EPSILON)[:, None]).clip(-LIMIT, LIMIT)

    def _discounted(self, rewards: Array, terminations: Array) -> Array:
        """The return up to each step; in Python floats, which are quicker than arrays of a few environments."""
        columns: list[list[float]] = []
        carry: list[list[float]] = (self.gamma * (1.0 - terminations)).T.tolist()
        for running, column, decays in zip(self.returns.tolist(), rewards.T.tolist(), carry, strict=True):
            for step, decay in enumerate(decays):
                running = column[step] = running * decay + column[step]
            columns.append(column)
        return np.array(columns).T

    def state(self) -> dict[str, Any]:
        return super().state() | {"returns": self.returns}

    def load(self, state: Mapping[str, Any]) -> None:
        super().load(state)
        self.returns = state["returns"].copy()
