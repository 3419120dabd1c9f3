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
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, TypeVar, cast

import torch

from cleanrl_worker.sdk.fast.differences import equal
from cleanrl_worker.sdk.fast.networks.flat_parameters import UnknownNetwork
from cleanrl_worker.sdk.fast.shadow import PlainCall, optimisers_of, parameters_of
from cleanrl_worker.sdk.fast.trials import (
    AS_IT_IS,
    FOR_CHOICES,
    FOR_NUMBERS,
    FOR_STEPS,
    BothPaths,
    Call,
    Fast,
    Trial,
    flags_drawn_anew,
    is_choice,
)
from mosaic.errors import TrainingFailed
from mosaic.log import get_logger

L = TypeVar("L")
log = get_logger()
NOT_COMPARED = frozenset({"state", "load"})


class Warns(Protocol):
    """What a guard needs of a run."""

    @property
    def device(self) -> torch.device: ...

    def warn(self, message: str) -> None: ...


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


class CallCount:
    """How often the method that learns was called; an object of its own, because it is counted in the training loop."""

    __slots__ = ("calls", "next_compared")

    def __init__(self) -> None:
        self.calls = 0
        self.next_compared = 16


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
        self._count = CallCount()
        self._known: set[str] = set()
        """Methods that were compared in all settings."""
        self._methods: list[str] = []
        try:
            self._fast = fast()
            self._paths = BothPaths(plain, self._fast)
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
            self._hand_over(self._paths.moments())
            self._train_by_the_loss(f"the fast path has no {name!r}")
        for learner in (self._plain, self._fast):
            if learner is not None:
                setattr(learner, name, value)

    def __getattr__(self, name: str) -> Any:
        """Anything but a compared method: the same of the learner that trains."""
        if name.startswith("_"):
            raise AttributeError(name)
        if self._by_the_loss is None and not hasattr(self._fast, name) and hasattr(self._plain, name):
            self._hand_over(self._paths.moments())
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
        if name in self._paths.only_answers:
            draws = torch.get_rng_state()
            is_alike, result = self._paths.answers_alike(name, args, kwargs)
            if is_alike:
                self._bind(name, counts=False)
                return result
            torch.set_rng_state(draws)
        call = Call(name, args, kwargs, copy.deepcopy(self._fast.state()), torch.get_rng_state())
        trial = self._paths.trial(call, AS_IT_IS)
        after, draws_after = copy.deepcopy(self._fast.state()), torch.get_rng_state()
        gradients = [flat.gradient.copy() for flat in self._fast.flats]
        trials = [trial] if trial.difference is None else self._paths.confirmed(call, AS_IT_IS, trial)
        if trials[-1].difference is None and trial.steps == 0 and equal(call.before, after):
            self._paths.only_answers.add(name)
        if name not in self._known:
            self._known.add(name)
            for setting in FOR_STEPS if trial.steps else FOR_CHOICES if is_choice(trial.result) else FOR_NUMBERS:
                if trials[-1].difference is None:
                    varied = call._replace(args=flags_drawn_anew(args)) if setting.shake else call
                    trials = self._paths.tried(varied, setting) or trials
        if trials[-1].difference is not None:
            return self._give_up(call, trials)
        self._fast.load(after)
        # No part of the state, and looked at all the same: histograms show those of the run, not of a trial.
        for flat, gradient in zip(self._fast.flats, gradients, strict=True):
            flat.gradient[:] = gradient
        torch.set_rng_state(draws_after)
        self._bind(name, counts=trial.steps > 0)
        return trial.result

    def _bind(self, name: str, *, counts: bool) -> None:
        """Let the fast method work; the calls of one that learns are counted until the next comparison."""
        method = getattr(self._fast, name)
        if counts and self._counted in (None, name):
            self._counted = name
            method = self._counting(method)
        self.__dict__[name] = method

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        count = self._count

        def call(*args: Any, **kwargs: Any) -> Any:
            count.calls += 1
            if count.calls < count.next_compared:
                return method(*args, **kwargs)
            count.next_compared *= 16
            self._compare_next_calls()
            assert self._counted is not None
            return getattr(self, self._counted)(*args, **kwargs)

        return call

    # The definition takes over.

    def _give_up(self, call: Call, trials: list[Trial]) -> Any:
        self._paths.rewind(call, AS_IT_IS)
        self._hand_over(self._paths.moments())
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


def public_methods(learner: Any) -> list[str]:
    """Those of its class that a training loop may call; `state` and `load` belong to the guard."""
    return [
        name
        for name, _ in inspect.getmembers(type(learner), inspect.isfunction)
        if not name.startswith("_") and name not in NOT_COMPARED
    ]
