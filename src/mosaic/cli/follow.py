"""Following a run in the terminal: a progress bar with steps a second, return and time left, from its spool."""

import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mosaic.cli.spool_reader import SpoolReader
from mosaic.spec.events import Episode, Event, Heartbeat, RunFailed, RunStarted, Scalars, Warned

REFRESH_S = 0.1
PLAIN_LINE_S = 2.0
SPARKS = "▁▂▃▄▅▆▇█"


@dataclass
class Course:
    """How far a run is, as its events tell."""

    global_step: int = 0
    total_timesteps: int = 0
    steps_per_s: float = 0.0
    returns: "deque[float]" = field(default_factory=lambda: deque[float](maxlen=100))
    history: list[float] = field(default_factory=list[float])
    """Mean return of the last 100 episodes, once an iteration."""
    failure: str = ""
    warnings: list[str] = field(default_factory=list[str])

    @property
    def mean_return(self) -> float | None:
        return fmean(self.returns) if self.returns else None

    def take(self, event: Event) -> None:
        match event.body:
            case RunStarted(total_timesteps=total):
                self.total_timesteps = total
            case Heartbeat(global_step=step, steps_per_s=rate):
                self.global_step, self.steps_per_s = step, rate
            case Episode(global_step=step, episodic_return=value):
                self.global_step = step
                self.returns.append(float(value))
            case Scalars(global_step=step, values=values):
                self.global_step = step
                self.steps_per_s = self.steps_per_s or float(values.get("charts/SPS", 0))
                if self.returns:
                    self.history.append(fmean(self.returns))
            case RunFailed(message=message):
                self.failure = message
            case Warned(message=message):
                self.warnings.append(message)
            case _:
                pass

    @property
    def line(self) -> str:
        """For a terminal that cannot redraw."""
        if not self.total_timesteps:
            return "  starting …"
        return f"  {self.global_step:>9,} / {self.total_timesteps:,} steps {self.summary}"

    @property
    def summary(self) -> str:
        shown = "–" if self.mean_return is None else f"{self.mean_return:.1f}"
        last = f"{self.returns[-1]:.0f}" if self.returns else "–"
        return f"{self.steps_per_s:>9,.0f} steps/s   return {last} (mean of 100: {shown})   {sparkline(self.history)}"


def sparkline(values: list[float], width: int = 24) -> str:
    """The course of a number in block characters."""
    if not values:
        return ""
    picked = [values[index * len(values) // width] for index in range(width)] if len(values) > width else values
    low, span = min(picked), (max(picked) - min(picked)) or 1.0
    return "".join(SPARKS[int((value - low) / span * (len(SPARKS) - 1))] for value in picked)


def follow(spool: Path, worker: "subprocess.Popen[bytes]", until: Callable[[Course], bool] = lambda _: False) -> Course:
    """Show the run until its worker ends; once `until` holds, the worker is asked to stop."""
    console = Console()
    reader, course = SpoolReader(spool), Course()
    progress = Progress(
        TextColumn("  {task.percentage:>3.0f}%"),
        BarColumn(bar_width=28),
        TextColumn("{task.completed:>9,.0f} / {task.total:,.0f} steps"),
        TextColumn("{task.fields[summary]}"),
        TextColumn("ETA"),
        TimeRemainingColumn(compact=True),
        console=console,
        disable=not console.is_terminal,
    )
    asked = False
    next_plain = time.monotonic() + PLAIN_LINE_S
    with progress:
        task = progress.add_task("", total=None, summary="")
        while True:
            ended = worker.poll() is not None
            for event in reader.new_events():
                course.take(event)
            total = course.total_timesteps or None
            progress.update(task, total=total, completed=course.global_step, summary=course.summary)
            if not console.is_terminal and time.monotonic() >= next_plain:
                next_plain += PLAIN_LINE_S
                print(course.line, flush=True)
            if ended:
                return course
            if not asked and until(course):
                asked = True
                worker.terminate()
            time.sleep(REFRESH_S)


def stop_gently(worker: "subprocess.Popen[bytes]") -> None:
    """Ctrl-C: let the worker save its checkpoint, and wait for it."""
    print("\nstopping: the run saves a checkpoint first …", file=sys.stderr, flush=True)
    worker.terminate()
    worker.wait()
