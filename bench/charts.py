"""What the Metrics tab costs while runs learn: 20 curves of 100,000 points that grow four times a second.

Drives the real tab with a studio that is fed by hand, without a screen. Prints the share of a core against 50 % and the
longest stall of the event loop, in time of the processor, against 100 ms (by the clock too, which other work on the
machine disturbs). Exit code 1 if a figure misses its target.
"""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QEventLoop, QTimer

from mosaic.gui.app import make_application
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch, NewPoints, Points
from mosaic.gui.models.daemon.news_feed import NewsFeed
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.theme import Theme
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

POINTS = 100_000
NEW_POINTS = 100
"""Of each curve, four times a second."""
FEED_MS = 250
SECONDS = 10.0
MOST_SHARE = 0.5
MOST_STALL_S = 0.1


@dataclass(frozen=True)
class Case:
    name: str
    runs: int
    tags: int
    seeds: str = "each"
    points: int = POINTS


CASES = (
    Case("20 runs in one chart", 20, 1),
    Case("5 runs in four charts", 5, 4),
    Case("20 seeds as an IQM with its band", 20, 1, "IQM"),
    Case("24 runs in nine charts", 24, 9),
    Case("100 runs of 5,000 points in nine charts", 100, 9, points=5000),
)


class Fed:
    """A studio with runs whose curves grow."""

    def __init__(self, home: Home, case: Case) -> None:
        link = DaemonLink(home)
        self.studio = Studio(home, NewsFeed(link), link)
        self._random = np.random.default_rng(1)
        self._tags = [f"bench/tag_{number}" for number in range(case.tags)]
        self._ids = [new_run_id() for _ in range(case.runs)]
        self._length = 0
        records = [
            RunRecord(run_id=run_id, algo="ppo", env_id="CartPole-v1", seed=seed, state=RunState.RUNNING, group="bench")
            for seed, run_id in enumerate(self._ids, start=1)
        ]
        self.studio.take(Batch(records=tuple(records)))
        self.studio.select(self._ids)

    def grow(self, count: int) -> None:
        steps = np.arange(self._length, self._length + count, dtype=float)
        self._length += count
        news = [
            NewPoints(run_id, {tag: self._points(steps, place) for tag in self._tags})
            for place, run_id in enumerate(self._ids)
        ]
        self.studio.take(Batch(points=tuple(news)))

    def _points(self, steps: "np.ndarray[tuple[int], np.dtype[np.float64]]", place: int) -> Points:
        values = np.sqrt(steps + 1) * (1 + place / 10) + self._random.normal(size=len(steps)) * 20
        return Points(steps, 1.7e9 + steps / 100, values)


def run_for(seconds: float) -> None:
    loop = QEventLoop()
    QTimer.singleShot(round(1000 * seconds), loop.quit)
    loop.exec()


def measure(theme: Theme, home: Home, case: Case) -> tuple[float, float]:
    """Share of a core and longest stall, in seconds of the processor, while the curves grow."""
    fed = Fed(home, case)
    tab = MetricsTab(fed.studio, theme)
    tab.resize(1030, 620)  # what a window of 1600×960 leaves for it
    tab.show()
    tab.controls.seeds.choose(case.seeds)
    fed.grow(case.points)
    run_for(3)
    feeding = QTimer(interval=FEED_MS)
    feeding.timeout.connect(lambda: fed.grow(NEW_POINTS))
    feeding.start()
    cpu, began = time.process_time(), time.perf_counter()
    run_for(SECONDS)
    share = (time.process_time() - cpu) / (time.perf_counter() - began)
    # Watched afterwards, because a timer of 2 ms costs something itself.
    ticks = [(time.thread_time(), time.perf_counter())]
    watching = QTimer(interval=2)
    watching.timeout.connect(lambda: ticks.append((time.thread_time(), time.perf_counter())))
    watching.start()
    run_for(SECONDS)
    feeding.stop()
    watching.stop()
    charts = [card.chart for card in tab.grid.cards() if card.chart is not None]
    shown = [chart.viewRange()[0][1] for chart in charts if chart.curves]
    assert len(shown) == len(tab.grid.seen()), "a chart was not drawn"
    assert min(shown) > case.points + 4 * SECONDS * NEW_POINTS, "a chart did not follow its data"
    tab.close()
    tab.deleteLater()
    stall_s, by_clock_s = np.diff(ticks, axis=0).max(axis=0).tolist()
    print(
        f"{case.name}: longest stall {1000 * by_clock_s:.0f} ms by the clock, load {os.getloadavg()[0]:.1f}", flush=True
    )
    return share, stall_s


def main() -> int:
    application = make_application()
    theme = Theme(application)
    rows: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        home = Home(Path(folder))
        home.create()
        for case in CASES:
            share, stall_s = measure(theme, home, case)
            rows += [
                (f"{case.name}, % of a core", 100 * share, 100 * MOST_SHARE),
                (f"{case.name}, longest stall, ms", 1000 * stall_s, 1000 * MOST_STALL_S),
            ]
            QCoreApplication.processEvents()
    for name, value, most in rows:
        print(f"{name:<56} {value:7.1f}  at most {most:.0f}  {'ok' if value <= most else 'MISSED'}")
    return 0 if all(value <= most for _, value, most in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
