"""What the live view costs the learner, as ratios of steps a second; everything in alternation (`make bench-live`).

Watched: one training run, watched and left alone in turns. Without a viewer: a loop of steps alone, the hardest
case, with the live view and without, in turns. Both for an environment of each family. Exit code 1 if a ratio is below
its floor.
"""

import argparse
import functools
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
from bench.process import end_cleanly
from cleanrl_worker.sdk.live.open_live_view import open_view
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.operating_system import end_with_parent
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
    Case("watched FrozenLake, grid of 4", "ppo", {"env_id": "FrozenLake-v1", "num_envs": 4}, 0.95),
    Case("watched LunarLander, grid of 4", "ppo", {"env_id": "LunarLander-v3", "num_envs": 4}, 0.95),
    Case(
        "watched HalfCheetah, grid of 8",
        "ppo_continuous_action",
        {"env_id": "HalfCheetah-v5", "num_envs": 8, "num_steps": 64},
        0.95,
    ),
    Case("watched Breakout, grid of 4", "ppo_atari", {"env_id": "ALE/Breakout-v5", "num_envs": 4}, 0.95),
    Case("watched DoorKey, grid of 4", "ppo", {"env_id": "MiniGrid-DoorKey-5x5-v0", "num_envs": 4}, 0.95),
    Case("watched NoVelocity, grid of 4", "ppo", {"env_id": "mosaic/CartPoleNoVelocity-v1", "num_envs": 4}, 0.95),
)
"""One environment of each family that is trained on."""
UNWATCHED_FLOOR = 0.99


def watched(case: Case, turns: int) -> float:
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        run_dir = Home(Path(folder)).run(new_run_id())
        words = ["--algo", case.algo, "--no-cuda", "--quiet", "--run-dir", str(run_dir.root)]
        settings = flags({**case.settings, "total_timesteps": 10**9})
        command = [sys.executable, "-m", "cleanrl_worker.cli", *words, *settings]
        one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
        # A session of its own, as under the daemon: the kernel shares processor time out between sessions first.
        # It ends with this process, also where that is killed.
        bound = functools.partial(end_with_parent, os.getpid())
        with subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=one_thread,
            start_new_session=True,
            preexec_fn=bound,
        ) as worker:
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
    began, cpu = time.time(), sum(worker.cpu_times()[:2])
    seen = _pass(TURN_S, viewer)
    cpu_s = sum(worker.cpu_times()[:2]) - cpu
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


def unwatched(case: Case, turns: int) -> float:
    """Steps alone of this case's environments: with a view and no viewer, against `--no-fastlane-enabled`."""
    ratios: list[float] = []
    with closing(_slots(case, None)) as plain, closing(_slots(case, "rgb_array")) as watchable:
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


def _slots(case: Case, render_mode: str | None) -> Envs:
    observations = "pixels" if case.algo.endswith("_atari") else "vector"
    env_id, number = case.settings["env_id"], case.settings["num_envs"]
    vector = envs.make_vec(env_id, number, backend="bare", render_mode=render_mode, observations=observations)
    slots = Envs(vector, lambda _: None)
    slots.reset(1)
    return slots


def _block(slots: Envs) -> float:
    """Steps for each second of this process's processor time, from the same beginning: another's turn does not count.

    The actions are random: an engine that never fires, or always, would be a case of its own.
    """
    space = slots.backend.single_action_space
    space.seed(1)
    moves = [np.stack([space.sample() for _ in range(slots.backend.num_envs)]) for _ in range(50)]
    slots.reset(1)
    steps, began, cpu = 0, time.monotonic(), time.process_time()
    while time.monotonic() - began < BLOCK_S:
        for move in moves:
            slots.step(move)
        steps += len(moves)
    return steps / (time.process_time() - cpu)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fastlane", description=__doc__)
    parser.add_argument("--turns", type=int, default=5, help="pairs of each case (default 5)")
    parser.add_argument("--only", metavar="WORD", default="", help="cases with this word in their name")
    parser.add_argument("--watched", action=argparse.BooleanOptionalAction, default=None, help="only these, or none")
    options = parser.parse_args()
    end_cleanly()
    envs.headless_defaults()
    rows: list[tuple[str, float, float]] = []
    for case in WATCHED:
        if options.only.lower() not in case.name.lower():
            continue
        if options.watched is not True:
            ratio = unwatched(case, options.turns * 10)
            rows.append((case.name.replace("watched", "unwatched", 1), ratio, UNWATCHED_FLOOR))
        if options.watched is not False:
            rows.append((case.name, watched(case, options.turns), case.floor))
    for name, ratio, floor in rows:
        print(f"{name:<34} ratio {ratio:.3f}  floor {floor}  {'ok' if ratio >= floor else 'BELOW'}")
    return 0 if all(ratio >= floor for _, ratio, floor in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
