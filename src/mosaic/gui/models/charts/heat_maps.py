"""Histograms of a run's weights and gradients as heat maps: fetched piece by piece, and laid on one scale of values."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import MosaicError, UnsafePath
from mosaic.gui.models.charts.chart_options import XAxis
from mosaic.gui.models.charts.series import Column
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.rpc.client import Client
from mosaic.spec.files.histogram_file import BINS, MAX_FILE_BYTES, Histogram, HistogramRow, rows_of

FILE = "histograms.jsonl"
AGAIN_S = 5.0
"""Histograms of a run that goes on are asked for no more often."""
INNER = 0.005
"""Share of the values at either end of a histogram that may lie beyond the scale."""
Group: TypeAlias = Literal["weights", "gradients"]
Shares: TypeAlias = NDArray[np.float64]


class HistogramsOfRun:
    """Those of one run at a time; what has been read is not asked for again."""

    def __init__(self, link: DaemonLink, came: Callable[[], object]) -> None:
        self._link, self._came = link, came
        self.run_id = ""
        self.rows: list[HistogramRow] = []
        self.damaged = 0
        """Lines that are left out."""
        self._attempt = 0
        self._read = 0
        """Bytes of whole lines."""
        self._asking = False
        self._asked_at = -AGAIN_S
        self._maps: dict[tuple[Group, str], HeatMap] = {}

    def look_at(self, run_id: str, attempt: int) -> None:
        """Of this run; another attempt may have cut off lines and written others."""
        if (run_id, attempt) != (self.run_id, self._attempt):
            self.run_id, self._attempt = run_id, attempt
            self.rows, self.damaged, self._read, self._asked_at = [], 0, 0, -AGAIN_S
            self._maps = {}

    def want(self, *, now: float, grows: bool) -> None:
        """Ask for what has been written since, if the run goes on or was not asked about yet."""
        is_first = self._asked_at < 0
        if self._asking or not self.run_id or self._link.state != "connected" or self._read >= MAX_FILE_BYTES:
            return
        if not is_first and not (grows and now - self._asked_at >= AGAIN_S):
            return
        self._asking, self._asked_at = True, now
        run_id, attempt, offset = self.run_id, self._attempt, self._read

        def ask(client: Client) -> tuple[list[HistogramRow], int, int]:
            data = bytearray()
            for chunk in client.read_artifact(run_id, FILE, offset=offset):
                data += chunk
                if offset + len(data) >= MAX_FILE_BYTES:
                    break
            whole = bytes(data[: data.rfind(b"\n") + 1])
            return *rows_of(whole.split(b"\n")[:-1]), len(whole)

        def done(found: tuple[list[HistogramRow], int, int]) -> None:
            self._asking = False
            rows, damaged, read = found
            if (run_id, attempt) != (self.run_id, self._attempt):
                return
            self._read += read
            self.rows += rows
            self.damaged += damaged
            if rows or damaged:
                self._maps = {}
                self._came()

        def failed(error: MosaicError) -> None:
            # Without the flag a run has no such file. Anything else says the status bar.
            self._asking = False
            if not isinstance(error, UnsafePath) and (run_id, attempt) == (self.run_id, self._attempt):
                self._asked_at = -AGAIN_S if is_first else now

        self._link.call(ask, done, failed)

    def names(self, group: Group) -> list[str]:
        """Parameters of which there are histograms, in the order of the network."""
        return list(dict.fromkeys(name for row in self.rows for name in getattr(row, group)))

    def heat_map(self, group: Group, name: str) -> "HeatMap":
        key = (group, name)
        if key not in self._maps:
            found = [(row, parts[name]) for row in self.rows if name in (parts := getattr(row, group))]
            self._maps[key] = HeatMap(name, [row for row, _ in found], [one for _, one in found])
        return self._maps[key]


@dataclass(frozen=True)
class Cell:
    """What lies under the mouse or the cursor."""

    row: HistogramRow
    histogram: Histogram
    low: float
    high: float
    share: float
    """Of the values between the two, 0 to 1."""


class HeatMap:
    """The histograms of one parameter, in order of time."""

    def __init__(self, name: str, rows: Sequence[HistogramRow], histograms: Sequence[Histogram]) -> None:
        self.name = name
        self.rows, self.histograms = rows, histograms

    def x_of(self, axis: XAxis, began: float) -> Column:
        """Where each histogram begins; it holds until the next one."""
        if axis == "step":
            return np.array([row.global_step for row in self.rows], dtype=np.float64)
        times = np.array([row.time for row in self.rows], dtype=np.float64)
        return np.maximum.accumulate(times - began if axis == "relative" else times) if len(times) else times

    @cached_property
    def _sums(self) -> tuple[Column, Column, Shares]:
        """Lowest and highest value of each histogram, and the share of its values up to each edge of its bins."""
        lows = np.array([one.low for one in self.histograms])
        highs = np.array([one.high for one in self.histograms])
        counts = np.zeros((len(self.histograms), BINS))
        for at, one in enumerate(self.histograms):
            if len(one.counts) == BINS:
                counts[at] = one.counts
            elif len(one.counts):
                # All values are equal: a bin of no width.
                counts[at, BINS // 2] = sum(one.counts)
        sums = np.concatenate([np.zeros((len(counts), 1)), counts.cumsum(axis=1)], axis=1)
        return lows, highs, sums / np.maximum(sums[:, -1:], 1)

    @cached_property
    def scale(self) -> tuple[float, float]:
        """Values from which to which the map goes: all but the outermost of each histogram have room."""
        lows, highs, sums = self._sums
        seen = sums[:, -1] > 0
        if not seen.any():
            return -0.5, 0.5
        lows, highs, sums = lows[seen], highs[seen], sums[seen]
        width = (highs - lows) / BINS
        low = float((lows + width * np.maximum((sums <= INNER).sum(axis=1) - 1, 0)).min())
        high = float((lows + width * np.minimum((sums < 1 - INNER).sum(axis=1), BINS)).max())
        if not high > low:
            room = max(abs(low) * 0.05, 1e-6)
            return low - room, high + room
        return low, high

    def shares(self, chosen: NDArray[np.intp], cells: int) -> Shares:
        """Of these histograms, the share of the values in each of so many cells of the scale, lowest first."""
        lows, highs, sums = (part[chosen] for part in self._sums)
        low, high = self.scale
        edges = np.linspace(low, high, cells + 1)
        # One value alone gets the width of a cell, so that it is seen.
        width = np.maximum(highs - lows, (high - low) / cells)
        begin = np.where(highs > lows, lows, lows - width / 2)
        at = np.clip((edges - begin[:, None]) / width[:, None] * BINS, 0, BINS)
        left = np.minimum(at.astype(np.intp), BINS - 1)
        lines = np.arange(len(at))[:, None]
        before, after = sums[lines, left], sums[lines, left + 1]
        return np.diff(before + (after - before) * (at - left), axis=1)

    @staticmethod
    def rows_at(x: Column, edges: Column) -> NDArray[np.intp]:
        """Which histogram holds at each x."""
        return (np.searchsorted(edges, x, side="right") - 1).clip(0, max(len(edges) - 1, 0))

    def cell(self, row: int, low: float, high: float) -> Cell:
        lows, highs, sums = self._sums
        edges = np.linspace(float(lows[row]), float(highs[row]), BINS + 1)
        if highs[row] <= lows[row]:
            share = 1.0 if low <= lows[row] <= high else 0.0
        else:
            of_row: list[float] = sums[row].tolist()
            bounds = np.interp(np.array([low, high]), edges, np.array(of_row)).tolist()
            share = bounds[1] - bounds[0]
        return Cell(self.rows[row], self.histograms[row], low, high, share)
