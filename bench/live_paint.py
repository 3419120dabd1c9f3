"""What the window's live grid costs: 8 tiles, 60 paints a second, CPU time of each (`make bench-live`).

The writer of the ring is a process of its own. Exit code 1 if a figure misses its target.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.tile_picture import ReaderWakeup
from mosaic.fastlane.viewer_lease import Wishes

SECONDS = 8.0
WARM_UP_S = 1.0
FPS = 60
TILE_HEIGHT, TILE_WIDTH, COLUMNS, ROWS = 400, 384, 4, 2
MOST_MS = 4.0
FEWEST_PER_S = 57.0


def write() -> None:
    """Publish at a steady rate until stdin is closed or the time is over; prints the path first."""
    height, width = ROWS * TILE_HEIGHT, COLUMNS * TILE_WIDTH
    rows, columns = np.mgrid[:height, :width]
    pattern = np.stack([rows % 256, columns % 256, (rows // 3 + columns // 5) % 256, rows * 0 + 255], 2)
    pictures = [np.roll(pattern, 9 * shift, 1).astype(np.uint8) for shift in range(8)]
    ring, wakeup, demand = RingWriter.create(), ReaderWakeup(), None
    print(ring.path, flush=True)
    began, count = time.monotonic(), 0
    while (now := time.monotonic()) < began + SECONDS + WARM_UP_S + 4:
        if count % 15 == 0:
            demand = viewer_lease.current(ring.path)
        tiles = tuple(Tile(env, 1 + count, 3.0 * env + count) for env in range(COLUMNS * ROWS))
        head = FrameHead(global_step=count, steps_per_s=1.0, columns=COLUMNS, rows=ROWS, tiles=tiles, grid=True)
        ring.publish(head, pictures[count % len(pictures)])
        wakeup.ring(demand.sockets if demand else ())
        count += 1
        time.sleep(max(0.0, began + count / FPS - now))
    ring.close()


def paint(ring: Path) -> list[tuple[str, float, float]]:
    """Figures of the real widget on a ring that another process writes: name, value, target."""
    from PySide6.QtCore import QEventLoop, QTimer
    from PySide6.QtGui import QPaintEvent

    from mosaic.gui.app import make_application
    from mosaic.gui.models.live.frame_source import LocalFrames
    from mosaic.gui.theme import Theme
    from mosaic.gui.widgets.live.live_grid import LiveGrid

    costs: list[float] = []

    class Measured(LiveGrid):
        def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802
            began = time.thread_time()
            super().paintEvent(event)
            costs.append(time.thread_time() - began)

    application = make_application()
    theme = Theme(application)
    look = LocalFrames(ring, Wishes(fps=FPS, tile_width=TILE_WIDTH))
    grid = Measured(theme, look.peek, look.holds)
    grid.resize(COLUMNS * TILE_WIDTH + 54, ROWS * TILE_HEIGHT + 22)
    look.came.connect(grid.update)
    grid.show()
    loop = QEventLoop()
    QTimer.singleShot(int(1000 * WARM_UP_S), loop.quit)
    loop.exec()
    costs.clear()
    cpu, began = time.process_time(), time.monotonic()
    QTimer.singleShot(int(1000 * SECONDS), loop.quit)
    loop.exec()
    elapsed_s = time.monotonic() - began
    cpu = time.process_time() - cpu
    look.close()
    milliseconds = 1e3 * np.array(costs)
    print(
        f"{len(costs)} paints, median {np.median(milliseconds):.2f} ms, p95 {np.percentile(milliseconds, 95):.2f} ms;"
        f" the whole process takes {cpu / elapsed_s:.0%} of a core, {1e3 * cpu / len(costs):.2f} ms a paint"
    )
    return [
        ("CPU of a paint of 8 tiles, ms, mean", float(milliseconds.mean()), MOST_MS),
        ("milliseconds between two paints", 1e3 * elapsed_s / len(costs), 1e3 / FEWEST_PER_S),
    ]


def main() -> int:
    if sys.argv[1:2] == ["write"]:
        write()
        return 0
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    writer = subprocess.Popen([sys.executable, "-m", "bench.live_paint", "write"], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    figures = paint(Path(writer.stdout.readline().strip()))
    writer.wait()
    for name, value, most in figures:
        print(f"{name:<38} {value:8.2f}  at most {most:.1f}  {'ok' if value <= most else 'MISSED'}")
    return 0 if all(value <= most for _, value, most in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
