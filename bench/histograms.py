"""`python -m bench.histograms`: what histograms of weights and gradients add to a run.

The same run with `--histograms-every N` and without, in alternation, each in a process of its own with one thread. What
is compared is the processor time of the training loop, with all threads of the worker: the recorder's writing counts.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

TARGET = 0.01
CASES: Mapping[str, tuple[int, int, str]] = {
    "ppo": (20, 250_000, "CartPole-v1"),
    "dqn": (1000, 120_000, "CartPole-v1"),
    "sac_continuous_action": (1000, 12_000, "HalfCheetah-v5"),
}
"""N that the documents name, steps, and environment."""
WARM_UP = 20_000


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m bench.histograms", description=__doc__.partition("\n")[0])
    words.add_argument("--only", choices=[*CASES], default="ppo")
    words.add_argument("--pairs", type=int, default=7, help="runs with and without (default 7)")
    words.add_argument("--every", type=int, default=0, help="another N than the documents name")
    flags = words.parse_args()
    every, steps, env_id = CASES[flags.only]
    every = flags.every or every
    ratios: list[float] = []
    best = {0: float("inf"), every: float("inf")}
    for pair in range(flags.pairs):
        used = {one: cpu_s(flags.only, env_id, steps, one) for one in ((0, every) if pair % 2 else (every, 0))}
        best = {one: min(best[one], used[one]) for one in best}
        ratios.append(used[every] / used[0])
        print(f"{pair + 1:>3}: {used[every]:.3f} / {used[0]:.3f} s", flush=True)
    low, middle, high = statistics.quantiles(ratios, n=4)
    lowest = best[every] / best[0]
    print(f"{flags.only}, --histograms-every {every}, {steps:,} steps: processor time with / without {middle:.4f}")
    print(f"quartiles {low:.3f} to {high:.3f}, n={len(ratios)}; by the lowest of each {lowest:.4f}; goal {1 + TARGET}")
    return 0 if min(middle, lowest) <= 1 + TARGET else 1


def cpu_s(algo: str, env_id: str, steps: int, every: int) -> float:
    """Of one run, behind its warm-up."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        run = [f"--algo={algo}", f"--env-id={env_id}", f"--total-timesteps={steps}", "--quiet", "--no-cuda"]
        command = [sys.executable, "-m", "bench.ours", str(result), str(min(WARM_UP, steps // 2)), *run]
        variables = {**os.environ, "MOSAIC_HOME": folder, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, f"--histograms-every={every}"], env=variables, check=True, stdout=subprocess.DEVNULL)
        return float(json.loads(result.read_text())["cpu_s"])


if __name__ == "__main__":
    raise SystemExit(main())
