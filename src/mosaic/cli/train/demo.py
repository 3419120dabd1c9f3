"""`mosaic demo`: the main job with embedded defaults, for a first look and for `make run`."""

import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli import INTERRUPTED
from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.evaluation import evaluate
from mosaic.cli.runs.follow_to_end import RunFailed, detached, follow
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.train.train import document_of, parse
from mosaic.rpc.client import Client
from mosaic.rpc.evaluation_summary import SUMMARY
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

SOLVED_RETURN = 475.0
"""CartPole-v1 counts as solved at this mean return over 100 episodes."""
ENV_ID = "CartPole-v1"


def main(argv: Sequence[str]) -> int:
    words = parser("demo", "Train PPO on CartPole-v1 until it is solved, then evaluate the saved policy.")
    words.seed("the run")
    words.number("--episodes", low=1, default=100, metavar="N", help="episodes of the evaluation (default 100)")
    flags = words.parse_args(argv)
    print(f"Training PPO on {ENV_ID} until the mean return of 100 episodes reaches {SOLVED_RETURN:.0f} …", flush=True)
    started = time.monotonic()
    with connect() as client:
        goal = ["--stop-at-return", str(SOLVED_RETURN), "--label", "demo"]
        settings, run_flags, _ = parse(client, "ppo", ["--env-id", ENV_ID, "--seed", str(flags.seed), *goal])
        [run] = client.submit(document_of("ppo", settings, run_flags))
        try:
            run = _train(client, run)
            verdict = "Solved" if _solved(run) else "Not solved"
            elapsed_s = time.monotonic() - started
            print(f"{verdict} after {run.global_step:,} steps in {elapsed_s:.1f} s, start-up included.\n")
            print("Evaluating the saved policy …", flush=True)
            evaluation = _evaluate(client, run, flags.episodes)
        except KeyboardInterrupt:
            detached([run])
            return INTERRUPTED
        _show_what_is_there(client, run, evaluation)
    return 0 if _solved(run) else 1


def _train(client: Client, run: RunRecord) -> RunRecord:
    [ended] = follow(client, [run])
    if ended.state is not RunState.FINISHED:
        raise RunFailed(ended)
    return ended


def _solved(run: RunRecord) -> bool:
    """The worker ends the run at the episode that solves it, so that the same seed takes the same steps each time."""
    return run.global_step < run.total_timesteps


def _evaluate(client: Client, run: RunRecord, episodes: int) -> RunRecord:
    policy = evaluate.find_policy(client, run.run_id)
    evaluation = client.evaluate(policy, episodes=episodes, deterministic=True, label="demo, evaluated")
    [summary] = evaluate.results_of(client, [evaluation])
    print(f"  {evaluate.line_of(summary)}\n")
    return evaluation


def _show_what_is_there(client: Client, run: RunRecord, evaluation: RunRecord) -> None:
    print(f"What it made, in {_short(Path(run.run_dir))}:")
    for artifact in client.artifacts(run.run_id):
        print(f"  {artifact.kind:<12} {artifact.path}")
    print(f"and for the evaluation, in {_short(Path(evaluation.run_dir))}:\n  {'summary':<12} {SUMMARY}")
    mosaic = _command()
    print("\nTry next:")
    print(f"  {mosaic} runs")
    print(f"  {mosaic} resume {shown_id(run.run_id)} --follow    # go on from there")
    print(f"  {mosaic} train dqn --total-timesteps 100000 --seeds 1-3")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        print(f"  {mosaic} gui        # the window: this machine has a display")


def _command() -> str:
    """What to type for this very program."""
    program = Path(sys.argv[0]).absolute()
    found = shutil.which(program.name)
    return program.name if found and Path(found).samefile(program) else _short(program)


def _short(path: Path) -> str:
    """Relative to the working directory where that is shorter to type."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
