"""Histograms of weights and gradients: counted by the learner, written to `histograms.jsonl` by the recorder's thread.

The values are read from the parameters themselves, whose memory the fast paths share (`sdk/fast`): what is counted is
what trains at that moment, whichever path computes it.
"""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from cleanrl_worker.sdk.record.tensorboard_writer import TensorBoard
from mosaic.spec.events import Event
from mosaic.spec.files.histogram_file import (
    BINS,
    MOST_PARTS,
    DamagedRow,
    Histogram,
    HistogramRow,
    decode,
    encode,
    is_due,
)

MOST_VALUES = 2**16
"""Of a larger parameter every k-th value is looked at, so that a line costs the same whatever the network is."""

SMALLEST = 1e-30
"""Values that are no further apart count as equal: a bin of theirs would be narrower than a float32 can say."""

LARGEST = float(np.finfo(np.float32).max)
"""Values that are further apart are counted in double precision: their difference is none of a float32."""

Networks = nn.Module | Mapping[str, nn.Module]


class HistogramWriter:
    """A sink of the recorder that has lines of its own; without `every` it only counts updates."""

    def __init__(
        self, path: Path, every: int, *, complain: Callable[[str], object], board: TensorBoard | None = None
    ) -> None:
        self.every = every
        self.updates = 0
        """Of the networks, over all attempts; saved with each checkpoint."""
        self._path = path
        self._complain = complain
        self._board = board
        self._queue: deque[HistogramRow] = deque()
        self._writing = threading.Lock()
        self._is_open = True
        self._said_more = False

    def updated(self, networks: Networks, global_step: int) -> None:
        """The networks were updated once; the learner pays for the counting of those lines that are due."""
        self.updates += 1
        if self.every and is_due(self.updates, self.every) and self._is_open:
            self._queue.append(self._row(networks, global_step))

    def go_on(self, updates: int, global_step: int) -> None:
        """A checkpoint was loaded: what was written after it is void, and is written anew."""
        self.updates = updates
        if self._path.exists():
            with self._path.open("r+b") as file:
                file.truncate(_end_of_rows(self._path, global_step))

    def write(self, events: Sequence[Event]) -> None:  # noqa: ARG002 (the recorder calls its sinks with them)
        self._drain()

    def flush(self) -> None:
        """Put what was counted so far on disk. Not for the learner's thread."""
        self._drain(syncs=True)

    def close(self) -> None:
        self._drain(syncs=True)

    def end(self) -> None:
        """Before the last event, so that what is to be said stands before it."""
        if self.every and not self.updates:
            self._complain("no histograms were written: the algorithm shows none of its networks (run.histograms)")
        self._drain(syncs=True)

    def _drain(self, *, syncs: bool = False) -> None:
        with self._writing:
            rows = [self._queue.popleft() for _ in range(len(self._queue))]
            if not rows and not (syncs and self._path.exists() and self.every):
                return
            try:
                with self._path.open("ab", buffering=0) as file:
                    data = "".join(f"{encode(row)}\n" for row in rows).encode()
                    # An unbuffered write may be short when the disk fills up; the rest then raises.
                    while data:
                        data = data[file.write(data) :]
                    if syncs:
                        os.fsync(file.fileno())
            except OSError as error:
                # Looks only: the run goes on without them.
                self._is_open = False
                self._queue.clear()
                self._complain(f"no more histograms: {self._path.name} could not be written: {error}; the run goes on")
                return
            if self._board is not None:
                self._board.add_histograms(rows)

    def _row(self, networks: Networks, global_step: int) -> HistogramRow:
        named = {"": networks} if isinstance(networks, nn.Module) else networks
        parameters = {
            f"{prefix}.{name}" if prefix else name: parameter
            for prefix, network in named.items()
            for name, parameter in network.named_parameters()
            if parameter.requires_grad
        }
        if len(parameters) > MOST_PARTS and not self._said_more:
            self._said_more = True
            self._complain(f"histograms of the first {MOST_PARTS} of {len(parameters)} parameters are written")
        shown = dict(list(parameters.items())[:MOST_PARTS])
        return HistogramRow(
            global_step=global_step,
            update=self.updates,
            time=time.time(),
            weights={name: histogram(one) for name, one in shown.items()},
            gradients={name: histogram(one.grad) for name, one in shown.items() if one.grad is not None},
        )


def histogram(tensor: torch.Tensor) -> Histogram:
    """Of all values, or of every k-th where there are many."""
    count = tensor.numel()
    if not count:
        return Histogram(0, 0.0, 0.0, (), 0)
    values = _values(tensor.detach())
    low, high = float(np.minimum.reduce(values)), float(np.maximum.reduce(values))
    not_finite = 0
    if not math.isfinite(high - low):
        finite = values[np.isfinite(values)]
        not_finite = len(values) - len(finite)
        if not len(finite):
            return Histogram(count, 0.0, 0.0, (), not_finite)
        values, low, high = finite.astype(np.float64), float(finite.min()), float(finite.max())
    if not high - low > SMALLEST:
        return Histogram(count, low, high, (len(values),), not_finite)
    if high - low > LARGEST:
        values = values.astype(np.float64)
    places = ((values - low) * (BINS / (high - low))).astype(np.intp)
    counts = np.bincount(places, minlength=BINS)
    # The highest value lies on the upper edge of the last bin, and a rounded one beside it may, too.
    counts[BINS - 1] += counts[BINS:].sum()
    return Histogram(count, low, high, tuple(counts[:BINS].tolist()), not_finite)


def _values(tensor: torch.Tensor) -> "np.ndarray[Any, Any]":
    """In the order in memory: the flat parameters of a fast path are transposed views of it."""
    if tensor.device.type == "cpu" and tensor.dtype == torch.float32:
        flat = tensor.numpy().ravel(order="K")
        return flat if len(flat) <= MOST_VALUES else flat[:: -(-len(flat) // MOST_VALUES)]
    flat = tensor.reshape(-1)
    return flat[:: -(-len(flat) // MOST_VALUES)].float().cpu().numpy()


def _end_of_rows(path: Path, global_step: int) -> int:
    """Where the lines end that belong to the first so many steps; a torn last line and what is behind it do not."""
    end = 0
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            try:
                if decode(line).global_step > global_step:
                    break
            except DamagedRow:
                # It stays, as damage of other files does, unless what follows it is void.
                pass
            end += len(line)
    return end
