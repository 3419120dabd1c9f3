"""Milliseconds of the learners on pictures, in float32 and in bfloat16, in alternation, on one thread; without
environments.

    python -m bench.bfloat16 [--only NAME] [--rounds N]

`step` and `gradient` are those of `bench.gpu`.
"""

import argparse
import statistics
import time

import torch

from bench.learners import SUBJECTS, Call, device

ON_PICTURES = ("ppo_atari", "ppo_rnd", "dqn_atari", "c51_atari", "rainbow_atari")
WAYS = (False, True)


def milliseconds(call: Call) -> float:
    """The mean of as many calls as fit into a second."""
    calls, start = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - start < 1:
        call()
        calls += 1
    if device().type == "cuda":
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.bfloat16", description=__doc__)
    parser.add_argument("--only", action="append", choices=ON_PICTURES, help="this algorithm; repeatable")
    parser.add_argument("--rounds", type=int, default=5, help="pairs of each (default 5)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name in options.only or ON_PICTURES:
        subjects = {way: SUBJECTS[name](cuda_graph=True, bfloat16=way) for way in WAYS}
        for part in ("step", "gradient"):
            times: dict[bool, list[float]] = {way: [] for way in WAYS}
            for subject in subjects.values():
                getattr(subject, part)()
            for _ in range(options.rounds):
                for way, subject in subjects.items():
                    times[way].append(milliseconds(getattr(subject, part)))
            ratios = [exact / rounded for exact, rounded in zip(times[False], times[True], strict=True)]
            exact, rounded = (statistics.median(times[way]) for way in WAYS)
            print(
                f"{name:14s} {part:9s} float32 {exact:8.2f} ms   bfloat16 {rounded:8.2f} ms"
                f"   × {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, n = {len(ratios)})",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
