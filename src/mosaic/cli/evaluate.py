"""`mosaic evaluate RUN|POLICY [flags]`: play episodes with a trained policy."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.cli import worker
from mosaic.cli.pick import pick_run
from mosaic.errors import ConfigError, PolicyError, Problem, RunNotFound
from mosaic.spec import manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.spec.run_list import all_runs

MODULE = "cleanrl_worker.evaluate"


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] in ("-h", "--help"):
        print("usage: mosaic evaluate RUN|POLICY [flags]\n")
        return subprocess.run([sys.executable, "-m", MODULE, "--help"], check=False).returncode
    if not argv or argv[0].startswith("-"):
        raise ConfigError([Problem("RUN", "is missing: mosaic evaluate @last")], what="mosaic evaluate")
    home = Home.resolve()
    target, *flags = argv
    policy = Path(target) if Path(target).is_file() else policy_of(_pick(home, target))
    run_dir = home.run(new_run_id())
    print(line_of(evaluate(policy, flags, run_dir)))
    print(f"run directory: {run_dir.root}")
    return 0


def _pick(home: Home, word: str) -> RunDir:
    """@last is here the last run that saved a policy: an evaluation is a run too, and saves none."""
    if word != "@last":
        return pick_run(home, word)
    for run_dir in reversed(all_runs(home)):
        if run_dir.manifest.exists() and _policies(run_dir):
            return run_dir
    raise RunNotFound(word, hint="no run saved a policy yet; 'mosaic train ppo' makes one")


def _policies(run_dir: RunDir) -> list[str]:
    return [artifact.path for artifact in manifest.read(run_dir).artifacts if artifact.kind == "policy"]


def policy_of(run_dir: RunDir) -> Path:
    """The newest policy file of a run."""
    policies = _policies(run_dir)
    if not policies:
        raise PolicyError(f"run {run_dir.run_id} saved no policy; it may have been stopped before its first update")
    return run_dir.inside(policies[-1])


def evaluate(policy: Path, flags: Sequence[str], run_dir: RunDir) -> dict[str, Any]:
    """Run an evaluation; the summary of its last batch."""
    started = worker.start(MODULE, ["--policy-path", policy.absolute(), "--quiet", *flags], run_dir)
    try:
        started.check()
    except KeyboardInterrupt:
        started.process.terminate()
        started.process.wait()
        raise SystemExit(130) from None
    return json.loads(run_dir.eval_summary.read_bytes())[-1]


def line_of(summary: dict[str, Any]) -> str:
    return (
        f"{summary['episodes']} episodes: return {summary['mean']:.1f} ± {summary['std']:.1f}"
        f" (min {summary['min']:.0f}, max {summary['max']:.0f}) in {summary['duration_s']:.1f} s"
    )
