"""torch's optimisers as the algorithms use them: their numbers where a CUDA graph can read them, saved and put back."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, cast

import torch
from torch import nn

_fused_adam = cast(Any, torch.ops.aten._fused_adam_.default)
"""The kernel behind `torch.optim.Adam(fused=True)`."""
_fused_adamw = cast(Any, torch.ops.aten._fused_adamw_.default)
"""The one behind `torch.optim.AdamW(fused=True)`: weights shrink beside the gradient, not through it."""


class LightOptimizer:
    """One of torch's optimisers on a CPU, with the same numbers, state and face.

    torch's own import its compiler when the first of them is made, which takes 1.5 s of a run's start.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, lr: float, eps: float) -> None:
        self.param_groups: list[dict[str, Any]] = [{"params": list(parameters), "lr": lr, "eps": eps}]
        self.state: dict[nn.Parameter, dict[str, torch.Tensor]] = {}

    @property
    def parameters(self) -> list[nn.Parameter]:
        return self.param_groups[0]["params"]

    def zero_grad(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def state_of(self, parameter: nn.Parameter) -> dict[str, torch.Tensor]:
        state = self.state.get(parameter)
        if state is None:
            state = self.state[parameter] = {
                "step": torch.zeros(()),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }
        return state


class Adam(LightOptimizer):
    """`torch.optim.Adam(fused=True)`, or AdamW where weights decay."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        *,
        lr: float,
        eps: float,
        beta1: float = 0.9,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, lr=lr, eps=eps)
        self.param_groups[0] |= {"betas": (beta1, 0.999), "weight_decay": weight_decay}

    @torch.no_grad()
    def step(self) -> None:
        parameters = [parameter for parameter in self.parameters if parameter.grad is not None]
        states = [self.state_of(parameter) for parameter in parameters]
        steps = [state["step"] for state in states]
        for step in steps:
            step += 1
        group = self.param_groups[0]
        kernel = _fused_adamw if group["weight_decay"] else _fused_adam
        kernel(
            parameters,
            [parameter.grad for parameter in parameters],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            steps,
            lr=group["lr"],
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            amsgrad=False,
            maximize=False,
        )


class RAdam(LightOptimizer):
    """`torch.optim.RAdam`."""

    @torch.no_grad()
    def step(self) -> None:
        beta1, beta2 = 0.9, 0.999
        longest = 2 / (1 - beta2) - 1
        for parameter in self.parameters:
            gradient = parameter.grad
            if gradient is None:
                continue
            state = self.state_of(parameter)
            state["step"] += 1
            step = float(state["step"])
            average = state["exp_avg"].lerp_(gradient, 1 - beta1)
            squares = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
            remaining = 1 - beta2**step
            length = longest - 2 * step * (1 - remaining) / remaining
            rate = self.param_groups[0]["lr"] / (1 - beta1**step)
            if length > 5:
                known = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
                rate *= math.sqrt(remaining * known)
                parameter.addcdiv_(average, squares.sqrt().add_(self.param_groups[0]["eps"]), value=-rate)
            else:
                parameter.add_(average, alpha=-rate)


Optimizer = LightOptimizer | torch.optim.Optimizer


def adam(module: nn.Module, *, learning_rate: float, eps: float = 1e-8, beta1: float = 0.9) -> Adam | torch.optim.Adam:
    """torch's fused Adam; on a GPU its step and learning rate are tensors, so that a graph can hold it."""
    if not next(module.parameters()).is_cuda:
        return Adam(module.parameters(), lr=learning_rate, eps=eps, beta1=beta1)
    rate = torch.tensor(learning_rate, device="cuda")
    betas = (beta1, 0.999)
    return torch.optim.Adam(module.parameters(), lr=rate, eps=eps, betas=betas, fused=True, capturable=True)


def adamw(module: nn.Module, *, learning_rate: float, weight_decay: float) -> Adam | torch.optim.AdamW:
    """torch's fused AdamW; on a GPU as above."""
    if not next(module.parameters()).is_cuda:
        return Adam(module.parameters(), lr=learning_rate, eps=1e-8, weight_decay=weight_decay)
    rate: Any = torch.tensor(learning_rate, device="cuda")
    return torch.optim.AdamW(
        module.parameters(), lr=rate, eps=1e-8, weight_decay=weight_decay, fused=True, capturable=True
    )


def radam(module: nn.Module, *, learning_rate: float) -> RAdam | torch.optim.RAdam:
    """torch's RAdam; on a GPU as above."""
    if not next(module.parameters()).is_cuda:
        return RAdam(module.parameters(), lr=learning_rate, eps=1e-8)
    rate: Any = torch.tensor(learning_rate, device="cuda")
    return torch.optim.RAdam(module.parameters(), lr=rate, capturable=True)


def set_learning_rate(optimizer: Optimizer, learning_rate: float | torch.Tensor) -> None:
    """As a tensor it may lie on the GPU, so that a graph reads it there."""
    for group in optimizer.param_groups:
        if isinstance(learning_rate, torch.Tensor):
            if isinstance(group["lr"], torch.Tensor):
                group["lr"].copy_(learning_rate)
            else:
                group["lr"] = float(learning_rate)
        elif not isinstance(group["lr"], torch.Tensor):
            group["lr"] = learning_rate
        elif group.get("lr_on_the_gpu") != learning_rate:
            # Only then: a kernel's launch takes as long as a part of a replayed step.
            group["lr"].fill_(learning_rate)
            group["lr_on_the_gpu"] = learning_rate


def optimizer_state(optimizer: Optimizer) -> dict[str, Any]:
    """The moments and steps of each parameter, in order."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state = optimizer.state
    return {"state": {index: state[one] for index, one in enumerate(parameters) if state.get(one)}}


def load_optimizer(optimizer: Optimizer, saved: Mapping[str, Any]) -> None:
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
