"""`python -m bench.tracking`: what an export to Weights & Biases costs the training that it follows.

One PPO run trains on and on. Its exporter (offline, the real package) is held and let go in turn, by SIGSTOP and
SIGCONT, and the steps a second of each stretch are compared with those of its neighbour: whatever else the machine does
meets both. An exporter that was held has twice as much to do when it is let go, so the cost is not understated.
"""

import argparse
import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.daemon import wait_for
from mosaic.spec import events
from mosaic.spec.run_dir import Home, RunDir
from mosaic.spec.run_list import all_runs
from mosaic.track import export_state
from mosaic.track.start_exporter import end, start

TARGET = 0.98
SETTLE_S = 0.3
START_S = 300.0


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.tracking", description=__doc__.partition("\n")[0])
    words.add_argument("--pairs", type=int, default=20, help="stretches with and without the exporter (default 20)")
    words.add_argument("--seconds", type=float, default=4.0, help="of each stretch (default 4)")
    words.add_argument("--nice", type=int, default=19, help="priority of the exporter (default 19, as in a run)")
    flags = words.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder))
        variables = {**os.environ, "MOSAIC_HOME": folder, "HOME": folder, "WANDB_MODE": "offline"}
        # It starts at once, and gives way from then on: on a busy machine the lowest priority takes minutes to start.
        variables["MOSAIC_EXPORT_NICE"] = "0"
        command = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", "ppo", "--total-timesteps", "1000000000"]
        with subprocess.Popen([*command, "--quiet"], env=variables, stdout=subprocess.DEVNULL) as worker:
            exporter = None
            try:
                run_dir = wait_for(lambda: next(iter(all_runs(home)), None), START_S)
                wait_for(lambda: run_dir.events.exists() and position(run_dir)[1] > 0, START_S)
                exporter = start(run_dir, variables)
                wait_for(lambda: (found := export_state.read(run_dir)) and found.rows > 0, START_S)
                give_way(exporter.pid, flags.nice)
                began, used = time.monotonic(), cpu_s(exporter.pid)
                ratios = measure(run_dir, exporter.pid, flags.pairs, flags.seconds)
                share = (cpu_s(exporter.pid) - used) / (time.monotonic() - began)
            finally:
                if exporter is not None:
                    tell(exporter.pid, signal.SIGCONT)
                    end(exporter)
                worker.kill()
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"steps/s with the exporter / without: {middle:.4f} (quartiles {low:.3f} to {high:.3f}, n={len(ratios)})")
    print(f"target: at least {TARGET}; the exporter used {share:.1%} of a core")
    return 0 if middle >= TARGET else 1


def measure(run_dir: RunDir, pid: int, pairs: int, seconds: float) -> list[float]:
    """With / without, for each pair; which one comes first changes in turn."""
    ratios: list[float] = []
    for pair in range(pairs):
        speeds: dict[signal.Signals, float] = {}
        order = (signal.SIGSTOP, signal.SIGCONT) if pair % 2 else (signal.SIGCONT, signal.SIGSTOP)
        for number in order:
            tell(pid, number)
            time.sleep(SETTLE_S)
            speeds[number] = speed(run_dir, seconds)
        ratios.append(speeds[signal.SIGCONT] / speeds[signal.SIGSTOP])
        print(f"{pair + 1:>3}: {speeds[signal.SIGCONT]:,.0f} / {speeds[signal.SIGSTOP]:,.0f} steps/s", flush=True)
    return ratios


def speed(run_dir: RunDir, seconds: float) -> float:
    first_time, first_step = position(run_dir)
    time.sleep(seconds)
    last_time, last_step = position(run_dir)
    return (last_step - first_step) / (last_time - first_time)


def position(run_dir: RunDir) -> tuple[float, int]:
    """Time and step of the newest event that has one."""
    with run_dir.events.open("rb") as file:
        file.seek(max(0, run_dir.events.stat().st_size - 65536))
        lines = file.read().split(b"\n")[1:-1]
    for line in reversed(lines):
        event = events.decode(line)
        if (step := getattr(event.body, "global_step", None)) is not None:
            return event.time, step
    return 0.0, 0


def family(pid: int) -> list[psutil.Process]:
    """The exporter and W&B's own processes."""
    process = psutil.Process(pid)
    return [process, *process.children(recursive=True)]


def give_way(pid: int, nice: int) -> None:
    for each in family(pid):
        each.nice(nice)
    # sched(7), autogrouping: a nice value counts only within its session.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(nice))


def cpu_s(pid: int) -> float:
    return sum(sum(each.cpu_times()[:2]) for each in family(pid))


def tell(pid: int, number: signal.Signals) -> None:
    for each in family(pid):
        each.send_signal(number)


if __name__ == "__main__":
    raise SystemExit(main())
