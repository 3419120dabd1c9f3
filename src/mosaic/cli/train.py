"""`mosaic train ALGO [flags]`: train and follow; the flags are the worker's and the algorithm's own."""

import subprocess
import sys
from collections.abc import Callable, Sequence

from mosaic.cli import worker
from mosaic.cli.follow import follow, stop_gently
from mosaic.errors import ConfigError, Problem
from mosaic.spec.course import Course
from mosaic.spec.run_dir import Home, RunDir, new_run_id

MODULE = "cleanrl_worker.cli"
ANSWERED_BY_WORKER = ("-h", "--help", "--schema", "--dry-run")


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] in ("-h", "--help"):
        print("usage: mosaic train ALGO [flags]\n\n'mosaic train ALGO --help' shows the flags of an algorithm.")
        return 0
    if not argv or argv[0].startswith("-"):
        raise ConfigError([Problem("ALGO", "is missing: mosaic train ppo --env-id CartPole-v1")], what="mosaic train")
    algo, *flags = argv
    if any(flag in ANSWERED_BY_WORKER for flag in flags):
        return subprocess.run([sys.executable, "-m", MODULE, "--algo", algo, *flags], check=False).returncode
    run_dir = Home.resolve().run(new_run_id())
    train(algo, flags, run_dir)
    print(f"run directory: {run_dir.root}")
    return 0


def train(
    algo: str, flags: Sequence[str], run_dir: RunDir, until: Callable[[Course], bool] = lambda _: False
) -> Course:
    """Start a worker and show its progress until it ends, or until `until` holds."""
    started = worker.start(MODULE, ["--algo", algo, "--quiet", *flags], run_dir)
    try:
        course = follow(run_dir.events, started.process, until)
    except KeyboardInterrupt:
        stop_gently(started.process)
        print(f"stopped; go on with: {sys.executable} -m {MODULE} --resume {run_dir.root}")
        raise SystemExit(130) from None
    started.check()
    return course
