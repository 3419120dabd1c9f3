"""How trained networks choose actions: one class for each way in which several algorithms do so.

    EpsilonGreedy(of_vectors(quick(q_network.network)), args.end_e)
    LikelyActions(of_pictures(laid_out(agent, torch.device("cpu"))))

Each is given a function of a batch of observations, one row each.
"""

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from cleanrl_worker.sdk.fast.ppo_gradient import gumbel
from cleanrl_worker.sdk.fast.quick import Quick
from cleanrl_worker.sdk.normalise import ObservationNormaliser
from cleanrl_worker.sdk.policy import LikeliestActions
from mosaic.errors import PolicyError

Array = np.ndarray[Any, Any]
Outputs = Callable[[Array], Array]


def of_vectors(network: Outputs) -> Outputs:
    """Of a network that sees each observation as one vector."""

    def outputs(observations: Array) -> Array:
        return network(observations.reshape(len(observations), -1))

    def by_torch(observations: torch.Tensor) -> torch.Tensor:
        return torch_of(network)(as_vectors(observations))

    return Quick(outputs, by_torch)


def of_pictures(network: Callable[[torch.Tensor], torch.Tensor]) -> Outputs:
    """Of a network in torch that sees the observations as they are."""

    @torch.no_grad()
    def outputs(observations: Array) -> Array:
        return network(torch.from_numpy(observations)).numpy()

    return Quick(outputs, network)


def of_normalised(network: Outputs, normaliser: ObservationNormaliser) -> Outputs:
    """Of a network that sees normalised observations."""

    def outputs(observations: Array) -> Array:
        return network(normaliser.apply(observations))

    def by_torch(observations: torch.Tensor) -> torch.Tensor:
        return torch_of(network)(normaliser.in_torch(observations))

    return Quick(outputs, by_torch)


def torch_of(outputs: Outputs) -> Callable[..., torch.Tensor]:
    """What torch computes for them."""
    if not isinstance(outputs, Quick):
        raise PolicyError(
            "a function of its own stands between its network and its actions, of which torch knows nothing"
        )
    return outputs.in_torch


def as_vectors(observations: torch.Tensor) -> torch.Tensor:
    """Each observation as one vector of floats."""
    return observations.reshape(observations.shape[0], -1).float()


class EpsilonGreedy:
    """Takes the action worth most; asked to explore, a random one with the probability that training ended with."""

    def __init__(self, q_values: Outputs, epsilon: float) -> None:
        self.q_values = q_values
        self.epsilon = epsilon

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        q_values = self.q_values(observations)
        greedy = q_values.argmax(1)
        if deterministic:
            return greedy
        explores = generator.random(len(greedy)) < self.epsilon
        return np.where(explores, generator.integers(q_values.shape[1], size=len(greedy)), greedy)

    def in_torch(self) -> LikeliestActions:
        q_values = torch_of(self.q_values)

        def actions(observations: torch.Tensor) -> torch.Tensor:
            return q_values(observations).argmax(1)

        return LikeliestActions(actions)


class LikelyActions:
    """Takes the likeliest action; asked to explore, each with its probability."""

    def __init__(self, logits: Outputs) -> None:
        self.logits = logits

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        logits = self.logits(observations)
        if not deterministic:
            logits = logits + gumbel(generator, logits.shape)
        return logits.argmax(1)

    def in_torch(self) -> LikeliestActions:
        logits = torch_of(self.logits)

        def actions(observations: torch.Tensor) -> torch.Tensor:
            return logits(observations).argmax(1)

        return LikeliestActions(actions)


class NoisyActions:
    """Takes the actions of an actor, within their bounds; asked to explore, with normal noise of a spread."""

    def __init__(self, actions: Outputs, std: Array, space: gym.spaces.Box) -> None:
        self.actions = actions
        self.std = std
        self.space = space

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        actions = self.actions(observations)
        if not deterministic:
            actions = actions + self.std * generator.standard_normal(actions.shape, dtype=np.float32)
        return actions.reshape(-1, *self.space.shape).clip(self.space.low, self.space.high)

    def in_torch(self) -> LikeliestActions:
        numbers = torch_of(self.actions)

        def actions(observations: torch.Tensor) -> torch.Tensor:
            return within(self.space, numbers(observations))

        return LikeliestActions(actions)


class SquashedActions:
    """Takes the actions that a squashed Gaussian policy draws with standard normal noise; without it, likeliest ones.

    `draw` turns observations and noise, a row each, into actions; a `normaliser` sees the observations first.
    """

    def __init__(
        self,
        draw: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        space: gym.spaces.Box,
        normaliser: ObservationNormaliser | None = None,
    ) -> None:
        self.draw = draw
        self.space = space
        self.normaliser = normaliser

    @torch.no_grad()
    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        rows = len(observations)
        noise = np.zeros((rows, int(np.prod(self.space.shape))), np.float32)
        if not deterministic:
            generator.standard_normal(out=noise, dtype=np.float32)
        seen = observations if self.normaliser is None else self.normaliser.apply(observations)
        obs = torch.as_tensor(seen.reshape(rows, -1), dtype=torch.float32)
        return self.draw(obs, torch.from_numpy(noise)).numpy().reshape(rows, *self.space.shape)

    def in_torch(self) -> LikeliestActions:
        outputs = int(np.prod(self.space.shape))

        def actions(observations: torch.Tensor) -> torch.Tensor:
            seen = observations if self.normaliser is None else self.normaliser.in_torch(observations)
            obs = as_vectors(seen)
            return self.draw(obs, torch.zeros(obs.shape[0], outputs)).reshape(-1, *self.space.shape)

        return LikeliestActions(actions)


def within(space: gym.spaces.Box, actions: torch.Tensor) -> torch.Tensor:
    """Rows of numbers as actions of a space, within its bounds."""
    low, high = torch.from_numpy(space.low.copy()), torch.from_numpy(space.high.copy())
    return actions.reshape(-1, *space.shape).clamp(low, high)
