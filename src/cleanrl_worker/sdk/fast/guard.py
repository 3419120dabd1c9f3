"""The loss in an algorithm's file is what trains: its fast path is used only while it computes the same.

    learner = guarded(run, Learner(agent, args, run.device), lambda: FastLearner(agent, args))

`Learner` is the definition, plain torch in the algorithm's file. `FastLearner` has the same methods and the same maths,
written by hand. Both are asked, on the data of the run: at the first call of each method, at updates 16, 256, … and
after each checkpoint. Compared are what a method returns, the gradient of every parameter, the same gradient after its
clip, the way that the parameters go, the optimiser's moments, and the networks that follow. The first call is repeated
with shaken parameters, so that branches of a loss are taken that a young network does not reach, and with a gradient
made long and short, so that a clip is seen on both sides of its limit. Where a method differs the run warns and trains
by the definition from that call on.
"""

import copy
import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import numpy as np
import torch

from cleanrl_worker.sdk.fast.compare import (
    SMALLEST,
    TOLERANCE,
    Array,
    equal,
    output_difference,
    relative_change,
    step_difference,
)
from cleanrl_worker.sdk.fast.flat import FlatParameters, GradientWatch, UnknownNetwork, apart
from cleanrl_worker.sdk.fast.shadow import PlainCall, optimisers_of, parameters_of, unchanged
from mosaic.errors import TrainingFailed
from mosaic.log import get_logger

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
L = TypeVar("L")
log = get_logger()
NOT_COMPARED = frozenset({"state", "load"})


class Warns(Protocol):
    """What a guard needs of a run."""

    @property
    def device(self) -> torch.device: ...

    def warn(self, message: str) -> None: ...


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


def guarded(run: Warns, plain: L, fast: Callable[[], Fast]) -> L:
    """A learner that does what `plain` does; on a CPU by `fast`, for as long as both do the same."""
    if run.device.type != "cpu":
        return plain
    return cast(L, Guard(run, plain, fast))


class _Evaluation:
    """In the place of a run, for a policy: its user is told in the log."""

    device = torch.device("cpu")

    def warn(self, message: str) -> None:
        log.info("policy.by_the_loss", reason=message)


def guarded_policy(plain: L, fast: Callable[[], Fast]) -> L:
    """The same for a trained policy."""
    return cast(L, Guard(_Evaluation(), plain, fast))


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


class _Call(NamedTuple):
    """A call, and where the fast path stood before it."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    before: dict[str, Any]
    draws: torch.Tensor


class Guard:
    """Has the methods of the learner that trains at the moment."""

    def __init__(self, run: Warns, plain: Any, fast: Callable[[], Fast]) -> None:
        self._run = run
        self._plain = plain
        self._fast: Any = None
        self._by_the_loss: str | None = None
        """Why the definition trains, once it does."""
        self._counted: str | None = None
        """The first method that takes a step of an optimiser; its calls are counted."""
        self._calls = 0
        self._known: set[str] = set()
        """Methods that were compared in all settings."""
        self._methods: list[str] = []
        self._only_answers: set[str] = set()
        """Methods that were seen to change nothing on either path."""
        try:
            self._fast = fast()
            offered = public_methods(self._fast)
            self._methods = [name for name in public_methods(plain) if name in offered]
            self._refuse_strangers()
        except UnknownNetwork as error:
            self._train_by_the_loss(str(error))
        except (AttributeError, KeyError) as error:
            # A layer that was renamed or taken out.
            self._train_by_the_loss(f"it does not find {error}")
        else:
            self._compare_next_calls()

    def __setattr__(self, name: str, value: Any) -> None:
        """What a training loop sets is set on the learner that the loss reads it from."""
        if name.startswith("_"):
            object.__setattr__(self, name, value)
            return
        if self._by_the_loss is None and not hasattr(self._fast, name):
            self._hand_over(self._moments())
            self._train_by_the_loss(f"the fast path has no {name!r}")
        for learner in (self._plain, self._fast):
            if learner is not None:
                setattr(learner, name, value)

    def __getattr__(self, name: str) -> Any:
        """Anything but a compared method: the same of the learner that trains."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self._by_the_loss is None and not hasattr(self._fast, name) and hasattr(self._plain, name):
            self._hand_over(self._moments())
            self._train_by_the_loss(f"the fast path has no {name!r}")
        return getattr(self._plain if self._by_the_loss is not None else self._fast, name)

    def state(self) -> dict[str, Any]:
        if self._by_the_loss is not None:
            return {**self._plain.state(), "by_the_loss": self._by_the_loss}
        self._compare_next_calls()
        return self._fast.state()

    def load(self, state: dict[str, Any]) -> None:
        written_by_fast = "by_the_loss" not in state and "parameters" in state
        if self._by_the_loss is None and written_by_fast:
            self._fast.load(state)
        elif not written_by_fast:
            if self._by_the_loss is None:
                self._separate()
                self._train_by_the_loss(state.get("by_the_loss", "the checkpoint was written by the loss"))
            self._plain.load(state)
        else:
            raise TrainingFailed(
                f"the checkpoint was written by the fast path of {self._file}, which does not know the network any"
                f" more ({self._by_the_loss}): start a new run, or undo the change of the network"
            )

    # The comparison.

    def _compare_next_calls(self) -> None:
        for name in self._methods:
            self.__dict__[name] = self._compared(name)

    def _compared(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._compare(name, args, kwargs)

        return call

    def _compare(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if name in self._only_answers:
            draws = torch.get_rng_state()
            is_alike, result = self._answers_alike(name, args, kwargs)
            if is_alike:
                self._bind(name, counts=False)
                return result
            torch.set_rng_state(draws)
        call = _Call(name, args, kwargs, copy.deepcopy(self._fast.state()), torch.get_rng_state())
        trial = self._trial(call, AS_IT_IS)
        after, draws_after = copy.deepcopy(self._fast.state()), torch.get_rng_state()
        trials = [trial] if trial.difference is None else self._confirmed(call, AS_IT_IS, trial)
        if trials[-1].difference is None and trial.steps == 0 and equal(call.before, after):
            self._only_answers.add(name)
        if name not in self._known:
            self._known.add(name)
            for setting in FOR_STEPS if trial.steps else FOR_CHOICES if is_choice(trial.result) else FOR_NUMBERS:
                if trials[-1].difference is None:
                    varied = call._replace(args=flags_drawn_anew(args)) if setting.shake else call
                    trials = self._tried(varied, setting) or trials
        if trials[-1].difference is not None:
            return self._give_up(call, trials)
        self._fast.load(after)
        torch.set_rng_state(draws_after)
        self._bind(name, counts=trial.steps > 0)
        return trial.result

    def _tried(self, call: "_Call", setting: Setting) -> list[Trial]:
        """The call in a setting that is not the run's; none if two answers told enough."""
        self._rewind(call, setting)
        if call.name in self._only_answers:
            if self._answers_alike(call.name, call.args, call.kwargs)[0]:
                return []
            self._rewind(call, setting)
        trial = self._trial(call, setting)
        return [trial] if trial.difference is None else self._confirmed(call, setting, trial)

    def _answers_alike(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, Any]:
        """Whether both paths answer a call that changes nothing with the same, and the fast one's answer."""
        draws = torch.get_rng_state()
        wanted = copy.deepcopy(getattr(self._plain, name)(*copy.deepcopy(args), **copy.deepcopy(kwargs)))
        torch.set_rng_state(draws)
        try:
            result = getattr(self._fast, name)(*args, **kwargs)
        except Exception:  # A border: the whole trial, which comes next, says what failed.
            return False, None
        return output_difference(wanted, result, name) is None, result

    def _confirmed(self, call: "_Call", setting: Setting, first: Trial) -> list[Trial]:
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
            self._rewind(call, setting, jitter=jitter)
            trials.append(self._trial(call, setting, tolerance=tolerance))
            if trials[-1].difference is None:
                break
        return trials

    def _amplified(self, call: "_Call", setting: Setting) -> float:
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
        self, call: "_Call", setting: Setting, generator: np.random.Generator | None
    ) -> tuple[Any, list[GradientWatch]]:
        """The fast path's result and gradients; with a generator, after a change of last bits."""
        self._rewind(call, setting)
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

    def _rewind(self, call: "_Call", setting: Setting, *, jitter: int = 0) -> None:
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

    def _trial(self, call: "_Call", setting: Setting, *, tolerance: float = TOLERANCE) -> Trial:
        """Call both from the state of now; the fast one has gone on then."""
        flats = self._fast.flats
        values = [flat.values.copy() for flat in flats]
        moments = self._moments()
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
            difference = difference or plain.moments_difference(self._moments())
        return Trial(difference, result[0], sum(len(watch.steps) for watch in watches), fast_s, plain.seconds)

    def _call_fast(self, call: "_Call", setting: Setting) -> tuple[Any, list[GradientWatch], float]:
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

    def _bind(self, name: str, *, counts: bool) -> None:
        """Let the fast method work; the calls of one that learns are counted until the next comparison."""
        method = getattr(self._fast, name)
        if counts and self._counted in (None, name):
            self._counted = name
            method = self._counting(method)
        self.__dict__[name] = method

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._calls += 1
            if not is_power_of_sixteen(self._calls):
                return method(*args, **kwargs)
            self._compare_next_calls()
            assert self._counted is not None
            return getattr(self, self._counted)(*args, **kwargs)

        return call

    # The definition takes over.

    def _give_up(self, call: "_Call", trials: list[Trial]) -> Any:
        self._rewind(call, AS_IT_IS)
        self._hand_over(self._moments())
        times = [(trial.plain_s, trial.fast_s) for trial in trials if trial.fast_s > 0]
        slower = min(plain for plain, _ in times) / min(fast for _, fast in times) if times else 0.0
        difference = trials[0].difference
        assert difference is not None
        cost = f", about {slower:.0f} times slower" if slower >= 1.5 else ""
        self._train_by_the_loss(difference, cost)
        return getattr(self._plain, call.name)(*call.args, **call.kwargs)

    def _hand_over(self, moments: Mapping[int, Mapping[str, torch.Tensor]]) -> None:
        """Put the plain learner where the fast one stands."""
        self._separate()
        PlainCall.place(self._plain, moments)

    def _separate(self) -> None:
        for flat in self._fast.flats:
            for parameter in flat.parameters.values():
                parameter.data = parameter.data.clone(memory_format=torch.contiguous_format)
                parameter.grad = None

    def _moments(self) -> dict[int, dict[str, torch.Tensor]]:
        """By the identity of each parameter, as torch's optimisers keep them."""
        return {
            id(optimiser.flat.parameters[name]): values
            for optimiser in self._fast.optimisers
            for name, values in optimiser.moments().items()
        }

    def _train_by_the_loss(self, reason: str, cost: str = "") -> None:
        self._by_the_loss = reason
        for name in public_methods(self._plain):
            self.__dict__[name] = getattr(self._plain, name)
        self._run.warn(f"the loss of {self._file} differs from its fast path ({reason}): training by the loss{cost}")

    def _refuse_strangers(self) -> None:
        """A parameter or an argument that the fast path does not know."""
        for optimiser in optimisers_of(self._plain):
            for name in ("weight_decay", "amsgrad", "maximize"):
                if any(group.get(name) for group in optimiser.param_groups):
                    raise UnknownNetwork(f"the optimiser has {name}")
        known = {id(parameter) for flat in self._fast.flats for parameter in flat.parameters.values()}
        for name, parameter in parameters_of(self._plain):
            if id(parameter) not in known:
                raise UnknownNetwork(f"the fast path does not know the parameter {name}")
        for name in self._methods:
            wanted = list(inspect.signature(getattr(self._plain, name)).parameters)
            offered = list(inspect.signature(getattr(self._fast, name)).parameters)
            if wanted != offered:
                raise UnknownNetwork(f"{name} takes {', '.join(wanted)}; the fast path {', '.join(offered)}")

    @property
    def _file(self) -> str:
        module = sys.modules[type(self._plain).__module__]
        return Path(getattr(module, "__file__", None) or module.__name__).name


def is_choice(result: Any) -> bool:
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


def is_power_of_sixteen(number: int) -> bool:
    return not number & (number - 1) and number.bit_length() % 4 == 1 and number > 1


def public_methods(learner: Any) -> list[str]:
    """Those of its class that a training loop may call; `state` and `load` belong to the guard."""
    return [
        name
        for name, _ in inspect.getmembers(type(learner), inspect.isfunction)
        if not name.startswith("_") and name not in NOT_COMPARED
    ]
