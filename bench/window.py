"""How much work the window is: until it is there, and between two turns of its event loop (`make bench-live`).

All figures are ratios. The start is held against a bare Qt window in the same interpreter; work between two turns of
the event loop, in which nothing is painted and no key is heard, against a fixed piece of work (bench/calibration.py,
about 25 ms on a core of 2024). Exit code 1 if a figure misses its target.
"""

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import gc
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from bench.calibration import unit_s
from bench.first_minute import WINDOW, started_s
from mosaic.gui import app
from mosaic.gui.models.daemon.curves_listener import PIECE_ROWS
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.daemon.news import Batch, NewPoints, Points
from mosaic.gui.models.daemon.news_feed import PAGE
from mosaic.gui.models.table.run_table_model import Arrangement
from mosaic.run_table import fetched_values
from mosaic.run_table.fetched_values import RunValues
from mosaic.run_table.table_rows import Summary
from mosaic.spec.run_dir import Home, new_run_id
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

STARTS = 5
BARE = """
import json, time
import numpy, grpc
from PySide6.QtWidgets import QApplication, QMainWindow
application = QApplication([])
window = QMainWindow()
window.show()
application.processEvents()
print(json.dumps(time.process_time()))
"""
MOST_START = 8.0
"""Times a bare window."""
MOST_TURN = 4.0
"""Times the piece of work."""
MOST_BY_CASE = {"a_table_of_ten_thousand_runs": 3.0}
"""The table must not be felt: 50 ms."""
FETCHED = 250
"""Runs whose values come at once."""
RUNS, TAGS = 10_000, 500


class Turns:
    """The longest turn of the event loop, in processor seconds of the GUI thread."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self.longest_s = 0.0

    def turn(self, does: Callable[[], object] = lambda: None) -> None:
        began = time.thread_time()
        does()
        self._application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 0)
        self.longest_s = max(self.longest_s, time.thread_time() - began)

    def settle(self, seconds: float = 0.6) -> None:
        """Timers of the models have their turn."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.turn()
            time.sleep(0.002)


def record(number: int) -> RunRecord:
    return RunRecord(
        run_id=new_run_id(),
        algo="ppo",
        env_id=f"Env{number % 7}-v0",
        state=RunState.FINISHED,
        last_return=float(number % 500),
        group=f"g{number // 5}",
        seed=number % 5 + 1,
        sparkline=tuple(float(value) for value in range(40)),
    )


def ten_thousand_runs(turns: Turns, opened: app.Opened) -> None:
    opened.garbage.start()  # as in a window that is used: Python's own collection would fall into any turn
    records = [record(number) for number in range(RUNS)]
    for first in range(0, RUNS, PAGE):
        turns.turn(lambda first=first: opened.studio.take(Batch(records=tuple(records[first : first + PAGE]))))
    turns.settle()
    panel = opened.window.runs
    for act in (
        lambda: panel.arranged.show_by(sort="return"),
        lambda: panel.arranged.show_by(sort="name"),
        lambda: panel.arranged.show_by(grouping="seeds"),
        lambda: panel.arranged.collapse_all(collapsed=True),
        lambda: panel.arranged.collapse_all(collapsed=False),
        lambda: panel.filter.setText("env3"),
        panel.filter.clear,
        panel.view.scrollToBottom,
    ):
        turns.turn(act)
        turns.settle(0.2)
    leave_garbage_to_python(opened)


def a_table_of_ten_thousand_runs(turns: Turns, opened: app.Opened) -> None:
    """With forty settings each; what is measured is what the table does, not the list beside it."""
    opened.garbage.start()
    opened.studio.take(Batch(records=tuple(record(number) for number in range(RUNS))))
    turns.settle()
    tab = opened.window.table
    opened.window.switch_table()
    turns.settle()
    turns.longest_s = 0.0
    ids = [run.run_id for run in opened.studio.runs.records()]
    names = [f"setting_{number}" for number in range(38)]
    for first in range(0, RUNS, FETCHED):
        page = [
            RunValues(
                run_id,
                dict.fromkeys(names, 1) | {"learning_rate": (first + place) % 7 * 1e-4, "num_envs": place % 3},
                {"losses/value_loss": Summary(place, place + 1.0, 0.0, place / 2, 9)},
            )
            for place, run_id in enumerate(ids[first : first + FETCHED])
        ]
        turns.turn(lambda page=page: fetched_values.put(tab.table.rows, page))
        turns.turn(lambda page=page: tab.table.values_came([run.run_id for run in page], {"learning_rate"}))
    wanted = Arrangement(columns=("label", "state", "env", "learning_rate", "losses/value_loss.best", "return"))
    filtered = "env:Env3* lr<5e-4 return>20 or losses/value_loss>100"
    for changed in (
        wanted,
        replace(wanted, sort="return", downwards=True),
        replace(wanted, sort="label"),
        replace(wanted, sort="losses/value_loss.best"),
        replace(wanted, filter="env3"),
        replace(wanted, filter=filtered, sort="learning_rate"),
        replace(wanted, group="learning_rate"),
        replace(wanted, group="group"),
        replace(wanted, only_differing=True),
        wanted,
    ):
        turns.turn(lambda changed=changed: tab.table.show_as(changed))
        turns.settle(0.2)
    for _ in range(40):
        turns.turn(lambda: tab.view.verticalScrollBar().setValue(tab.view.verticalScrollBar().value() + 7_000))
    turns.turn(tab.view.selectAll)
    turns.settle(0.2)
    turns.turn(lambda: tab.table.show_as(replace(wanted, sort="return")))
    turns.settle(0.2)
    # Returns of thirty runs move on, as those of living runs do.
    for step in range(20):
        newer = tuple(replace(run, last_return=1000.0 + step) for run in opened.studio.runs.records()[:30])
        turns.turn(lambda newer=newer: opened.studio.take(Batch(records=newer)))
        turns.settle(0.1)
    leave_garbage_to_python(opened)


def leave_garbage_to_python(opened: app.Opened) -> None:
    opened.garbage.stop()
    gc.unfreeze()
    gc.enable()


def five_hundred_tags(turns: Turns, opened: app.Opened) -> None:
    opened.window.bench.bring_up("Metrics")
    run = record(RUNS)
    opened.studio.take(Batch(records=(run,)))
    opened.studio.select([run.run_id])
    turns.settle()
    turns.longest_s = 0.0
    rows = PIECE_ROWS // TAGS
    for piece in range(4):
        steps = np.arange(piece * rows, (piece + 1) * rows, dtype=float)
        points = {f"custom/tag_{tag:03}": Points(steps, 1.7e9 + steps, steps) for tag in range(TAGS)}
        turns.turn(lambda points=points: opened.studio.take(Batch(points=(NewPoints(run.run_id, points),))))
        turns.settle()


def main() -> int:
    figures: list[tuple[str, float, float]] = []
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        home = Home(Path(folder))
        home.create()
        bare_s, ours_s = (started_s(program, home, STARTS) for program in (BARE, WINDOW))
        print(f"a bare window {bare_s:.2f} s, ours {ours_s:.2f} s of the processor")
        figures.append(("start of the window, times a bare one", ours_s / bare_s, MOST_START))
        application = app.make_application()
        import_module("mosaic.gui.widgets.charts.scalar_chart")  # once in the life of a window, beside its first curves
        for case in (ten_thousand_runs, a_table_of_ten_thousand_runs, five_hundred_tags):
            opened = app.open_window(application, home, DaemonLink(home))
            opened.window.show()
            turns = Turns(application)
            turns.settle()
            turns.longest_s = 0.0
            calibration_s = unit_s()
            case(turns, opened)
            print(f"{case.__name__}: {1e3 * turns.longest_s:.0f} ms, the piece of work {1e3 * calibration_s:.0f} ms")
            name = f"longest turn of the event loop, {case.__name__.replace('_', ' ')}"
            most = MOST_BY_CASE.get(case.__name__, MOST_TURN)
            figures.append((name, turns.longest_s / calibration_s, most))
            opened.close()
            opened.window.deleteLater()
            application.processEvents()
    for name, value, most in figures:
        print(f"{name:<62} {value:7.2f}  at most {most:.1f}  {'ok' if value <= most else 'MISSED'}")
    return 0 if all(value <= most for _, value, most in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
