"""This tree against another checkout of it: seconds of a training loop, in alternation.

    git worktree add ../before COMMIT
    python -m bench.before ../before

A ratio above 1 says that this tree is faster. `--whole` times the command from start to exit: imports, the checks of
the fast path and saving included. Exit code 1 if a median is below the floor.
"""

import argparse
import os
from pathlib import Path
from statistics import median, quantiles

from bench import process
from bench.cases import CASES, Case

FLOOR = 0.97


def measured(case: Case, root: Path, steps: int, *, whole: bool) -> float:
    """Processor seconds, which another program on the machine changes least."""
    settings = {**case.settings, "total_timesteps": steps}
    with process.Workshop(root=root) as shop:
        words = process.our_words(case.algo, settings, case.options)
        if whole:
            return shop.run(["cleanrl_worker.cli", *words])["cpu_s"]
        shop.run(["bench.ours", str(shop.result), str(case.warmup_steps), *words])
        return float(shop.measured()["cpu_s"])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.before", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout")
    names = [case.name for case in CASES if not case.episodes and not case.whole_command]
    parser.add_argument("--only", action="append", choices=names, help="this case; repeatable")
    parser.add_argument("--repetitions", type=int, default=5, help="pairs of each case (default 5)")
    parser.add_argument("--steps", type=int, help="steps of each run, instead of the case's own")
    parser.add_argument("--whole", action="store_true", help="the whole command, not the loop alone")
    options = parser.parse_args()
    process.end_cleanly()
    slow: list[str] = []
    for case in (case for case in CASES if case.name in (options.only or names)):
        ratios: list[float] = []
        lowest = dict.fromkeys((options.other.resolve(), process.ROOT), float("inf"))
        for repetition in range(options.repetitions):
            # Each goes first in turn: a drift hurts both.
            sides = [options.other.resolve(), process.ROOT][:: 1 if repetition % 2 else -1]
            took = {side: measured(case, side, options.steps or case.steps, whole=options.whole) for side in sides}
            lowest = {side: min(lowest[side], took[side]) for side in sides}
            ratios.append(took[options.other.resolve()] / took[process.ROOT])
        low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
        is_slow = median(ratios) < FLOOR
        slow += [case.name] if is_slow else []
        of_the_lowest = lowest[options.other.resolve()] / lowest[process.ROOT]
        print(
            f"{case.name}: {median(ratios):.3f} of before (quartiles {low:.3f} to {high:.3f}, n = {len(ratios)};"
            f" {of_the_lowest:.3f} by the lowest of each, load {os.getloadavg()[0]:.1f})"
            f"{f'  BELOW {FLOOR}' if is_slow else ''}",
            flush=True,
        )
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
