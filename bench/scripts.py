"""What MOSAIC costs around a script, against plain `python script.py`.

    python -m bench.scripts [--turns 30] [--turn-s 2] [--starts 5]

Steps per second: the script runs plainly and in a run directory at the same time, but never both at once; the one whose
turn it is not is stopped (SIGSTOP), with all its threads. So both see the same machine within seconds, and every pair
of turns gives a ratio of the time that an iteration takes, by the wall clock and by processor time, that of all threads
(which a busy machine disturbs less); iterations that were cut by a stop do not count. Start: the time from the start of
the process to the script's first step, in alternation. Exit code 1 if a bound is missed by the wall clock.
"""

import argparse
import tempfile
from pathlib import Path
from statistics import median, quantiles

from bench.in_turn import InTurn, ratios_of_turns
from mosaic.spec.run_dir import Home, new_run_id

SCRIPT = Path(__file__).with_name("scripted_ppo.py")
ENDLESS = 1_000_000
WARM_ITERATIONS = 5
LEAST_RATIO, MOST_START_S = 0.97, 1.0


def plain(folder: Path, iterations: int) -> InTurn:
    return InTurn([str(SCRIPT), str(iterations)], folder)


def around(folder: Path, iterations: int) -> InTurn:
    run_dir = Home(folder).run(new_run_id()).root
    words = ["-m", "cleanrl_worker.cli", "--algo", str(SCRIPT), "--run-dir", str(run_dir)]
    return InTurn([*words, "--", str(iterations)], folder)


def steps_ratio(folder: Path, turns: int, turn_s: float) -> float:
    """Of the steps per second around the script to those without; the median over pairs of turns."""
    scripts = (plain(folder, ENDLESS), around(folder, ENDLESS))
    try:
        for script in scripts:
            script.warm_up(WARM_ITERATIONS)
        ratios = ratios_of_turns(*scripts, turns, turn_s)
    finally:
        for script in scripts:
            script.kill()
    wall, cpu = (quantiles(column, n=4) for column in zip(*ratios, strict=True))
    print(f"steps/s around the script, of plain (n = {len(ratios)}, quartiles in brackets):")
    for clock, (low, middle, high) in (("the wall clock", wall), ("processor time", cpu)):
        print(f"  {middle:.3f} by {clock} [{low:.3f}-{high:.3f}]")
    return median(wall for wall, _ in ratios)


def later_start_s(folder: Path, starts: int) -> float:
    """How much later the first step comes; the median over pairs."""
    later: list[float] = []
    for turn in range(starts):
        found: dict[bool, float] = {}
        for is_ours in (False, True) if turn % 2 == 0 else (True, False):
            script = (around if is_ours else plain)(folder, 1)
            script.wait()
            found[is_ours] = script.said("first_step_at") - script.started_at
        later.append(found[True] - found[False])
    print(f"first step {median(later):+.2f} s (n = {len(later)}: {', '.join(f'{one:+.2f}' for one in later)})")
    return median(later)


def main() -> int:
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--turns", type=int, default=30)
    flags.add_argument("--turn-s", type=float, default=2.0)
    flags.add_argument("--starts", type=int, default=5)
    asked = flags.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as name:
        later = later_start_s(Path(name), asked.starts)
        ratio = steps_ratio(Path(name), asked.turns, asked.turn_s)
    return 0 if ratio >= LEAST_RATIO and later <= MOST_START_S else 1


if __name__ == "__main__":
    raise SystemExit(main())
