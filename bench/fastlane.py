"""What the live view costs the learner, as ratios of steps a second; everything in alternation (`make bench-live`).

Watched: one training run, looked at and left alone in turns. Nobody looks: a loop of steps alone, which is the hardest
case, with the live view and without, in turns. Exit code 1 if a ratio is below the floor that issue 5 sets.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.ours import flags
from cleanrl_worker.sdk.live import LiveView
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.fastlane.lease import Wishes
from mosaic.fastlane.viewer import Viewer
from mosaic.spec.events import Heartbeat, LiveViewOpened
from mosaic.spec.run_config import LiveView as Options
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.spool_reader import SpoolReader

TURN_S = 6.0
SETTLE_S = 1.5
"""Of each turn, not counted: heartbeats come once a second and are written a quarter later."""
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
        {"env_id": "HalfCheetah-v5", "num_envs": 8, "num_steps": 256},
        0.95,
    ),
)
NOBODY_FLOOR = 0.99


def watched(case: Case, turns: int) -> float:
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        run_dir = Home(Path(folder)).run(new_run_id())
        words = ["--algo", case.algo, "--no-cuda", "--quiet", "--run-dir", str(run_dir.root)]
        settings = flags({**case.settings, "total_timesteps": 10**9})
        command = [sys.executable, "-m", "cleanrl_worker.cli", *words, *settings]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=one_thread) as worker:
            try:
                return _alternate(case, run_dir, turns)
            finally:
                worker.terminate()


def _alternate(case: Case, run_dir: RunDir, turns: int) -> float:
    ring = _wait_for_ring(run_dir)
    _rates_of_a_turn(run_dir)
    ratios: list[float] = []
    alone = _rates_of_a_turn(run_dir)
    for turn in range(turns):
        with Viewer(ring, Wishes(mode="grid", fps=30)) as viewer:
            seen = 0
            looked = _rates_of_a_turn(run_dir, lambda: viewer.wait(0.05) is not None)
            seen = looked[1]
        after = _rates_of_a_turn(run_dir)
        ratios.append(looked[0] / statistics.mean([alone[0], after[0]]))
        print(
            f"{case.name} {turn + 1}/{turns}: alone {alone[0]:,.0f} and {after[0]:,.0f}  watched {looked[0]:,.0f}"
            f"  ratio {ratios[-1]:.3f}  tile updates/s {seen:.1f}  load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        alone = after
    return statistics.median(ratios)


def _rates_of_a_turn(run_dir: RunDir, look: Callable[[], bool] = lambda: bool(time.sleep(0.05))) -> tuple[float, float]:
    """Steps a second over a turn, and frames a second that `look` saw."""
    deadline = time.monotonic() + SETTLE_S
    while time.monotonic() < deadline:
        look()
    began, seen = time.time(), 0
    while time.time() < began + TURN_S - SETTLE_S:
        seen += look()
    beats = [event for event in _events(run_dir) if isinstance(event.body, Heartbeat) and event.time >= began]
    bodies = [event.body for event in beats]
    steps = bodies[-1].global_step - bodies[0].global_step
    return steps / (beats[-1].time - beats[0].time), seen / (TURN_S - SETTLE_S)


def _events(run_dir: RunDir) -> list[Any]:
    return list(SpoolReader(run_dir.events).new_events()) if run_dir.events.exists() else []


def _wait_for_ring(run_dir: RunDir) -> Path:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for event in _events(run_dir):
            if isinstance(event.body, LiveViewOpened):
                return Path(event.body.path)
        time.sleep(0.2)
    raise SystemExit("the run did not open its live view within a minute")


def nobody_looks(turns: int) -> float:
    ratios: list[float] = []
    with closing(_cart_poles(None)) as plain, closing(_cart_poles("rgb_array")) as watchable:
        before = _block(plain)
        for _ in range(turns):
            watchable.live = LiveView(
                watchable.backend, Options(), global_step=lambda: watchable.global_step, complain=print
            )
            offered = _block(watchable)
            watchable.live.close()
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
    parser.add_argument("--only", choices=["nobody", "cartpole", "halfcheetah"], help="this case")
    options = parser.parse_args()
    envs.headless_defaults()
    rows: list[tuple[str, float, float]] = []
    if options.only in (None, "nobody"):
        rows.append(("nobody looks, steps alone", nobody_looks(options.turns * 10), NOBODY_FLOOR))
    for case in WATCHED:
        if options.only is None or options.only in case.name.lower():
            rows.append((case.name, watched(case, options.turns), case.floor))
    for name, ratio, floor in rows:
        print(f"{name:<34} ratio {ratio:.3f}  floor {floor}  {'ok' if ratio >= floor else 'BELOW'}")
    return 0 if all(ratio >= floor for _, ratio, floor in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
