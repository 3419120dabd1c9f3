"""Evaluating a policy file: batches of episodes in parallel environments; no training code runs."""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from cleanrl_worker.sdk import catalog, command, live
from cleanrl_worker.sdk.console import Console
from cleanrl_worker.sdk.eval_plan import Plan, check_fit, resolve
from cleanrl_worker.sdk.eval_view import seen
from cleanrl_worker.sdk.execute import Rehearsal, free_bytes, publishing, refuse_used, write_start
from cleanrl_worker.sdk.ledger import Ledger, common_artifacts
from cleanrl_worker.sdk.policy import Policy
from cleanrl_worker.sdk.recorder import Recorder, Sink
from cleanrl_worker.sdk.spool import Spool
from cleanrl_worker.sdk.stop import on_stop_signal
from cleanrl_worker.sdk.tee import logged_to
from cleanrl_worker.sdk.tensorboard import TensorBoard, board_folder, markdown_table
from cleanrl_worker.sdk.vector import Envs
from mosaic import envs
from mosaic.errors import EnvironmentFailed, MosaicError
from mosaic.log import get_logger
from mosaic.spec import identity
from mosaic.spec.events import Episode, EvalBatch, Number, RunCompleted, RunFailed, RunStarted, Scalars, number
from mosaic.spec.files import write_atomically
from mosaic.spec.life_lock import own_life
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import run_label

log = get_logger()
PARALLEL = 10
"""Environments of one evaluation; each plays a fixed quota, so that short episodes are not over-represented."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        plan = resolve(words)
        envs.headless_defaults()
        with closing(_make_vector(plan)) as vector:
            check_fit(plan.file, vector)
            refuse_used(plan.run_dir)
            room_bytes = free_bytes(plan.run_dir.root)
            if plan.flags.dry_run:
                _rehearsal(plan, vector, room_bytes).show(emit_summary=plan.flags.emit_summary)
                return 0
            plan.run_dir.create()
            with logged_to(plan.run_dir):
                sys.stdout.write(f"run directory: {plan.run_dir.root}\n")
                return _reported(lambda: evaluate(plan, vector))
    except MosaicError as error:
        return command.reported(error)


def _make_vector(plan: Plan) -> envs.VecEnv:
    """With pictures where they are wanted and can be had."""
    size, seen = min(PARALLEL, plan.flags.episodes), catalog.observations(plan.file.algo)
    if live.wanted(plan.flags) or plan.flags.capture_video:
        try:
            return envs.make_vec(plan.env_id, size, observations=seen, render_mode="rgb_array")
        except EnvironmentFailed as error:
            log.warning("eval.no_pictures", reason=str(error))
    return envs.make_vec(plan.env_id, size, observations=seen)


def _reported(action: Callable[[], int]) -> int:
    """The exit code of `action`; its error goes into the run's own log."""
    try:
        return action()
    except MosaicError as error:
        return command.reported(error)
    except Exception:  # A border: the traceback belongs into the run's own log, whatever raised.
        sys.stderr.write(traceback.format_exc())
        return 1


def evaluate(plan: Plan, vector: envs.VecEnv) -> int:
    """Play the batches and leave a run directory behind; the exit code."""
    with own_life(plan.run_dir):
        return _evaluate(plan, vector)


def _evaluate(plan: Plan, vector: envs.VecEnv) -> int:
    flags, run_dir = plan.flags, plan.run_dir
    write_start(run_dir, plan.run_config)
    identity.write_self(run_dir.worker, attempt=1)
    spool = Spool(run_dir.events)
    ledger = Ledger(run_dir, _new_manifest(plan))
    mirrors: list[Sink] = [Console(quiet=flags.quiet)]
    if flags.tensorboard:
        folder = board_folder(run_dir, flags.tensorboard_dir)
        mirrors.append(TensorBoard(folder, hyperparameters=markdown_table(plan.file.args)))
        ledger.add_board(folder)
    recorder = Recorder(spool, mirrors, beat=lambda: None)
    recorder.emit(_start_event(plan))
    batches = Batches(plan, vector, recorder, ledger)
    with on_stop_signal(batches.stop), publishing(flags, run_dir, superseded=batches.stop):
        try:
            with seen(batches.lanes, flags, run_dir, recorder, ledger, capture_video=flags.capture_video):
                batches.play()
        except BaseException as error:
            recorder.emit(RunFailed(global_step=batches.episodes, error=type(error).__name__, message=str(error)))
            raise
        else:
            recorder.emit(RunCompleted(global_step=batches.episodes, stopped=not batches.summaries))
        finally:
            recorder.close()
    if recorder.error is not None:
        raise recorder.error
    return 0


class Batches:
    """Batches of episodes, one after the other, each summed up in `eval_summary.json`."""

    def __init__(self, plan: Plan, vector: envs.VecEnv, recorder: Recorder, ledger: Ledger) -> None:
        self._plan = plan
        self._vector = vector
        self._recorder = recorder
        self._ledger = ledger
        self._stopping = False
        self.lanes = Envs(vector, lambda _: None)
        self.summaries: list[dict[str, Any]] = []
        self.episodes = 0
        """Episodes of complete batches."""

    def stop(self) -> None:
        """Ask for the end. An unfinished batch is dropped: its short episodes would be over-represented."""
        self._stopping = True

    def play(self) -> None:
        flags = self._plan.flags
        while not self._stopping and (flags.repeat or not self.summaries):
            started = time.monotonic()
            # No two environments of any two batches begin alike.
            seed = flags.seed + len(self.summaries) * self._vector.num_envs
            episodes = play(
                self._plan.actor,
                self._vector,
                flags.episodes,
                seed=seed,
                deterministic=flags.deterministic,
                stop=lambda: self._stopping or self._recorder.error is not None,
                lanes=self.lanes,
            )
            if len(episodes) == flags.episodes:
                self._report(episodes)
                self._sum_up(episodes, duration_s=round(time.monotonic() - started, 3))
            if self._recorder.error is not None:
                raise self._recorder.error

    def _report(self, episodes: Sequence[Episode]) -> None:
        for index, episode in enumerate(episodes, start=self.episodes):
            values: dict[str, Number] = {
                "eval/episodic_return": episode.episodic_return,
                "eval/episodic_length": float(episode.episodic_length),
            }
            self._recorder.emit(Scalars(global_step=index, values=values))

    def _sum_up(self, episodes: Sequence[Episode], *, duration_s: float) -> None:
        returns = np.array([float(episode.episodic_return) for episode in episodes])
        summary: dict[str, Any] = {
            "batch": len(self.summaries) + 1,
            "episodes": len(returns),
            "mean": float(returns.mean()),
            "std": float(returns.std()),
            "min": float(returns.min()),
            "max": float(returns.max()),
            "median": float(np.median(returns)),
            "mean_length": float(np.mean([episode.episodic_length for episode in episodes])),
            "duration_s": duration_s,
        }
        self.summaries.append(summary)
        self.episodes += len(episodes)
        if self.lanes.live is not None:
            score = f"return {summary['mean']:.1f} ± {summary['std']:.1f}"
            self.lanes.live.line = f"batch {summary['batch']}: {len(returns)} episodes, {score}"
        path = self._plan.run_dir.eval_summary
        write_atomically(path, json.dumps(self.summaries, indent=1) + "\n")
        if len(self.summaries) == 1:
            self._ledger.add(Artifact(kind="eval_summary", path=self._plan.run_dir.relative(path)))
        self._recorder.emit(
            EvalBatch(
                batch=summary["batch"],
                episodes=summary["episodes"],
                mean=number(summary["mean"]),
                std=number(summary["std"]),
                minimum=number(summary["min"]),
                maximum=number(summary["max"]),
                duration_s=duration_s,
            )
        )


def play(
    actor: Policy,
    vector: envs.VecEnv,
    episodes: int,
    *,
    seed: int,
    deterministic: bool,
    stop: Callable[[], bool] = lambda: False,
    lanes: Envs | None = None,
) -> list[Episode]:
    """`episodes` episodes, the same number from each environment (one more from the first ones); fewer if stopped."""
    per_env, rest = divmod(episodes, vector.num_envs)
    left = [per_env + (slot < rest) for slot in range(vector.num_envs)]
    played: list[Episode] = []

    def take(episode: Episode) -> None:
        if left[episode.slot] > 0:
            left[episode.slot] -= 1
            played.append(episode)

    lanes = lanes or Envs(vector, take)
    lanes.report_to(take)
    generator = np.random.default_rng(seed)
    obs = lanes.reset(seed)
    while any(left) and not stop():
        obs, *_ = lanes.step(actor.act(obs, generator, deterministic=deterministic))
    return played


def _start_event(plan: Plan) -> RunStarted:
    return RunStarted(
        algo=plan.file.algo,
        env_id=plan.env_id,
        seed=plan.flags.seed,
        total_timesteps=0,
        pid=os.getpid(),
        host=socket.gethostname(),
    )


def _new_manifest(plan: Plan) -> Manifest:
    return Manifest(
        run_id=plan.run_dir.run_id,
        mode="policy_eval",
        algo=plan.file.algo,
        env_id=plan.env_id,
        seed=plan.flags.seed,
        label=run_label(plan.env_id, plan.file.algo, plan.flags.seed, int(time.time())),
        artifacts=common_artifacts(plan.run_dir),
    )


def _rehearsal(plan: Plan, vector: envs.VecEnv, room_bytes: int) -> Rehearsal:
    summary: dict[str, Any] = {
        "mode": "policy_eval",
        "algo": plan.file.algo,
        "policy_path": str(plan.flags.policy_path),
        "trained_steps": plan.file.global_step,
        "episodes": plan.flags.episodes,
        "run_dir": str(plan.run_dir.root),
        "env_id": plan.env_id,
        "env_backend": vector.backend,
        "observation_space": str(vector.single_observation_space),
        "action_space": str(vector.single_action_space),
        "disk_free_bytes": room_bytes,
        "tensorboard": plan.flags.tensorboard,
        "render": envs.preflight(plan.env_id).message,
        "ok": True,
    }
    return Rehearsal(summary=summary)


if __name__ == "__main__":
    raise SystemExit(main())
