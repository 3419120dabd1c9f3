"""How fast frames travel: publish cost and latency on this machine, rate and latency over gRPC (`make bench-live`).

Each end is a process of its own. Exit code 1 if a figure misses its target.
"""

import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.tile_picture import ReaderWakeup
from mosaic.fastlane.viewer import Viewer
from mosaic.rpc.client import Client
from mosaic.rpc.trainer_methods import answer_with
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.trainer.serving import live_frames
from mosaic.trainer.serving.change_signal import ChangeSignal as DaemonBell

SECONDS = 8.0
FPS = 60
SINGLE, GRID = (400, 600, 1), (640, 1280, 8)


def write(height: int, width: int, tiles: int) -> None:
    """Publish for a while; prints the path first and the cost of publishing, in milliseconds, last."""
    rows, columns = np.mgrid[:height, :width]
    picture = np.stack([rows % 256, columns % 256, (rows // 3 + columns // 5) % 256, rows * 0], 2).astype(np.uint8)
    ring, change_signal, demand = RingWriter.create(), ReaderWakeup(), None
    print(ring.path, flush=True)
    costs: list[float] = []
    end = time.monotonic() + SECONDS + 6
    while time.monotonic() < end:
        if len(costs) % 15 == 0:
            demand = viewer_lease.current(ring.path)
        picture = np.roll(picture, 5, 1)
        head = FrameHead(
            global_step=len(costs),
            steps_per_s=1.0,
            columns=max(1, tiles // 2),
            rows=min(tiles, 2),
            tiles=tuple(Tile(env, 1, 1.0) for env in range(tiles)),
            grid=tiles > 1,
            line=repr(time.monotonic()),
        )
        began = time.perf_counter()
        ring.publish(head, picture)
        costs.append(time.perf_counter() - began)
        change_signal.ring(demand.sockets if demand else ())
        time.sleep(1 / FPS)
    ring.close()
    print(*(f"{1e3 * cost:.4f}" for cost in np.percentile(costs, [50, 95])))


def serve(run_dir: Path) -> None:
    class Service:
        def StreamFrames(self, request: Any, context: Any) -> Any:  # noqa: N802
            return live_frames.stream(RunDir(run_dir), live_frames.checked(request), DaemonBell(), context)

    server = grpc.server(ThreadPoolExecutor(4))
    answer_with(Service(), server)
    print(server.add_insecure_port(f"unix:{run_dir}/socket"), flush=True)
    server.start()
    sys.stdin.read()


def started(*words: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "bench.frames", *map(str, words)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def local() -> list[tuple[str, float, float]]:
    writer = started("write", *SINGLE)
    delays: list[float] = []
    with Viewer(Path(first_line(writer))) as viewer:
        cpu, began = time.process_time(), time.monotonic()
        while time.monotonic() < began + SECONDS:
            if frame := viewer.wait(1.0):
                delays.append(time.monotonic() - frame.published_at)
        share = (time.process_time() - cpu) / (time.monotonic() - began)
    median, p95 = map(float, writer.communicate()[0].split())
    print(
        f"local: {len(delays) / SECONDS:.1f} frames/s, viewer takes {share:.1%} of a core, publish p95 {p95:.2f} ms,"
        f" latency median {1e3 * float(np.median(delays)):.2f} ms"
    )
    return [
        ("publish 600×400, ms, median", median, 0.5),
        ("publish to a reader's hands, ms, p95", 1e3 * float(np.percentile(delays, 95)), 2.0),
    ]


def remote() -> list[tuple[str, float, float]]:
    with tempfile.TemporaryDirectory(prefix="mb-") as folder:
        run_dir = Home(Path(folder)).run(new_run_id())
        run_dir.create()
        writer = started("write", *GRID)
        ring = Artifact(kind="fastlane", path=first_line(writer))
        manifest.write(run_dir, Manifest(run_id=run_dir.run_id, artifacts=(ring,)))
        server = started("serve", run_dir.root)
        first_line(server)
        delays: list[float] = []
        sizes: list[int] = []
        with Client(f"unix:{run_dir.root}/socket") as client:
            began = 0.0
            for frame in client.frames(run_dir.run_id, fps=30):
                began = began or time.monotonic()
                delays.append(time.monotonic() - float(frame.head.line))
                sizes.append(len(frame.image))
                if time.monotonic() > began + SECONDS:
                    break
        server.communicate()
        writer.communicate()
    print(f"remote: pictures of {np.mean(sizes) / 1e3:.0f} kB")
    return [
        ("2×4 grid over gRPC, ms a frame", 1e3 * SECONDS / len(delays), 1e3 / 15),
        ("publish to a remote client, ms, p95", 1e3 * float(np.percentile(delays, 95)), 150.0),
    ]


def main() -> int:
    if sys.argv[1:2] == ["write"]:
        write(*map(int, sys.argv[2:5]))
        return 0
    if sys.argv[1:2] == ["serve"]:
        serve(Path(sys.argv[2]))
        return 0
    rows = [*local(), *remote()]
    for name, value, most in rows:
        print(f"{name:<38} {value:8.2f}  at most {most:.1f}  {'ok' if value <= most else 'MISSED'}")
    return 0 if all(value <= most for _, value, most in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
