"""What a GPU computes again and again, recorded once and replayed: a CUDA graph, and inputs whose memory stays put.

    inputs = Inputs(device)
    update = Replayed(step, device, enabled=args.cuda_graph)
    losses = update(inputs.put(batch))        # step(batch); on a GPU, after a few calls, a graph of it

Small networks leave a GPU idle: Python needs longer to ask for a kernel than the kernel runs. A graph asks once for all
of them. On a CPU all of this is a plain call.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakSet

import numpy as np
import torch

from cleanrl_worker.sdk.graph_memory import Memory, Numbers, first_difference
from mosaic.errors import TrainingFailed
from mosaic.log import get_logger

Array = np.ndarray[Any, Any]
Tensors = Mapping[str, torch.Tensor]
Values = Mapping[str, Array | np.float32 | torch.Tensor]
Step = Callable[[Tensors], dict[str, torch.Tensor]]

WARM_UPS = 3
"""Calls before a graph is recorded; torch's libraries choose their kernels and allocate their memory in these."""
MOST_RECORDINGS = 8
"""Shapes that one function is recorded for; more means that its inputs move about."""
_ALIGNMENT_BYTES = 256

log = get_logger()


class Inputs:
    """Arrays on their way to the device: always into the same memory there, and all by one copy from pinned memory.

    What `put` returns is overwritten by the next `put` of the same names and shapes.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._places: dict[tuple[Any, ...], _Place] = {}

    def put(self, values: Values) -> dict[str, torch.Tensor]:
        """The same on the device. Tensors must be there already, and are copied to where they are expected."""
        if self._device.type == "cpu":
            return {name: torch.as_tensor(value) for name, value in values.items()}
        key = tuple((name, value.shape, value.dtype) for name, value in values.items())
        place = self._places.get(key)
        if place is None:
            place = self._places[key] = _Place(values, self._device)
        return place.take_in(values)


class _Place:
    def __init__(self, values: Values, device: torch.device) -> None:
        arrays = {name: value for name, value in values.items() if not isinstance(value, torch.Tensor)}
        offsets: dict[str, int] = {}
        size = 0
        for name, array in arrays.items():
            offsets[name] = size
            size += -(-array.nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES
        self._pinned = torch.empty(size, dtype=torch.uint8, pin_memory=True)
        self._arrived = torch.empty(size, dtype=torch.uint8, device=device)
        self._copied = torch.cuda.Event()
        self._sources: dict[str, Array] = {}
        self._tensors: dict[str, torch.Tensor] = {}
        self._outputs: dict[str, torch.Tensor] = {}
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                self._outputs[name] = self._tensors[name] = torch.empty_like(value)
                continue
            part = slice(offsets[name], offsets[name] + value.nbytes)
            self._sources[name] = self._pinned[part].numpy().view(value.dtype).reshape(value.shape)
            dtype = torch.from_numpy(np.empty(0, value.dtype)).dtype
            self._outputs[name] = self._arrived[part].view(dtype).view(value.shape)

    def take_in(self, values: Values) -> dict[str, torch.Tensor]:
        if self._sources:
            # The last copy may still be under way, behind work that the GPU has not done yet.
            self._copied.synchronize()
            for name, source in self._sources.items():
                source[...] = values[name]
            self._arrived.copy_(self._pinned, non_blocking=True)
            self._copied.record()
        for name, tensor in self._tensors.items():
            tensor.copy_(values[name])  # type: ignore[arg-type]
        return self._outputs


def compare_next_replays() -> None:
    """Let every graph be compared once more with what it was recorded from; a run asks for it at each checkpoint."""
    for replayed in _living:
        replayed.compare_next()


class Replayed:
    """A function of tensors, recorded as a CUDA graph after a few calls and replayed from then on.

    `step` must do the same for all inputs of the same shapes: no branch on a value, nothing read back to the CPU. The
    inputs must lie where they lay before (`Inputs`, or memory that its owner never allocates anew); a graph reads them
    there. Every call counts, also the first ones and the recorded one: nothing is trained twice. The tensors that it
    returns are overwritten by the next call.

    A graph holds the Python numbers that `step` read when it was recorded. One of them changed: it is recorded again;
    one that changes all the time belongs into the inputs, and until then the function is called as it is. What a
    number does not show, a comparison with a plain call does, at the first replay and after each checkpoint.
    """

    def __init__(self, step: Step, device: torch.device, *, enabled: bool) -> None:
        self._step = step
        self._enabled = enabled and device.type == "cuda"
        self._calls: dict[tuple[Any, ...], _Calls] = {}
        self._numbers: Numbers | None = None
        self._renewals = 0
        if self._enabled:
            _living.add(self)

    def __call__(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        if not self._enabled:
            return self._step(inputs)
        if self._numbers is not None and (changed := self._numbers.changed()):
            self._renew(f"{changed} changed")
            if not self._enabled:
                return self._step(inputs)
        place = tuple((tensor.data_ptr(), tensor.shape) for tensor in inputs.values())
        calls = self._calls.get(place)
        if calls is None:
            if len(self._calls) == MOST_RECORDINGS:
                raise AssertionError(f"the inputs of {self._step.__qualname__} move about: put them with Inputs")
            calls = self._calls[place] = _Calls(self._step)
        result = calls.make(inputs)
        if calls.recorded and self._numbers is None:
            self._numbers = Numbers(self._step)
        if calls.difference is not None:
            self._renew(calls.difference)
        return result

    def compare_next(self) -> None:
        for calls in self._calls.values():
            calls.compare_next()

    def _renew(self, reason: str) -> None:
        self._calls.clear()
        self._numbers = None
        self._renewals += 1
        if self._renewals < MOST_RECORDINGS:
            log.info("graph.renewed", step=self._step.__qualname__, reason=reason)
            return
        self._enabled = False
        tell(
            f"{self._step.__qualname__} is not replayed as a CUDA graph any more, because it changes all the time"
            f" ({reason}): training by plain calls, several times slower; hand such a number to it with its inputs"
        )


class _Calls:
    """The calls for inputs in one place: some plain ones, then replays of a graph."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._plain = 0
        self._warm_up_s = 0.0
        self._graph = torch.cuda.CUDAGraph()
        self._outputs: dict[str, torch.Tensor] | None = None
        self._compares = True
        self.difference: str | None = None
        """Between the last replay that was compared and a plain call."""

    @property
    def recorded(self) -> bool:
        return self._outputs is not None

    def compare_next(self) -> None:
        self._compares = True

    def make(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        if self._outputs is None:
            started = time.perf_counter()
            if self._plain < WARM_UPS:
                self._plain += 1
                result = self._aside(inputs)
                self._warm_up_s += time.perf_counter() - started
                return result
            self._outputs = self._record(inputs)
            record_s = time.perf_counter() - started
            name = self._step.__qualname__
            log.info("graph.recorded", step=name, warm_up_s=round(self._warm_up_s, 3), record_s=round(record_s, 3))
        if self._compares:
            self._compares = False
            return self._compared(inputs, self._outputs)
        self._graph.replay()
        return self._outputs

    def _compared(self, inputs: Tensors, outputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """A replay and a plain call from the same state; the plain call's result holds."""
        memory = Memory(self._step, without=(Inputs, Replayed))
        before, draws = memory.copy(), torch.cuda.get_rng_state()
        self._graph.replay()
        replayed = memory.copy() | {f"result {name}": tensor.clone() for name, tensor in outputs.items()}
        memory.put(before)
        torch.cuda.set_rng_state(draws)
        result = {name: tensor.clone() for name, tensor in self._aside(inputs).items()}
        plain = memory.copy() | {f"result {name}": tensor for name, tensor in result.items()}
        memory.put_gradients_back()
        self.difference = first_difference(plain, replayed, before)
        return result

    def _aside(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        # Not in the default stream: what is set up there cannot be recorded.
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            result = self._step(inputs)
        torch.cuda.current_stream().wait_stream(stream)
        torch.cuda.synchronize()
        return result

    def _record(self, inputs: Tensors) -> dict[str, torch.Tensor]:
        try:
            # Other threads (a checkpoint's) may use the GPU meanwhile.
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                return self._step(inputs)
        except RuntimeError as error:
            raise TrainingFailed(
                f"{self._step.__qualname__} could not be recorded as a CUDA graph ({error}); train with --no-cuda-graph"
            ) from error


def _to_the_log(message: str) -> None:
    log.warning("graph.given_up", reason=message)


tell: Callable[[str], None] = _to_the_log
"""Whom to tell what the user should know; a run puts itself here."""
_living: "WeakSet[Replayed]" = WeakSet()
