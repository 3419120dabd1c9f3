"""A network of the CPU path before whose inputs' last columns, an action mask, it stops."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.fast.networks.flat_parameters import Floats
from cleanrl_worker.sdk.fast.networks.mlp import Mlp


class WithoutMask:
    """The network on all columns but the last `masked`."""

    def __init__(self, network: Mlp, masked: int) -> None:
        self._network = network
        self._masked = masked

    def infer(self, x: NDArray[Any]) -> Floats:
        return self._network.infer(x[:, : -self._masked])

    def forward(self, x: NDArray[Any]) -> Floats:
        return self._network.forward(x[:, : -self._masked])

    def backward(self, grad_out: Floats) -> None:
        self._network.backward(grad_out)


class Masked(WithoutMask):
    """The same, whose outputs are logits: those whose column is 0 become `forbidden`, and get no gradient.

    A row of nothing but zeros, which is one after the end of an episode, forbids nothing.
    """

    def __init__(self, network: Mlp, masked: int, forbidden: float) -> None:
        super().__init__(network, masked)
        self._forbidden = np.float32(forbidden)
        self._allowed: NDArray[np.bool_] = np.ones((0, masked), np.bool_)

    def infer(self, x: NDArray[Any]) -> Floats:
        return np.where(self._mask(x), super().infer(x), self._forbidden)

    def forward(self, x: NDArray[Any]) -> Floats:
        self._allowed = self._mask(x)
        return np.where(self._allowed, super().forward(x), self._forbidden)

    def backward(self, grad_out: Floats) -> None:
        super().backward(grad_out * self._allowed)

    def _mask(self, x: NDArray[Any]) -> NDArray[np.bool_]:
        allowed = x[:, -self._masked :] > 0
        counts = np.add.reduce(allowed, axis=1)
        return allowed if counts.all() else allowed | (counts == 0)[:, None]
