"""Evaluating a policy file: batches of episodes in parallel environments; no training code runs."""

import json
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from cleanrl_worker.sdk import catalog, command, policy
from cleanrl_worker.sdk.console import Console
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from cleanrl_worker.sdk.recorder import Recorder
from cleanrl_worker.sdk.spool import Spool
from cleanrl_worker.sdk.tensorboard import TensorBoard, markdown_table
from cleanrl_worker.sdk.vector import Envs
from mosaic import config, envs
from mosaic.errors import MosaicError, PolicyError
from mosaic.spec import identity, manifest
from mosaic.spec.events import Episode, EvalBatch, RunCompleted, RunFailed, RunStarted, Scalars, number
from mosaic.spec.files import write_atomically
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_config import PolicyEvalExtras, TrainRunConfig
from mosaic.spec.run_dir import Home, RunDir, new_run_id, run_label

PARALLEL = 10
"""Environments of one evaluation; each plays a fixed quota, so that short episodes are not over-represented."""


@dataclass(frozen=True, kw_only=True)
class EvalFlags:
    """Flags of an evaluation."""

    policy_path: Path
    """The policy file."""
    episodes: Annotated[int, Ge(1)] = 50
    """Episodes a batch."""
    seed: Annotated[int, Ge(0)] = 1
    """Seed of the first environment."""
    deterministic: bool = False
    """Take the likeliest action instead of sampling as in training."""
    repeat: bool = False
    """Further batches until stopped."""
    env_id: str | None = None
    """Another environment than the one in the policy file."""
    run_dir: Path | None = None
    """Directory of the run, named by a ULID; made in the home if not given."""
    quiet: bool = False
    """No line for each episode."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        flags = config.from_flags(EvalFlags, words, prog="python -m cleanrl_worker.evaluate", description=__doc__)
        return evaluate(flags)
    except MosaicError as error:
        return command.reported(error)


def flags_of(document: TrainRunConfig, run_dir: Path | None) -> EvalFlags:
    """What a policy_eval run config asks for."""
    worker = document.metadata.worker.config
    extras = worker.extras
    assert isinstance(extras, PolicyEvalExtras)
    return EvalFlags(
        policy_path=Path(extras.policy_path),
        episodes=extras.eval_episodes,
        seed=worker.seed if extras.seed_override is None else extras.seed_override,
        repeat=extras.eval_repeat,
        env_id=worker.env_id,
        run_dir=run_dir,
    )


def evaluate(flags: EvalFlags) -> int:
    """Play the batches and leave a run directory behind; the exit code."""
    file = policy.read(flags.policy_path)
    actor = catalog.load(file.algo).load(file)
    env_id = flags.env_id or file.env_id
    vector = envs.make_vec(env_id, min(PARALLEL, flags.episodes))
    check_fit(file, vector)
    run_dir = RunDir(flags.run_dir.absolute()) if flags.run_dir else Home.resolve().run(new_run_id())
    run_dir.create()
    identity.write_self(run_dir.worker, attempt=1)
    spool = Spool(run_dir.events)
    board = TensorBoard(run_dir.tensorboard_eval, hyperparameters=markdown_table(file.args))
    recorder = Recorder([spool, board, *([] if flags.quiet else [Console()])], last_seq=spool.last_seq, beat=lambda: None)
    recorder.emit(
        RunStarted(
            algo=file.algo,
            env_id=env_id,
            seed=flags.seed,
            total_timesteps=0,
            pid=os.getpid(),
            host=socket.gethostname(),
        )
    )
    _write_manifest(run_dir, file, env_id, flags.seed)
    try:
        batches = play_batches(actor, vector, flags, recorder)
        done = [_store(run_dir, summary, recorder) for summary in batches]
    except BaseException as error:
        recorder.emit(RunFailed(global_step=0, error=type(error).__name__, message=str(error)))
        raise
    else:
        recorder.emit(RunCompleted(global_step=len(done)))
        return 0
    finally:
        recorder.close()
        vector.close()


def check_fit(file: PolicyFile, vector: envs.VecEnv) -> None:
    """The environment has the spaces that the policy was trained for."""
    for name, trained, given in (
        ("observation", file.observation_space, vector.single_observation_space),
        ("action", file.action_space, vector.single_action_space),
    ):
        if trained.shape != given.shape or getattr(trained, "n", None) != getattr(given, "n", None):
            raise PolicyError(f"the policy has {name} space {trained}, the environment {given}; evaluate it in {file.env_id}")


def play_batches(actor: Policy, vector: envs.VecEnv, flags: EvalFlags, recorder: Recorder) -> Iterator[dict[str, Any]]:
    """Summaries of one batch after the other."""
    batch = 0
    while batch == 0 or flags.repeat:
        batch += 1
        started = time.monotonic()
        episodes = play(actor, vector, flags.episodes, seed=flags.seed + batch - 1, deterministic=flags.deterministic)
        for index, episode in enumerate(episodes, start=(batch - 1) * flags.episodes):
            values = {"eval/episodic_return": episode.episodic_return, "eval/episodic_length": episode.episodic_length}
            recorder.emit(Scalars(global_step=index, values=values))
        returns = np.array([float(episode.episodic_return) for episode in episodes])
        yield {
            "batch": batch,
            "episodes": len(returns),
            "mean": float(returns.mean()),
            "std": float(returns.std()),
            "min": float(returns.min()),
            "max": float(returns.max()),
            "median": float(np.median(returns)),
            "mean_length": float(np.mean([episode.episodic_length for episode in episodes])),
            "duration_s": round(time.monotonic() - started, 3),
        }


def play(actor: Policy, vector: envs.VecEnv, episodes: int, *, seed: int, deterministic: bool) -> list[Episode]:
    """`episodes` episodes, the same number from each environment (one more from the first ones)."""
    per_env, rest = divmod(episodes, vector.num_envs)
    left = [per_env + (slot < rest) for slot in range(vector.num_envs)]
    played: list[Episode] = []

    def take(episode: Episode) -> None:
        if left[episode.slot] > 0:
            left[episode.slot] -= 1
            played.append(episode)

    lanes = Envs(vector, take)
    generator = np.random.default_rng(seed)
    obs = lanes.reset(seed)
    while any(left):
        obs, *_ = lanes.step(actor.act(obs, generator, deterministic=deterministic))
    return played


def _write_manifest(run_dir: RunDir, file: PolicyFile, env_id: str, seed: int) -> None:
    found = Manifest(
        run_id=run_dir.run_id,
        mode="policy_eval",
        algo=file.algo,
        env_id=env_id,
        seed=seed,
        label=run_label(env_id, file.algo, seed, int(time.time())),
        artifacts=(
            Artifact(kind="events", path="events.jsonl"),
            Artifact(kind="tensorboard", path=run_dir.relative(run_dir.tensorboard_eval)),
            Artifact(kind="eval_summary", path=run_dir.relative(run_dir.eval_summary)),
        ),
    )
    manifest.write(run_dir, found)


def _store(run_dir: RunDir, summary: dict[str, Any], recorder: Recorder) -> dict[str, Any]:
    """Append to `eval_summary.json` and report the batch."""
    history: list[Any] = json.loads(run_dir.eval_summary.read_bytes()) if run_dir.eval_summary.exists() else []
    write_atomically(run_dir.eval_summary, json.dumps([*history, summary], indent=1) + "\n")
    recorder.emit(
        EvalBatch(
            batch=summary["batch"],
            episodes=summary["episodes"],
            mean=number(summary["mean"]),
            std=number(summary["std"]),
            minimum=number(summary["min"]),
            maximum=number(summary["max"]),
            duration_s=summary["duration_s"],
        )
    )
    return summary


if __name__ == "__main__":
    raise SystemExit(main())
