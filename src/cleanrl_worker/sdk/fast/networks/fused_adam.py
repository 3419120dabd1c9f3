"""Adam in one pass of torch's fused kernel: half the time of `Adam` on vectors of ten thousand numbers and more."""

from collections.abc import Mapping
from typing import Any, cast

import torch

from cleanrl_worker.sdk.fast.networks.adam import clip, moments_of
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters

_fused_adam = cast(Any, torch.ops.aten._fused_adam_.default)
"""The kernel behind `torch.optim.Adam(fused=True)`; what torch wraps around it takes as long again."""


class FusedAdam:
    """`torch.optim.Adam` without weight decay on one flat vector, without the optimiser's bookkeeping."""

    def __init__(self, flat: FlatParameters, *, eps: float = 1e-8, betas: tuple[float, float] = (0.9, 0.999)) -> None:
        self.flat = flat
        self._eps = eps
        self._beta1, self._beta2 = betas
        self._values, self._gradient = torch.from_numpy(flat.values), torch.from_numpy(flat.gradient)
        self._state = {
            "steps": torch.zeros(()),
            "exp_avg": torch.zeros_like(self._values),
            "exp_avg_sq": torch.zeros_like(self._values),
        }

    def step(self, learning_rate: float, *, max_norm: float | None = None) -> None:
        """Move the values against the flat gradient, which is first scaled down to `max_norm`."""
        clip(self.flat, max_norm)
        steps = self._state["steps"]
        steps += 1
        _fused_adam(
            [self._values],
            [self._gradient],
            [self._state["exp_avg"]],
            [self._state["exp_avg_sq"]],
            [],
            [steps],
            lr=learning_rate,
            beta1=self._beta1,
            beta2=self._beta2,
            weight_decay=0.0,
            eps=self._eps,
            amsgrad=False,
            maximize=False,
        )

    def moments(self) -> dict[str, dict[str, torch.Tensor]]:
        """The state of torch's Adam for each parameter; empty before the first step."""
        averages = {name: self._state[name].numpy() for name in ("exp_avg", "exp_avg_sq")}
        return moments_of(self.flat, int(self._state["steps"]), **averages)

    def state(self) -> dict[str, Any]:
        """A copy of all that `load` needs to go on bit for bit."""
        return {name: tensor.numpy().copy() for name, tensor in self._state.items()}

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from a `state()` of a network with as many parameters."""
        for name, tensor in self._state.items():
            tensor.copy_(torch.as_tensor(state[name]).reshape(tensor.shape))
