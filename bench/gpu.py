"""Milliseconds of the learners' work on a GPU: CUDA graphs against the same file run eagerly, in alternation.

    python -m bench.gpu [--only NAME] [--rounds N] [--json FILE]

`step` is all that the learner does for one step of its environments, apart from these: acting, filling and sampling the
replay memory, gradient steps and targets; for the algorithms with rollouts, a whole iteration of acting and updating.
`gradient` is the update alone. `first` is the time of the first calls, which record the graphs. Then three checks: that
both ways lead to the same weights, that a learner that was saved and loaded goes on to the same weights, and that the
same seed gives the same weights.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from bench.learners import SUBJECTS, Subject
from cleanrl_worker.sdk.checkpoints import state_tree

WAYS = ("eager", "graphed")
ROUNDS = 7
SECONDS = 0.4
UPDATES = 40
"""Gradient steps after which weights are compared."""


def milliseconds(call: Any) -> float:
    torch.cuda.synchronize()
    calls, start = 0, time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        call()
        calls += 1
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / calls * 1e3


def first_calls(subject: Subject) -> float:
    """Seconds of so many steps that every graph is recorded."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(subject.calls_to_record):
        subject.step()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def speed(name: str, rounds: int) -> dict[str, Any]:
    subjects = {way: SUBJECTS[name](cuda_graph=way == "graphed") for way in WAYS}
    found: dict[str, Any] = {"first_s": {way: first_calls(subject) for way, subject in subjects.items()}}
    for part in ("step", "gradient"):
        times: dict[str, list[float]] = {way: [] for way in WAYS}
        for subject in subjects.values():
            for _ in range(4):
                getattr(subject, part)()
        for _ in range(rounds):
            for way, subject in subjects.items():
                times[way].append(milliseconds(getattr(subject, part)))
        ratios = [eager / graphed for eager, graphed in zip(*times.values(), strict=True)]
        found[part] = {way: statistics.median(values) for way, values in times.items()} | {
            "ratio": statistics.median(ratios),
            "least": min(ratios),
            "most": max(ratios),
            "n": rounds,
        }
    return found


def trained(subject: Subject, updates: int) -> torch.Tensor:
    for _ in range(updates):
        subject.gradient()
    return subject.weights()


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    return float((one - other).norm() / other.norm())


def checks(name: str) -> dict[str, float]:
    """Relative distances of weights; 0 is equal to the bit."""
    results: dict[str, list[torch.Tensor]] = {way: [] for way in WAYS}
    for way in (*WAYS, *WAYS):
        torch.manual_seed(7)
        results[way].append(trained(SUBJECTS[name](cuda_graph=way == "graphed"), UPDATES))

    torch.manual_seed(7)
    straight = SUBJECTS[name](cuda_graph=True)
    trained(straight, UPDATES // 2)
    document, arrays = state_tree.split(straight.state())
    expected = trained(straight, UPDATES // 2)
    resumed = SUBJECTS[name](cuda_graph=True)
    resumed.load(state_tree.join(document, arrays))
    return {
        "graphed_and_eager": distance(results["graphed"][0], results["eager"][0]),
        "eager_twice": distance(*results["eager"]),
        "graphed_twice": distance(*results["graphed"]),
        "resumed": distance(trained(resumed, UPDATES // 2), expected),
    }


def line(name: str, part: str, found: dict[str, Any]) -> str:
    return (
        f"{name:24s} {part:9s} eager {found['eager']:8.3f} ms   graphed {found['graphed']:8.3f} ms"
        f"   × {found['ratio']:.2f} ({found['least']:.2f} to {found['most']:.2f}, n = {found['n']})"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.gpu", description=__doc__)
    parser.add_argument("--only", action="append", choices=list(SUBJECTS), help="this algorithm; repeatable")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"pairs of each (default {ROUNDS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every figure there")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("torch finds no CUDA device here; this compares two ways to use one, so there is nothing to measure")
        return 2
    torch.backends.cudnn.deterministic = True  # As in a run.
    machine = f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    print(machine)
    figures: dict[str, Any] = {"machine": machine}
    for name in options.only or SUBJECTS:
        found = figures[name] = speed(name, options.rounds) | {"checks": checks(name)}
        for part in ("step", "gradient"):
            print(line(name, part, found[part]))
        first = ", ".join(f"{way} {seconds:.2f} s" for way, seconds in found["first_s"].items())
        distances = ", ".join(f"{check} {value:.1e}" for check, value in found["checks"].items())
        print(f"{name:24s} first     {first}\n{name:24s} weights   {distances}", flush=True)
        if options.json:
            # After each, because the next one may be interrupted.
            options.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
