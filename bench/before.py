"""This tree against another checkout of it: seconds of a training loop, in alternation.

    git worktree add ../before COMMIT
    python -m bench.before ../before

A ratio above 1 says that this tree is faster. `--whole` times the command from start to exit: imports, the checks of
the fast path and saving included. `--turns` keeps a training of each tree alive and lets one run at a time, so that
neighbouring turns see the same machine: for one that is busy. Exit code 1 if a median is below the floor.
"""

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from statistics import median, quantiles

from bench import process
from bench.cases import CASES, Case
from bench.in_turn import InTurn, ratios_of_turns
from bench.settings import args_of

FLOOR = 0.97
STEADY_STEPS = 5_000_000
"""Of a training that is to last for all turns."""
STEADY = Path(__file__).with_name("steady.py")


def measured(case: Case, root: Path, steps: int, *, whole: bool) -> float:
    """Processor seconds, which another program on the machine changes least."""
    settings = {**case.settings, "total_timesteps": steps}
    with process.Workshop(root=root) as shop:
        words = process.our_words(case.algo, settings, case.options)
        if whole:
            return shop.run(["cleanrl_worker.cli", *words])["cpu_s"]
        shop.run(["bench.ours", str(shop.result), str(case.warmup_steps), *words])
        return float(shop.measured()["cpu_s"])


def in_turn(case: Case, shop: process.Workshop, steps: int) -> InTurn:
    """A training from the sources of the workshop, warm: learning has begun, and the fast path has been checked."""
    settings = {**case.settings, "total_timesteps": steps}
    args = args_of(case.algo, settings)
    # Whole rollouts; of the others a number that all intervals of updates divide.
    rollout = args.num_envs * args.num_steps if hasattr(args, "num_steps") else 0
    piece_steps = rollout or case.quick_steps // 20 // 20 * 20
    words = process.our_words(case.algo, settings, case.options)
    process_of_it = InTurn(
        ["-P", str(STEADY), str(piece_steps), *words, "--quiet"],
        shop.folder,
        shop.places,
    )
    process_of_it.warm_up(case.warmup_steps // piece_steps + 10)
    return process_of_it


def ratios_in_turn(case: Case, other: Path, turns: int, turn_s: float, steps: int) -> list[float]:
    with process.Workshop(root=other) as theirs, process.Workshop() as ours, ExitStack() as stack:
        pair: list[InTurn] = []
        for shop in (theirs, ours):
            pair.append(in_turn(case, shop, steps))
            stack.callback(pair[-1].kill)
        return [cpu for _, cpu in ratios_of_turns(*pair, turns, turn_s)]


def is_slow(case: Case, ratios: list[float], also: str = "") -> bool:
    """Whether it is below the floor, which is printed."""
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    below = median(ratios) < FLOOR
    print(
        f"{case.name}: {median(ratios):.3f} of before (quartiles {low:.3f} to {high:.3f}, n = {len(ratios)};"
        f" {also}load {os.getloadavg()[0]:.1f}){f'  BELOW {FLOOR}' if below else ''}",
        flush=True,
    )
    return below


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.before", description=__doc__)
    parser.add_argument("other", type=Path, help="the other checkout")
    names = [case.name for case in CASES if not case.episodes and not case.whole_command]
    parser.add_argument("--only", action="append", choices=names, help="this case; repeatable")
    parser.add_argument("--repetitions", type=int, default=5, help="pairs of each case (default 5)")
    parser.add_argument("--steps", type=int, help="steps of each run, instead of the case's own")
    parser.add_argument("--whole", action="store_true", help="the whole command, not the loop alone")
    parser.add_argument("--turns", type=int, help="so many pairs of turns of two trainings that go on")
    parser.add_argument("--turn-s", type=float, default=3.0, help="seconds of a turn (default 3)")
    options = parser.parse_args()
    process.end_cleanly()
    slow: list[str] = []
    for case in (case for case in CASES if case.name in (options.only or names)):
        if options.turns:
            steps = options.steps or STEADY_STEPS
            ratios = ratios_in_turn(case, options.other.resolve(), options.turns, options.turn_s, steps)
            slow += [case.name] if is_slow(case, ratios) else []
            continue
        ratios: list[float] = []
        lowest = dict.fromkeys((options.other.resolve(), process.ROOT), float("inf"))
        for repetition in range(options.repetitions):
            # Each goes first in turn: a drift hurts both.
            sides = [options.other.resolve(), process.ROOT][:: 1 if repetition % 2 else -1]
            took = {side: measured(case, side, options.steps or case.steps, whole=options.whole) for side in sides}
            lowest = {side: min(lowest[side], took[side]) for side in sides}
            ratios.append(took[options.other.resolve()] / took[process.ROOT])
        of_the_lowest = lowest[options.other.resolve()] / lowest[process.ROOT]
        slow += [case.name] if is_slow(case, ratios, f"{of_the_lowest:.3f} by the lowest of each, ") else []
    return 1 if slow else 0


if __name__ == "__main__":
    raise SystemExit(main())
