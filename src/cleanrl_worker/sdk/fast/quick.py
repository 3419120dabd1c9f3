"""A trained network as a function of arrays: by numpy where that gives the same outputs, else by torch."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.fast.differences import output_difference
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, UnknownNetwork
from cleanrl_worker.sdk.fast.networks.layer_norm_mlp import LayerNormMlp
from cleanrl_worker.sdk.fast.networks.mlp import Mlp

PROBES = 16
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Quick:
    """A function of arrays, and what torch computes for it: an export holds the latter."""

    of_arrays: Callable[..., Array]
    in_torch: Callable[..., torch.Tensor]

    def __call__(self, *inputs: Array) -> Array:
        return self.of_arrays(*inputs)


def quick(network: nn.Module) -> Quick:
    """Outputs (rows, k) for inputs (rows, features); the next call overwrites what numpy returned."""

    @torch.no_grad()
    def by_torch(inputs: Array) -> Array:
        return network(torch.as_tensor(inputs, dtype=torch.float32)).numpy()

    first = next((layer for layer in network.modules() if isinstance(layer, nn.Linear)), None)
    if first is None:
        return Quick(by_torch, network)
    try:
        same = copy.deepcopy(network)
        normed = any(isinstance(layer, nn.LayerNorm) for layer in network.modules())
        by_numpy = (LayerNormMlp if normed else Mlp)(FlatParameters(same), same, "").infer
    except UnknownNetwork:
        return Quick(by_torch, network)
    probes = np.random.default_rng(0).standard_normal((PROBES, first.in_features), dtype=np.float32)
    differs = output_difference(by_torch(probes), by_numpy(probes), "outputs")
    return Quick(by_torch if differs else by_numpy, network)


def by_hand_if_same(
    by_torch: Callable[..., torch.Tensor], by_hand: Callable[[], Callable[..., Array]], *widths: int
) -> Quick:
    """A function of arrays (rows, width), one for each of `widths`: from `by_hand`, if it gives the same as torch."""

    @torch.no_grad()
    def plainly(*inputs: Array) -> Array:
        return by_torch(*(torch.as_tensor(array, dtype=torch.float32) for array in inputs)).numpy()

    generator = np.random.default_rng(0)
    probes = [generator.standard_normal((PROBES, width), dtype=np.float32) for width in widths]
    try:
        fast = by_hand()
        differs = output_difference(plainly(*probes), fast(*probes), "outputs")
        return Quick(plainly if differs else fast, by_torch)
    except (UnknownNetwork, AttributeError, KeyError):
        # A layer or a buffer that was renamed or taken out.
        return Quick(plainly, by_torch)
