"""Processes that live beside each other, of which only one has its turn; the others are stopped (SIGSTOP), all threads.

So all see the same machine within seconds, and the ratio of two neighbouring turns says something on a busy one, too.
A process prints a JSON line for each piece of its work: `began` and `ended` by the machine's clock, `cpu_seconds` of
all its threads. Pieces that a stop cut do not count.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any


class InTurn:
    """A process that runs only within `turn`, once it is warm."""

    def __init__(self, words: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.started_at = time.time()
        self._said: list[dict[str, Any]] = []
        self._process = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
            stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pieces(self) -> list[dict[str, Any]]:
        return [one for one in list(self._said) if "began" in one]

    def said(self, name: str) -> Any:
        """The value of the one line that has this name."""
        return next(one[name] for one in self._said if name in one)

    def warm_up(self, pieces: int) -> None:
        """Let it make so many, then stop it."""
        while len(self.pieces) < pieces:
            if self._process.poll() is not None:
                raise RuntimeError(f"the process ended with {self._process.returncode}")
            time.sleep(0.05)
        self._process.send_signal(signal.SIGSTOP)

    def turn(self, seconds: float) -> tuple[float, float]:
        """Let it run, for longer until a piece is whole; what one took by the wall clock, and in processor time."""
        began = time.perf_counter()
        self._process.send_signal(signal.SIGCONT)
        time.sleep(seconds)
        # The clock is the machine's, the same in every process.
        while not (whole := [one for one in self.pieces if one["began"] >= began]):
            if self._process.poll() is not None:
                raise RuntimeError(f"the process ended with {self._process.returncode}")
            time.sleep(0.05)
        self._process.send_signal(signal.SIGSTOP)
        return mean(one["ended"] - one["began"] for one in whole), mean(one["cpu_seconds"] for one in whole)

    def wait(self) -> None:
        self._process.wait()
        self._reader.join()

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"{"):
                self._said.append(json.loads(line))


def ratios_of_turns(first: InTurn, second: InTurn, turns: int, turn_s: float) -> list[tuple[float, float]]:
    """What a piece of the first takes to what one of the second takes, of each pair of turns: wall clock, processor."""
    found: list[tuple[float, float]] = []
    for turn in range(turns):
        # Each goes first in turn: a drift hurts both.
        order = (first, second)[:: 1 if turn % 2 == 0 else -1]
        took = {process: process.turn(turn_s) for process in order}
        found.append((took[first][0] / took[second][0], took[first][1] / took[second][1]))
        print("turn {}: {:.3f} by the wall clock, {:.3f} by processor time".format(turn + 1, *found[-1]), flush=True)
    return found
