"""What MOSAIC costs around a script, against plain `python script.py`, in alternation.

    python -m bench.scripts [--repeat 5] [--iterations 40]

Steps per second by the wall clock and by processor time (which a busy machine disturbs less), and the time from the
start of the process to the script's first step. Medians; n is the number of pairs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from mosaic.spec.run_dir import Home, new_run_id

SCRIPT = Path(__file__).with_name("scripted_ppo.py")


@dataclass(frozen=True)
class Timed:
    start_s: float
    start_cpu_s: float
    steps_per_s: float
    steps_per_cpu_s: float


def timed(words: list[str], folder: Path) -> Timed:
    began = time.time()
    done = subprocess.run(
        words, cwd=folder, env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, check=True
    )
    said = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    first, took = said
    steps = took["steps"]
    return Timed(
        first["first_step_at"] - began, first["cpu_seconds"], steps / took["seconds"], steps / took["cpu_seconds"]
    )


def plain(folder: Path, iterations: int) -> Timed:
    return timed([sys.executable, str(SCRIPT), str(iterations)], folder)


def around(folder: Path, iterations: int) -> Timed:
    run_dir = Home(folder).run(new_run_id()).root
    words = [sys.executable, "-m", "cleanrl_worker.cli", "--algo", str(SCRIPT), "--run-dir", str(run_dir)]
    return timed([*words, "--", str(iterations)], folder)


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--repeat", type=int, default=5)
    flags.add_argument("--iterations", type=int, default=40)
    asked = flags.parse_args()
    pairs: list[tuple[Timed, Timed]] = []
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as name:
        for turn in range(asked.repeat):
            order = (plain, around) if turn % 2 == 0 else (around, plain)
            found = {one: one(Path(name), asked.iterations) for one in order}
            pairs.append((found[plain], found[around]))
            ratio = found[around].steps_per_cpu_s / found[plain].steps_per_cpu_s
            print(f"pair {turn + 1}: {found[plain]} {found[around]} cpu ratio {ratio:.3f}", flush=True)
    wall = median(ours.steps_per_s / theirs.steps_per_s for theirs, ours in pairs)
    cpu = median(ours.steps_per_cpu_s / theirs.steps_per_cpu_s for theirs, ours in pairs)
    later = median(ours.start_s - theirs.start_s for theirs, ours in pairs)
    busier = median(ours.start_cpu_s - theirs.start_cpu_s for theirs, ours in pairs)
    print(f"steps/s around the script: {wall:.3f} of plain by the wall clock, {cpu:.3f} by processor time")
    print(f"first step {later:+.2f} s by the wall clock, {busier:+.2f} s by processor time (n={len(pairs)})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
