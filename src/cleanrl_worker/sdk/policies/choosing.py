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

Array = np.ndarray[Any, Any]
Outputs = Callable[[Array], Array]


def of_vectors(network: Outputs) -> Outputs:
    """Of a network that sees each observation as one vector."""
    return lambda observations: network(observations.reshape(len(observations), -1))


def of_pictures(network: Callable[[torch.Tensor], torch.Tensor]) -> Outputs:
    """Of a network in torch that sees the observations as they are."""

    @torch.no_grad()
    def outputs(observations: Array) -> Array:
        return network(torch.from_numpy(observations)).numpy()

    return outputs


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


class LikelyActions:
    """Takes the likeliest action; asked to explore, each with its probability."""

    def __init__(self, logits: Outputs) -> None:
        self.logits = logits

    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        logits = self.logits(observations)
        if not deterministic:
            logits = logits + gumbel(generator, logits.shape)
        return logits.argmax(1)


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


class SquashedActions:
    """Takes the actions that a squashed Gaussian policy draws with standard normal noise; without it, likeliest ones.

    `draw` turns observations and noise, a row each, into actions; `seen` is what becomes of the observations first.
    """

    def __init__(
        self,
        draw: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        space: gym.spaces.Box,
        seen: Outputs = lambda observations: observations,
    ) -> None:
        self.draw = draw
        self.space = space
        self.seen = seen

    @torch.no_grad()
    def act(self, observations: Array, generator: np.random.Generator, *, deterministic: bool) -> Array:
        rows = len(observations)
        noise = np.zeros((rows, int(np.prod(self.space.shape))), np.float32)
        if not deterministic:
            generator.standard_normal(out=noise, dtype=np.float32)
        obs = torch.as_tensor(self.seen(observations).reshape(rows, -1), dtype=torch.float32)
        return self.draw(obs, torch.from_numpy(noise)).numpy().reshape(rows, *self.space.shape)
