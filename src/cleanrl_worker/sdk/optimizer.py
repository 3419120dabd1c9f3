"""torch's optimisers as the algorithms use them: their numbers where a CUDA graph can read them, saved and put back."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn


def adam(module: nn.Module, *, learning_rate: float, eps: float = 1e-8) -> torch.optim.Adam:
    """torch's fused Adam; on a GPU its step and learning rate are tensors, so that a graph can hold it."""
    on_gpu = next(module.parameters()).is_cuda
    rate = torch.tensor(learning_rate, device="cuda") if on_gpu else learning_rate
    return torch.optim.Adam(module.parameters(), lr=rate, eps=eps, fused=True, capturable=on_gpu)


def radam(module: nn.Module, *, learning_rate: float) -> torch.optim.RAdam:
    """torch's RAdam; on a GPU as above."""
    on_gpu = next(module.parameters()).is_cuda
    rate: Any = torch.tensor(learning_rate, device="cuda") if on_gpu else learning_rate
    return torch.optim.RAdam(module.parameters(), lr=rate, capturable=on_gpu)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    for group in optimizer.param_groups:
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate


def optimizer_state(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """The moments and steps of each parameter, in order."""
    return {"state": optimizer.state_dict()["state"]}


def load_optimizer(optimizer: torch.optim.Optimizer, saved: Mapping[str, Any]) -> None:
    """Go on from an `optimizer_state`, each tensor in the layout of its parameter, which the fused kernel takes for
    granted; torch's own load_state_dict keeps the layout of the file.
    """
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for index, values in saved["state"].items():
        parameter = parameters[int(index)]
        optimizer.state[parameter] = {name: _like(parameter, value) for name, value in values.items()}


def _like(parameter: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    if value.dim() == 0:
        return value.clone().to(parameter.device if parameter.is_cuda else "cpu")
    return torch.empty_like(parameter).copy_(value)
