"""A trained network as a function of arrays: by numpy where that gives the same outputs, else by torch."""

import copy
from collections.abc import Callable
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


def quick(network: nn.Module) -> Callable[[Array], Array]:
    """Outputs (rows, k) for inputs (rows, features); the next call overwrites what numpy returned."""

    @torch.no_grad()
    def by_torch(inputs: Array) -> Array:
        return network(torch.as_tensor(inputs, dtype=torch.float32)).numpy()

    first = next((layer for layer in network.modules() if isinstance(layer, nn.Linear)), None)
    if first is None:
        return by_torch
    try:
        same = copy.deepcopy(network)
        normed = any(isinstance(layer, nn.LayerNorm) for layer in network.modules())
        by_numpy = (LayerNormMlp if normed else Mlp)(FlatParameters(same), same, "").infer
    except UnknownNetwork:
        return by_torch
    probes = np.random.default_rng(0).standard_normal((PROBES, first.in_features), dtype=np.float32)
    return by_torch if output_difference(by_torch(probes), by_numpy(probes), "outputs") else by_numpy


def by_hand_if_same(
    by_torch: Callable[..., torch.Tensor], by_hand: Callable[[], Callable[..., Array]], *widths: int
) -> Callable[..., Array]:
    """A function of arrays (rows, width), one for each of `widths`: from `by_hand`, if it gives the same as torch."""

    @torch.no_grad()
    def plainly(*inputs: Array) -> Array:
        return by_torch(*(torch.as_tensor(array, dtype=torch.float32) for array in inputs)).numpy()

    generator = np.random.default_rng(0)
    probes = [generator.standard_normal((PROBES, width), dtype=np.float32) for width in widths]
    try:
        fast = by_hand()
        return plainly if output_difference(plainly(*probes), fast(*probes), "outputs") else fast
    except (UnknownNetwork, AttributeError, KeyError):
        # A layer or a buffer that was renamed or taken out.
        return plainly
