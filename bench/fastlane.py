"""What the live view costs the learner, as ratios of steps a second; everything in alternation (`make bench-live`).

Watched: one training run, watched and left alone in turns. Without a viewer: a loop of steps alone, the hardest
case, with the live view and without, in turns. Exit code 1 if a ratio is below the floor.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from bench.ours import flags
from cleanrl_worker.sdk.live.open_live_view import open_view
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.spec.events import Heartbeat, LiveViewOpened, decode
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.run_config import LiveView as Options
from mosaic.spec.run_dir import Home, RunDir, new_run_id

TURN_S = 8.0
SETTLE_S = 1.0
"""Before each turn: heartbeats come once a second."""
WARM_UP_S = 20.0
"""For the first picture, which is paid once."""
BLOCK_S = 0.4


@dataclass(frozen=True)
class Case:
    name: str
    algo: str
    settings: dict[str, Any]
    floor: float


WATCHED = (
    Case("watched CartPole, grid of 4", "ppo", {"env_id": "CartPole-v1", "num_envs": 4}, 0.95),
    Case(
        "watched HalfCheetah, grid of 8",
        "ppo_continuous_action",
        {"env_id": "HalfCheetah-v5", "num_envs": 8, "num_steps": 64},
        0.95,
    ),
)
UNWATCHED_FLOOR = 0.99


def watched(case: Case, turns: int) -> float:
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        run_dir = Home(Path(folder)).run(new_run_id())
        words = ["--algo", case.algo, "--no-cuda", "--quiet", "--run-dir", str(run_dir.root)]
        settings = flags({**case.settings, "total_timesteps": 10**9})
        command = [sys.executable, "-m", "cleanrl_worker.cli", *words, *settings]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        # A session of its own, as under the daemon: the kernel shares processor time out between sessions first.
        with subprocess.Popen(command, **quiet, env=one_thread, start_new_session=True) as worker:
            try:
                return _alternate(case, run_dir, psutil.Process(worker.pid), turns)
            finally:
                worker.terminate()


@dataclass(frozen=True)
class Turn:
    """What was measured with a viewer, or without one."""

    steps_per_s: float
    steps_per_cpu_s: float
    """Of the worker's own processor time: what a busy machine cannot blur."""
    frames_per_s: float


def _alternate(case: Case, run_dir: RunDir, worker: psutil.Process, turns: int) -> float:
    ring = _wait_for_ring(run_dir)
    _turn(run_dir, worker)
    wall: list[float] = []
    cpu: list[float] = []
    alone = _turn(run_dir, worker)
    for turn in range(turns):
        with Viewer(ring, Wishes(mode="grid", fps=30)) as viewer:
            viewer.wait(WARM_UP_S)
            looked = _turn(run_dir, worker, viewer)
        after = _turn(run_dir, worker)
        wall.append(looked.steps_per_s / statistics.mean([alone.steps_per_s, after.steps_per_s]))
        cpu.append(looked.steps_per_cpu_s / statistics.mean([alone.steps_per_cpu_s, after.steps_per_cpu_s]))
        print(
            f"{case.name} {turn + 1}/{turns}: alone {alone.steps_per_s:,.0f} and {after.steps_per_s:,.0f}"
            f"  watched {looked.steps_per_s:,.0f}  ratio {wall[-1]:.3f}  of processor time {cpu[-1]:.3f}"
            f"  frames/s {looked.frames_per_s:.1f}  load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        alone = after
    print(f"{case.name}: median ratio of processor time {statistics.median(cpu):.3f}")
    return statistics.median(wall)


def _turn(run_dir: RunDir, worker: psutil.Process, viewer: Viewer | None = None) -> Turn:
    _pass(SETTLE_S, viewer)
    began, cpu = time.time(), _cpu_s(worker)
    seen = _pass(TURN_S, viewer)
    cpu_s = _cpu_s(worker) - cpu
    beats = [event for event in _events(run_dir) if isinstance(event.body, Heartbeat) and event.time >= began]
    steps = beats[-1].body.global_step - beats[0].body.global_step
    rate = steps / (beats[-1].time - beats[0].time)
    return Turn(rate, rate * TURN_S / cpu_s, seen / TURN_S)


def _pass(seconds: float, viewer: Viewer | None) -> int:
    """Let time pass; the frames that were seen."""
    deadline, seen = time.monotonic() + seconds, 0
    while (left_s := deadline - time.monotonic()) > 0:
        if viewer is None:
            time.sleep(left_s)
        else:
            seen += viewer.wait(left_s) is not None
    return seen


def _cpu_s(worker: psutil.Process) -> float:
    times = worker.cpu_times()
    return times.user + times.system


def _events(run_dir: RunDir) -> list[Any]:
    return [decode(line) for line in LineReader(run_dir.events).new_lines()] if run_dir.events.exists() else []


def _wait_for_ring(run_dir: RunDir) -> Path:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for event in _events(run_dir):
            if isinstance(event.body, LiveViewOpened):
                return Path(event.body.path)
        time.sleep(0.2)
    raise SystemExit("the run did not open its live view within a minute")


def unwatched(turns: int) -> float:
    ratios: list[float] = []
    with closing(_cart_poles(None)) as plain, closing(_cart_poles("rgb_array")) as watchable:
        before = _block(plain)
        for _ in range(turns):
            watchable.live = view = open_view(
                watchable.backend, Options(), global_step=lambda: watchable.global_step, complain=print
            )
            assert view is not None
            offered = _block(watchable)
            view.close()
            watchable.live = None
            after = _block(plain)
            ratios.append(offered / statistics.mean([before, after]))
            before = after
    return statistics.median(ratios)


def _cart_poles(render_mode: str | None) -> Envs:
    lanes = Envs(envs.make_vec("CartPole-v1", 4, backend="bare", render_mode=render_mode), lambda _: None)
    lanes.reset(1)
    return lanes


def _block(lanes: Envs) -> float:
    """Steps for each second of this thread's processor time: another process's turn does not count."""
    actions, steps, began, cpu = np.zeros(4, np.int64), 0, time.monotonic(), time.process_time()
    while time.monotonic() - began < BLOCK_S:
        for _ in range(50):
            lanes.step(actions)
        steps += 50
    return steps / (time.process_time() - cpu)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fastlane", description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="pairs of each case (default 5)")
    parser.add_argument("--only", choices=["no-viewer", "cartpole", "halfcheetah"], help="this case")
    options = parser.parse_args()
    envs.headless_defaults()
    rows: list[tuple[str, float, float]] = []
    if options.only in (None, "no-viewer"):
        rows.append(("no viewer, steps alone", unwatched(options.turns * 10), UNWATCHED_FLOOR))
    for case in WATCHED:
        if options.only is None or options.only in case.name.lower():
            rows.append((case.name, watched(case, options.turns), case.floor))
    for name, ratio, floor in rows:
        print(f"{name:<34} ratio {ratio:.3f}  floor {floor}  {'ok' if ratio >= floor else 'BELOW'}")
    return 0 if all(ratio >= floor for _, ratio, floor in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
