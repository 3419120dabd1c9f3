"""Following a run in the terminal: a progress bar with steps a second, return and time left, from its spool."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from mosaic.spec.course import Course
from mosaic.spec.spool_reader import SpoolReader

REFRESH_S = 0.1
PLAIN_LINE_S = 2.0
SPARKS = "▁▂▃▄▅▆▇█"


def line_of(course: Course) -> str:
    """For a terminal that cannot redraw."""
    if not course.total_timesteps:
        return "  starting …"
    return f"  {course.global_step:>9,} / {course.total_timesteps:,} steps {summary_of(course)}"


def summary_of(course: Course) -> str:
    shown = "–" if course.mean_return is None else f"{course.mean_return:.1f}"
    last = f"{course.returns[-1]:.0f}" if course.returns else "–"
    return f"{course.steps_per_s:>9,.0f} steps/s   return {last} (mean of 100: {shown})   {sparkline(course.history)}"


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
            progress.update(task, total=total, completed=course.global_step, summary=summary_of(course))
            if not console.is_terminal and time.monotonic() >= next_plain:
                next_plain += PLAIN_LINE_S
                print(line_of(course), flush=True)
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
