"""`mosaic demo`: the main job with embedded defaults, for a first look and for `make run`."""

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic import config
from mosaic.cli.evaluate import evaluate, line_of, policy_of
from mosaic.cli.train import train
from mosaic.spec import manifest
from mosaic.spec.course import Course
from mosaic.spec.run_dir import Home, RunDir, new_run_id

SOLVED_RETURN = 475.0
"""CartPole-v1 counts as solved at this mean return over 100 episodes."""


@dataclass(frozen=True, kw_only=True)
class DemoFlags:
    """Train PPO on CartPole-v1 until it is solved, then evaluate the saved policy."""

    seed: int = 1
    """Seed of the run."""
    episodes: int = 100
    """Episodes of the evaluation."""


def main(argv: Sequence[str]) -> int:
    flags = config.from_flags(DemoFlags, argv, prog="mosaic demo")
    home = Home.resolve()
    home.create()
    run_dir, eval_dir = home.run(new_run_id()), home.run(new_run_id())
    print("Training PPO on CartPole-v1 until the mean return of 100 episodes reaches 475 …", flush=True)
    started = time.monotonic()
    course = train("ppo", ["--env-id", "CartPole-v1", "--seed", str(flags.seed)], run_dir, until=_solved)
    elapsed_s = time.monotonic() - started
    verdict = "Solved" if _solved(course) else "Not solved"
    print(f"{verdict} after {course.global_step:,} steps in {elapsed_s:.1f} s, start-up included.\n")
    print("Evaluating the saved policy …", flush=True)
    summary = evaluate(policy_of(run_dir), ["--episodes", str(flags.episodes), "--deterministic"], eval_dir)
    print(f"  {line_of(summary)}\n")
    _show_what_is_there(run_dir, eval_dir)
    return 0 if _solved(course) else 1


def _solved(course: Course) -> bool:
    mean = course.mean_return
    return mean is not None and len(course.returns) == course.returns.maxlen and mean >= SOLVED_RETURN


def _show_what_is_there(run_dir: RunDir, eval_dir: RunDir) -> None:
    print("What it made:")
    for artifact in manifest.read(run_dir).artifacts:
        print(f"  {artifact.kind:<12} {_short(run_dir.root / artifact.path)}")
    print(f"  {'evaluation':<12} {_short(eval_dir.eval_summary)}")
    mosaic = _short(Path(sys.argv[0]).absolute())
    print("\nTry next:")
    print(f"  {mosaic} train dqn --env-id CartPole-v1 --total-timesteps 100000")
    print(f"  {mosaic} evaluate {run_dir.run_id} --episodes 20")
    print(f"  {mosaic} runs")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        print(f"  {mosaic} gui        # the window: this machine has a display")


def _short(path: Path) -> str:
    """Relative to the working directory where that is shorter to type."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
