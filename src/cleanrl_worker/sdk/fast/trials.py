"""One call on both paths, the plain learner's and the fast learner's, in settings that show more of the maths."""

import copy
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import torch

from cleanrl_worker.sdk.fast.differences import (
    SMALLEST,
    TOLERANCE,
    Array,
    equal,
    output_difference,
    relative_change,
    step_difference,
)
from cleanrl_worker.sdk.fast.networks.flat_parameters import FlatParameters, GradientWatch, apart
from cleanrl_worker.sdk.fast.shadow import PlainCall, unchanged

JITTERS = 2
"""A difference must be there at slightly other weights too: two branches of a loss may tie within rounding."""
JITTER = 1e-3
LAST_BITS = 3e-7
"""Change of a weight that is as good as none: a product of matrices in another order does as much."""
DISTURBANCES = 3
AMPLIFIED = 10
"""Times the largest effect of such changes, two paths may differ."""
MOST_TOLERANCE = 0.5
"""Of a vector's length: what may differ by more is nothing but rounding."""


class Optimiser(Protocol):
    """One optimiser of a fast path."""

    @property
    def flat(self) -> FlatParameters: ...

    def moments(self) -> dict[str, dict[str, torch.Tensor]]: ...


class Fast(Protocol):
    """What a fast path offers beside the learner's own methods."""

    @property
    def flats(self) -> Sequence[FlatParameters]: ...

    @property
    def optimisers(self) -> Sequence[Optimiser]: ...

    def state(self) -> dict[str, Any]: ...

    def load(self, state: dict[str, Any]) -> None: ...


class Setting(NamedTuple):
    """How a call is made on both paths: as it is, or changed so that more of the maths is seen."""

    norm: float | None = None
    """Length that the gradient is given, whatever the loss says."""
    shake: float = 0.0
    """Size of the noise that is added to all parameters."""
    seed: int = 0
    scale: float = 1.0
    """Factor of all parameters."""


AS_IT_IS = Setting()
FOR_NUMBERS = tuple(Setting(shake=0.5, seed=seed) for seed in (3, 4, 6))
"""Not the first seeds: with those, torch's first number is positive three times."""
FOR_CHOICES = tuple(Setting(shake=0.5, seed=seed) for seed in range(8))
"""Actions are whole numbers: only on weights of many kinds do they show what they are chosen by."""
FOR_STEPS = (Setting(norm=1e3, shake=0.1), *FOR_NUMBERS[:2], Setting(norm=1e-3, scale=0.25))
"""The last is a calm network, which saturates nowhere: there no result hangs on a last bit."""


class Trial(NamedTuple):
    """One call on both paths."""

    difference: str | None
    result: Any
    """What the fast path returned."""
    steps: int
    """Steps that its optimisers took."""
    fast_s: float
    plain_s: float
    fails: bool = False
    """The fast path raised an error."""


class Call(NamedTuple):
    """A call, and where the fast path stood before it."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    before: dict[str, Any]
    draws: torch.Tensor


class BothPaths:
    """A plain learner and its fast path, which hold the same parameters in the same memory."""

    def __init__(self, plain: Any, fast: Any) -> None:
        self._plain = plain
        self._fast = fast
        self.only_answers: set[str] = set()
        """Methods that were seen to change nothing on either path."""

    def tried(self, call: Call, setting: Setting) -> list[Trial]:
        """The call in a setting that is not the run's; none if two answers told enough."""
        self.rewind(call, setting)
        if call.name in self.only_answers:
            if self.answers_alike(call.name, call.args, call.kwargs)[0]:
                return []
            self.rewind(call, setting)
        trial = self.trial(call, setting)
        return [trial] if trial.difference is None else self.confirmed(call, setting, trial)

    def answers_alike(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
        """Whether both paths answer a call that changes nothing with the same, and the answer of the fast path."""
        draws = torch.get_rng_state()
        wanted = copy.deepcopy(getattr(self._plain, name)(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
        torch.set_rng_state(draws)
        try:
            result = getattr(self._fast, name)(*args, **kwargs)
        except Exception:  # A border: the whole trial, which comes next, says what failed.
            return False, None
        return output_difference(wanted, result, name) is None, result

    def confirmed(self, call: Call, setting: Setting, first: Trial) -> list[Trial]:
        """The trial again, also at slightly other weights, for as long as the paths differ there too.

        Results that hang on the last bit of a weight anyway are compared less closely, or tell nothing.
        """
        trials = [first]
        if first.fails:
            return trials
        tolerance = max(TOLERANCE, AMPLIFIED * self._amplified(call, setting))
        if tolerance > MOST_TOLERANCE:
            return [first, first._replace(difference=None)]
        for jitter in range(0 if tolerance > TOLERANCE else 1, JITTERS + 1):
            self.rewind(call, setting, jitter=jitter)
            trials.append(self.trial(call, setting, tolerance=tolerance))
            if trials[-1].difference is None:
                break
        return trials

    def _amplified(self, call: Call, setting: Setting) -> float:
        """How much the results and gradients of the fast path change if its weights do so in their last bits."""
        result, watches = self._disturbed(call, setting, None)
        changes: list[float] = []
        for seed in range(DISTURBANCES):
            other, others = self._disturbed(call, setting, np.random.default_rng(seed))
            changes.append(relative_change(result, other, floor=SMALLEST))
            for flat, watch, second in zip(self._fast.flats, watches, others, strict=True):
                pairs = zip(watch.steps, second.steps, strict=False)
                changes += [relative_change(flat.parts(step.raw), flat.parts(again.raw)) for step, again in pairs]
        return max(changes)

    def _disturbed(
        self, call: Call, setting: Setting, generator: np.random.Generator | None
    ) -> tuple[Any, list[GradientWatch]]:
        """The fast path's result and gradients; with a generator, after a change of last bits."""
        self.rewind(call, setting)
        if generator is not None:
            for flat in self._fast.flats:
                noise = generator.standard_normal(flat.values.size, dtype=np.float32)
                flat.values *= 1 + np.float32(LAST_BITS) * noise
        self._disturb(generator)
        try:
            return self._call_fast(call, setting)[:2]
        finally:
            self._disturb(None)

    def _disturb(self, generator: np.random.Generator | None) -> None:
        """Let a fast path that has other weak places disturb the last bits there."""
        if hasattr(self._fast, "disturb"):
            self._fast.disturb(generator)

    def rewind(self, call: Call, setting: Setting, *, jitter: int = 0) -> None:
        """Put the fast path where it stood before the call, with the weights that a setting wants."""
        self._fast.load(copy.deepcopy(call.before))
        if setting.shake:
            torch.default_generator.manual_seed(setting.seed)
        else:
            torch.set_rng_state(call.draws)
        for place, flat in enumerate(self._fast.flats):
            size = flat.values.size
            flat.values *= np.float32(setting.scale)
            # Each network in another way: a target begins as a copy, and the two must not be mistaken for each other.
            if setting.shake:
                noise = np.random.default_rng((setting.seed, place)).standard_normal(size, dtype=np.float32)
                flat.values += np.float32(setting.shake) * noise
            if jitter:
                noise = np.random.default_rng((jitter, place)).standard_normal(size, dtype=np.float32)
                flat.values *= 1 + np.float32(JITTER) * noise

    def trial(self, call: Call, setting: Setting, *, tolerance: float = TOLERANCE) -> Trial:
        """Call both from the state of now; the fast one has gone on then."""
        flats = self._fast.flats
        values = [flat.values.copy() for flat in flats]
        moments = self.moments()
        draws = torch.get_rng_state()
        try:
            result, watches, fast_s = self._call_fast(call, setting)
        except Exception as error:  # A border: a file may hand over what the fast path does not take.
            return Trial(f"it fails: {error}", None, 0, 0.0, 0.0, fails=True)
        torch.set_rng_state(draws)
        args, kwargs = copy.deepcopy(call.args), copy.deepcopy(call.kwargs)
        with apart(flats), unchanged(self._plain):
            forced = setting.norm is not None
            plain = PlainCall(self._plain, flats, values, moments, watches, forced=forced, tolerance=tolerance)
            plain_result, difference = plain.make(call.name, args, kwargs)
            if not equal(args, call.args):
                difference = difference or f"{call.name} changes what it is given"
            difference = difference or output_difference(
                plain_result, result, f"result of {call.name}:", tolerance=tolerance
            )
            difference = difference or self._moved_differently(values, tolerance)
            difference = difference or plain.moments_difference(self.moments())
        return Trial(difference, result[0], sum(len(watch.steps) for watch in watches), fast_s, plain.seconds)

    def _call_fast(self, call: Call, setting: Setting) -> tuple[Any, list[GradientWatch], float]:
        """What it returned with the losses that it noted, its gradients, and the seconds that it took."""
        flats = self._fast.flats
        watches = [GradientWatch(setting.norm) for _ in flats]
        for flat, watch in zip(flats, watches, strict=True):
            flat.watch = watch
        try:
            started = time.thread_time()
            result = getattr(self._fast, call.name)(*call.args, **call.kwargs)
            seconds = time.thread_time() - started
        finally:
            for flat in flats:
                flat.watch = None
        return copy.deepcopy((result, getattr(self._fast, "losses", None))), watches, seconds

    def _moved_differently(self, before: list[Array], tolerance: float) -> str | None:
        for flat, start in zip(self._fast.flats, before, strict=True):
            starts, ends = flat.parts(start), flat.parts(flat.values)
            for name, parameter in flat.parameters.items():
                end = parameter.detach().numpy()
                found = step_difference(starts[name], end, ends[name], f"step of {name}", tolerance=tolerance)
                if found:
                    return found
        return None

    def moments(self) -> dict[int, dict[str, torch.Tensor]]:
        """By the identity of each parameter, as torch's optimisers keep them."""
        return {
            id(optimiser.flat.parameters[name]): values
            for optimiser in self._fast.optimisers
            for name, values in optimiser.moments().items()
        }


def is_choice(result: Any) -> bool:
    """Whether actions are among the results."""
    if isinstance(result, tuple):
        return any(is_choice(part) for part in cast("tuple[Any, ...]", result))
    if isinstance(result, torch.Tensor):
        return not result.is_floating_point()
    return isinstance(result, np.ndarray) and cast(Array, result).dtype.kind in "iub"


def flags_drawn_anew(values: Any) -> Any:
    """Arrays of nothing but 0.0 and 1.0 in a nest of tuples, with other such: no episode may have ended yet."""
    if isinstance(values, tuple):
        drawn = [flags_drawn_anew(value) for value in cast("tuple[Any, ...]", values)]
        return type(values)(*drawn) if hasattr(values, "_fields") else tuple(drawn)
    if isinstance(values, np.ndarray):
        array = cast(Array, values)
        if array.dtype.kind == "f" and ((array == 0) | (array == 1)).all():
            return np.random.default_rng(0).integers(0, 2, array.shape).astype(array.dtype)
        return array
    return values
