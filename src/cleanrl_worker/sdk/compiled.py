"""A function of tensors whose kernels torch.compile fuses on a GPU, compared with its definition.

    loss = Compiled(ppo_loss, device, enabled=args.compile)

At the first call, and after each checkpoint, the definition is called too: results and gradients must agree, else the
run says so and goes on by the definition. The same where there is no compiler. A call that is compared returns what the
others do, the result of the kernels: the curve must not depend on when that was.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast
from weakref import WeakSet

import torch
from torch import nn

from cleanrl_worker.sdk import graph
from mosaic.log import get_logger

TOLERANCE = 1e-3
"""Of the length of a result; fused kernels round elsewhere than those they stand for."""
FEW = 0.01
"""Share of the elements of a large result that may be others: where rounding decides between two actions."""
LARGE = 100
MODE = "default"
"""Of torch.compile."""

log = get_logger()


class Compiled:
    """Called like the function."""

    def __init__(self, function: Callable[..., Any], device: torch.device, *, enabled: bool) -> None:
        self._function = function
        self._fast = None
        if enabled and device.type == "cuda":
            self._fast = torch.compile(function, dynamic=False, mode=MODE)
        self._compares = True
        _living.add(self)

    def __call__(self, *args: Any) -> Any:
        if self._fast is None:
            return self._function(*args)
        if self._compares and not torch.cuda.is_current_stream_capturing():
            self._compares = False
            return self._compared(args)
        return self._fast(*args)

    def compare_next(self) -> None:
        self._compares = True

    def _compared(self, args: tuple[Any, ...]) -> Any:
        try:
            compiled, parameters = cast(Any, self._fast), list(_parameters(args))
            difference = _difference(self._function(*args), compiled(*args), parameters)
        except Exception as error:  # A border: whatever a compiler raises, the definition can be trained by.
            difference = f"torch.compile failed: {str(error).strip().splitlines()[0]}"
        if difference is not None:
            self._fast = None
            name = self._function.__name__
            graph.tell(f"{name} is not compiled ({difference}): training by its definition, with more kernels")
        # Anew: the comparison has used up what a gradient is computed from.
        return (self._fast or self._function)(*args)


def compare_next_calls() -> None:
    """Compare every compiled function once more; a run asks for it at each checkpoint."""
    for compiled in _living:
        compiled.compare_next()


def _difference(plain: Any, fast: Any, parameters: list[nn.Parameter]) -> str | None:
    pairs = zip(_tensors(plain), _tensors(fast), strict=True)
    for place, (one, other) in enumerate(pairs):
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"result {place} has another shape or type"
        if not _alike(one.detach(), other.detach()):
            return f"result {place} differs"
        # The loss; what is logged of it has no gradient.
        if one.requires_grad and place == 0:
            wanted = [torch.autograd.grad(each, parameters, allow_unused=True) for each in (one, other)]
            for first, second in zip(*wanted, strict=True):
                if (first is None) != (second is None):
                    return "a gradient is missing"
                if first is not None and not _alike(first, second):
                    return "a gradient differs"
    return None


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    first, second = one.double(), other.double()
    same = torch.isclose(first, second, rtol=TOLERANCE, atol=1e-6, equal_nan=True)
    if one.numel() >= LARGE and (~same).double().mean().item() <= FEW:
        return True
    return bool(same.all()) or bool((first - second).norm() <= TOLERANCE * first.norm() + 1e-6)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for part in cast("Mapping[str, Any]", value).values():
            yield from _tensors(part)
    elif isinstance(value, tuple | list):
        for part in cast("tuple[Any, ...]", value):
            yield from _tensors(part)


def _parameters(args: tuple[Any, ...]) -> Iterator[nn.Parameter]:
    for value in args:
        if isinstance(value, nn.Module):
            yield from value.parameters()


_living: "WeakSet[Compiled]" = WeakSet()
