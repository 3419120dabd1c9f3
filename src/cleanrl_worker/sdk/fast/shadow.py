"""One call of a plain learner beside its fast path: from the same state, stepping by the same gradients."""

import copy
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.fast.differences import Array, gradient_difference
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, Floats, GradientWatch
from cleanrl_worker.sdk.optimizer import LightOptimizer

Moments = Mapping[int, Mapping[str, torch.Tensor]]


def parts_of(learner: Any, wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The attributes of a learner that are wanted, also one level down in its dictionaries and lists."""
    for name, value in vars(learner).items():
        if wanted(value):
            yield name, value
        elif isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value).items()
            yield from ((f"{name}.{key}", item) for key, item in items if wanted(item))
        elif isinstance(value, (list, tuple)):
            items = enumerate(cast("Sequence[Any]", value))
            yield from ((f"{name}.{place}", item) for place, item in items if wanted(item))


def parameters_of(learner: Any) -> Iterator[tuple[str, nn.Parameter]]:
    """All that its networks have or its optimisers move."""
    for prefix, module in parts_of(learner, lambda value: isinstance(value, nn.Module)):
        yield from ((f"{prefix}.{name}", parameter) for name, parameter in module.named_parameters())
    for optimiser in optimisers_of(learner):
        yield from (("of an optimiser", parameter) for parameter in moved_by(optimiser))


def optimisers_of(learner: Any) -> list[Any]:
    found = parts_of(learner, lambda value: hasattr(value, "param_groups") and hasattr(value, "step"))
    return [optimiser for _, optimiser in found]


def moved_by(optimiser: Any) -> list[nn.Parameter]:
    return [parameter for group in optimiser.param_groups for parameter in group["params"]]


def keeps_moments_of_adam(optimiser: Any) -> bool:
    """Any other optimiser begins anew."""
    kinds = (LightOptimizer, torch.optim.Adam, torch.optim.RAdam, torch.optim.NAdam)
    return isinstance(optimiser, kinds) and not any(group.get("amsgrad") for group in optimiser.param_groups)


@contextmanager
def unchanged(learner: Any) -> Generator[None]:
    """Put back, in the end, what a learner notes beside its networks and optimisers: counters, means, losses."""
    kinds = (bool, int, float, np.ndarray, torch.Tensor, dict, list, tuple)
    noted = {
        name: copy.deepcopy(value)
        for name, value in vars(learner).items()
        if isinstance(value, kinds) and not _holds_machinery(value)
    }
    try:
        yield
    finally:
        vars(learner).update(noted)


def _holds_machinery(value: Any) -> bool:
    """Whether it is a collection of networks or optimisers, which have their own way back."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return any(isinstance(part, nn.Module) or hasattr(part, "param_groups") for part in parts)  # type: ignore[misc]


class GradientParts(NamedTuple):
    """A GradientStep, each vector cut into its parameters."""

    raw: Mapping[str, Array]
    given: Mapping[str, Array]
    clipped: Mapping[str, Array]


class PlainCall:
    """A call of `plain` whose parameters have memory of their own (`apart`), while it lasts."""

    def __init__(
        self,
        plain: Any,
        flats: Sequence[FlatParameters],
        values: Sequence[Floats],
        moments: Moments,
        watches: Sequence[GradientWatch],
        *,
        forced: bool,
        tolerance: float,
    ) -> None:
        self._plain = plain
        self._flats = flats
        self._forced = forced
        self._tolerance = tolerance
        self._place_of = {
            id(parameter): (place, name)
            for place, flat in enumerate(flats)
            for name, parameter in flat.parameters.items()
        }
        self._fast_steps = [
            [GradientParts(*(flat.parts(vector) for vector in step)) for step in watch.steps]
            for flat, watch in zip(flats, watches, strict=True)
        ]
        self._steps_done = [0] * len(flats)
        self._own_raw: dict[int, Array] = {}
        self._difference: str | None = None
        self.seconds = 0.0
        for flat, start in zip(flats, values, strict=True):
            for name, part in flat.parts(start).items():
                flat.parameters[name].data.copy_(torch.from_numpy(part))
        self.place(plain, moments)

    @staticmethod
    def place(plain: Any, moments: Moments) -> None:
        """Give the plain learner's optimisers the moments of the fast learner's."""
        for optimiser in optimisers_of(plain):
            optimiser.state.clear()
            for parameter in moved_by(optimiser) if keeps_moments_of_adam(optimiser) else ():
                if id(parameter) in moments:
                    state = {name: value.clone() for name, value in moments[id(parameter)].items()}
                    optimiser.state[parameter] = state

    def make(self, name: str, args: Any, kwargs: Any) -> tuple[Any, str | None]:
        """What it returned with the losses that it noted, and the first gradient that differs."""
        with ExitStack() as undo:
            for flat in self._flats:
                for parameter in flat.parameters.values():
                    if parameter.requires_grad:
                        undo.callback(parameter.register_post_accumulate_grad_hook(self._gradient_came).remove)
            for optimiser in optimisers_of(self._plain):
                undo.enter_context(self._stepping(optimiser))
            started = time.thread_time()
            result = getattr(self._plain, name)(*args, **kwargs)
            self.seconds = time.thread_time() - started
        taken = [len(steps) for steps in self._fast_steps]
        if self._difference is None and self._steps_done != taken:
            self._difference = f"{name} takes {sum(self._steps_done)} steps of the optimisers, not {sum(taken)}"
        return (result, getattr(self._plain, "losses", None)), self._difference

    def moments_difference(self, fast: Moments) -> str | None:
        """Of the optimisers, after the call."""
        for optimiser in optimisers_of(self._plain):
            own: dict[str, dict[str, Array]] = {}
            theirs: dict[str, dict[str, Array]] = {}
            for parameter in moved_by(optimiser):
                name = self._place_of[id(parameter)][1]
                kept, others = optimiser.state.get(parameter, {}), fast.get(id(parameter), {})
                if kept.keys() != others.keys():
                    return f"the optimiser of {name} keeps {', '.join(kept) or 'nothing'}"
                for moment, value in kept.items():
                    own.setdefault(moment, {})[name] = np.asarray(value)
                    theirs.setdefault(moment, {})[name] = np.asarray(others[moment])
            for moment, values in own.items():
                if found := gradient_difference(
                    values, theirs[moment], moment, tolerance=self._tolerance, smallest=1e-30
                ):
                    return found
        return None

    @contextmanager
    def _stepping(self, optimiser: Any) -> Generator[None]:
        own_step = optimiser.step

        def step(*args: Any, **kwargs: Any) -> Any:
            self._before_step(optimiser)
            return own_step(*args, **kwargs)

        optimiser.step = step
        try:
            yield
        finally:
            del optimiser.step

    def _gradient_came(self, parameter: torch.Tensor) -> None:
        assert parameter.grad is not None
        self._own_raw[id(parameter)] = parameter.grad.numpy().copy()
        place, name = self._place_of[id(parameter)]
        step = self._steps_done[place]
        if self._forced and step < len(self._fast_steps[place]):
            parameter.grad.copy_(torch.from_numpy(self._fast_steps[place][step].given[name]))

    def _before_step(self, optimiser: Any) -> None:
        """Compare the gradients of the fast path's step, and put them in the place of these."""
        parameters = moved_by(optimiser)
        for place in sorted({self._place_of[id(one)][0] for one in parameters}):
            step = self._steps_done[place]
            self._steps_done[place] += 1
            if step < len(self._fast_steps[place]):
                mine = {self._place_of[id(one)][1]: one for one in parameters if self._place_of[id(one)][0] == place}
                self._compare_step(mine, self._fast_steps[place][step])

    def _compare_step(self, parameters: Mapping[str, nn.Parameter], fast: "GradientParts") -> None:
        own_raw = {
            name: self._own_raw.get(id(one), np.zeros(tuple(one.shape), np.float32)) for name, one in parameters.items()
        }
        own = {
            name: np.zeros(tuple(one.shape), np.float32) if one.grad is None else one.grad.numpy()
            for name, one in parameters.items()
        }
        found = gradient_difference(own_raw, fast.raw, "gradient", tolerance=self._tolerance)
        found = found or gradient_difference(own, fast.clipped, "clipped gradient", tolerance=self._tolerance)
        self._difference = self._difference or found
        for name, one in parameters.items():
            one.grad = torch.from_numpy(fast.clipped[name].copy())
