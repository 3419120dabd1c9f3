"""A window that is looked at while three runs train: how long a turn of its event loop takes, and how its memory grows.

`python -m bench.soak` (OMP_NUM_THREADS=1) takes 2 minutes, `--minutes 60` an hour. A real daemon, three trainings
of eight environments each, the real window without a screen: all three selected, the live view with eight tiles above,
their charts and the log below; every few seconds another run or another tab comes to the front. Turns are processor
seconds of the window's own thread; memory is the resident set of the window's process, and its slope is that of a
straight line through the second half. Exit code 1 if a figure misses its target.
"""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from bench.calibration import unit_s
from mosaic.gui import app
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.tabs.live import LiveTab
from mosaic.rpc.client import Client
from mosaic.spec.run_dir import Home

RUNS, TILES = 3, 8
STEPS = 10**9
START_S, SETTLE_S, LOOK_S = 180.0, 10.0, 5.0
FRONT = ("Live view", "Overview", "Artifacts", "Play", "Table", "Live view")
MOST_TURN = 4.0
"""Times the piece of work, about 100 ms on a core of 2024."""
MOST_GROWTH_MB_H = 60.0


class Soak:
    def __init__(self, application: QApplication, opened: app.Opened) -> None:
        self._application, self._opened = application, opened
        self._process = psutil.Process()
        self.turns: list[float] = []
        self.memory: list[tuple[float, float]] = []
        """Hours since the beginning, and MB."""

    def turn(self) -> None:
        began = time.thread_time()
        self._application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 0)
        self.turns.append(time.thread_time() - began)
        time.sleep(0.002)

    def run_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()

    def until_it_is_live(self, run_ids: list[str]) -> None:
        live = self._opened.window.tabs["Live view"]
        assert isinstance(live, LiveTab)
        end = time.monotonic() + START_S
        while (picture := live.live.picture()) is None or len(picture.head.tiles) < TILES:
            if time.monotonic() > end:
                raise TimeoutError(f"no {TILES} tiles within {START_S:.0f} s: {live.live.reason}")
            self.turn()
            if self._opened.studio.current not in run_ids:
                self._opened.studio.select(run_ids)

    def look(self, minutes: float, run_ids: list[str]) -> None:
        """Another run or tab every few seconds."""
        began = time.monotonic()
        for title, first in zip(itertools.cycle(FRONT), itertools.cycle(range(RUNS)), strict=False):
            if time.monotonic() - began > 60 * minutes:
                return
            self._opened.studio.select(run_ids[first:] + run_ids[:first])
            self._opened.window.bench.bring_up(title)
            self.run_for(LOOK_S)
            self.memory.append(((time.monotonic() - began) / 3600, self._process.memory_info().rss / 2**20))


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__.partition("\n")[0])
    words.add_argument("--minutes", type=float, default=2.0)
    minutes: float = words.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        os.environ["MOSAIC_HOME"] = folder
        home = Home(Path(folder))
        # All three at once, however few cores there are.
        mosaic("daemon", "start", "--cpus", str(RUNS))
        with Client(home=home, start=False) as client:
            how = {"num_envs": TILES}
            runs = client.train("ppo", env_id="LunarLander-v3", total_timesteps=STEPS, seeds=(1, 2, 3), settings=how)
            run_ids = [run.run_id for run in runs]
            application = app.make_application()
            opened = app.open_window(application, home, DaemonLink(home))
            opened.window.resize(1600, 960)
            opened.window.show()
            opened.start()
            soak = Soak(application, opened)
            try:
                soak.until_it_is_live(run_ids)
                soak.run_for(SETTLE_S)
                # Each tab is made when it is first seen.
                for title in FRONT:
                    opened.window.bench.bring_up(title)
                    soak.run_for(1.0)
                soak.turns.clear()
                calibration_s = unit_s()
                soak.look(minutes, run_ids)
            finally:
                opened.close()
                for run_id in run_ids:
                    client.cancel(run_id)
                client.wait(*run_ids)
                mosaic("daemon", "stop")
    return report(soak, calibration_s)


def mosaic(*words: str) -> None:
    subprocess.run([Path(sys.executable).with_name("mosaic"), *words], check=True, stdout=subprocess.DEVNULL)


def report(soak: Soak, calibration_s: float) -> int:
    turns = 1e3 * np.array(soak.turns)
    half = np.array(soak.memory[len(soak.memory) // 2 :])
    slope = float(np.polyfit(half[:, 0], half[:, 1], 1)[0]) if len(half) > 2 else float("nan")
    first, last = soak.memory[0][1], soak.memory[-1][1]
    print(f"{len(turns):,} turns: 99.9 % under {np.quantile(turns, 0.999):.0f} ms, the longest {turns.max():.0f} ms")
    print(f"the piece of work {1e3 * calibration_s:.0f} ms; memory {first:.0f} MB, {last:.0f} MB at the end")
    longest = turns.max() / 1e3 / calibration_s
    figures = [("longest turn, times the piece of work", longest, MOST_TURN)]
    if soak.memory[-1][0] > 0.2:  # In a shorter time what is kept of three young runs still fills up.
        figures.append(("growth of the memory, MB an hour", slope, MOST_GROWTH_MB_H))
    else:
        print(f"growth of the memory, MB an hour: {slope:.0f} (too short a time to judge: --minutes 60)")
    for name, value, most in figures:
        print(f"{name:<44} {value:7.2f}  at most {most:.1f}  {'ok' if value <= most else 'MISSED'}")
    return 0 if all(value <= most for _, value, most in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
