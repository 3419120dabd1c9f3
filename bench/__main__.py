"""Env steps per second of ours and of Stable-Baselines3, equal settings, one thread, in alternation.

Where SB3 has no such algorithm, the other side is our own plain torch version.

Exit code 1 if a ratio is below the floor.
"""

import argparse
import json
import os
from pathlib import Path

from bench import evaluation, process
from bench.cases import CASES, Case
from bench.table import Row, table


def measure_evaluation(case: Case, *, repetitions: int) -> Row:
    row = Row(case)
    with evaluation.trained() as (shop, policy):
        for repetition in range(repetitions):
            pair = [evaluation.measured(shop, side, policy, case.episodes) for side in ("ours", "sb3")]
            for side, found in zip((row.ours, row.sb3), pair, strict=True):
                side.add(found["steps"], found["wall_s"], found["cpu_s"])
            print(
                f"{case.name} {repetition + 1}/{repetitions}: ours {pair[0]['wall_s']:.2f} s, return"
                f" {pair[0]['mean']:.1f}  SB3 {pair[1]['wall_s']:.2f} s, return {pair[1]['mean']:.1f}"
                f"  ratio {row.pair_ratios[-1]:.2f}  load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
    return row


def measure(case: Case, *, quick: bool, repetitions: int) -> Row:
    if case.episodes:
        return measure_evaluation(case, repetitions=repetitions)
    row, settings = Row(case), case.settings_for(quick=quick)
    for repetition in range(repetitions):
        if case.whole_command:
            steps = settings["total_timesteps"]
            ours = {"steps": steps} | process.our_command(case.algo, settings, case.options)
            sb3 = {"steps": steps} | process.sb3_command(case.algo, settings)
        else:
            ours = process.our_loop(case.algo, settings, case.options, case.warmup_steps)
            other_loop = process.plain_loop if case.plain else process.sb3_loop
            sb3 = other_loop(case.algo, settings, case.warmup_steps)
        if ours["steps"] != sb3["steps"]:
            raise SystemExit(f"{case.name}: ours made {ours['steps']} steps, SB3 {sb3['steps']}: not comparable")
        row.ours.add(ours["steps"], ours["wall_s"], ours["cpu_s"])
        row.sb3.add(sb3["steps"], sb3["wall_s"], sb3["cpu_s"])
        ours_rate, sb3_rate = row.ours.steps_per_s[-1], row.sb3.steps_per_s[-1]
        print(
            f"{case.name} {repetition + 1}/{repetitions}: ours {ours_rate:,.0f}  {case.other} {sb3_rate:,.0f}"
            f"  ratio {ours_rate / sb3_rate:.2f}  load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    return row


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller budgets")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES], help="this case; repeatable")
    parser.add_argument("--repetitions", type=int, default=3, help="pairs of each case (default 3)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    options = parser.parse_args()
    process.end_cleanly()
    cases = [case for case in CASES if not options.only or case.name in options.only]
    rows: list[Row] = []
    for case in cases:
        rows.append(measure(case, quick=options.quick, repetitions=options.repetitions))
        if options.json:
            # After each case, because the next one may be interrupted.
            options.json.parent.mkdir(parents=True, exist_ok=True)
            options.json.write_text(json.dumps([row.to_json() for row in rows], indent=1) + "\n")
    print(f"\n{table(rows)}")
    return 0 if all(row.ok for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
