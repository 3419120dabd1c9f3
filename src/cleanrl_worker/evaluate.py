"""Evaluating a policy file: batches of episodes in parallel environments; no training code runs."""

import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le

from cleanrl_worker.sdk import catalog, command, live, policy
from cleanrl_worker.sdk.command import CommonFlags
from cleanrl_worker.sdk.console import Console
from cleanrl_worker.sdk.document import around, read_document
from cleanrl_worker.sdk.eval_view import seen
from cleanrl_worker.sdk.execute import Rehearsal, free_bytes, publishing, refuse_used, write_start
from cleanrl_worker.sdk.ledger import Ledger, common_artifacts
from cleanrl_worker.sdk.policy import Policy, PolicyFile
from cleanrl_worker.sdk.recorder import Recorder, Sink
from cleanrl_worker.sdk.spool import Spool
from cleanrl_worker.sdk.stop import on_stop_signal
from cleanrl_worker.sdk.tee import logged_to
from cleanrl_worker.sdk.tensorboard import TensorBoard, board_folder, markdown_table
from cleanrl_worker.sdk.vector import Envs
from mosaic import config, envs
from mosaic.errors import ConfigError, EnvironmentFailed, MosaicError, PolicyError, Problem
from mosaic.log import get_logger
from mosaic.spec import identity
from mosaic.spec.events import Episode, EvalBatch, Number, RunCompleted, RunFailed, RunStarted, Scalars, number
from mosaic.spec.files import write_atomically
from mosaic.spec.life_lock import own_life
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_config import Environment, LiveView, PolicyEvalExtras, Toggle, TrainRunConfig, WorkerConfig
from mosaic.spec.run_dir import Home, RunDir, new_run_id, run_label

log = get_logger()
PROG = "python -m cleanrl_worker.evaluate"
PARALLEL = 10
"""Environments of one evaluation; each plays a fixed quota, so that short episodes are not over-represented."""


@dataclass(frozen=True, kw_only=True)
class EvalFlags(CommonFlags, LiveView):
    """Flags of an evaluation."""

    policy_path: Path | None = None
    """The policy file."""
    episodes: Annotated[int, Ge(1)] = 50
    """Episodes a batch."""
    seed: Annotated[int, Ge(0), Le(2**32 - 1)] = 1
    """Seed of the first environment."""
    deterministic: bool = False
    """Take the likeliest action instead of sampling as in training."""
    repeat: bool = False
    """Further batches until stopped."""
    env_id: str | None = None
    """Another environment than the one in the policy file."""
    tensorboard_dir: str = "tensorboard_eval"
    """Folder of the TensorBoard files, relative to the run directory."""
    capture_video: bool = False
    """Record videos of environment 0."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to evaluate and where."""

    flags: EvalFlags
    file: PolicyFile
    actor: Policy
    env_id: str
    run_dir: RunDir
    document: TrainRunConfig | None

    @property
    def run_config(self) -> TrainRunConfig:
        """The document that describes this evaluation, as the run directory keeps it."""
        flags, given = self.flags, self.document or around(WorkerConfig(env_id=self.env_id))
        before = given.metadata.worker.config.extras
        extras = replace(
            before if isinstance(before, PolicyEvalExtras) else PolicyEvalExtras(mode="policy_eval", policy_path="."),
            policy_path=str(flags.policy_path),
            tensorboard_dir=flags.tensorboard_dir,
            eval_episodes=flags.episodes,
            eval_batch_size=None,
            eval_repeat=flags.repeat,
            eval_capture_video=flags.capture_video,
            seed_override=None,
            **live_options(flags),
        )
        worker = replace(
            given.metadata.worker.config, algo=self.file.algo, env_id=self.env_id, seed=flags.seed, extras=extras
        )
        return replace(
            given,
            environment=Environment(env_id=self.env_id),
            artifacts=replace(given.artifacts, tensorboard=Toggle(enabled=flags.tensorboard)),
            metadata=replace(given.metadata, worker=replace(given.metadata.worker, config=worker)),
        )


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
    size = min(PARALLEL, plan.flags.episodes)
    if live.wanted(plan.flags) or plan.flags.capture_video:
        try:
            return envs.make_vec(plan.env_id, size, render_mode="rgb_array")
        except EnvironmentFailed as error:
            log.warning("eval.no_pictures", reason=str(error))
    return envs.make_vec(plan.env_id, size)


def _reported(action: Callable[[], int]) -> int:
    """The exit code of `action`; its error goes into the run's own log."""
    try:
        return action()
    except MosaicError as error:
        return command.reported(error)
    except Exception:  # A border: the traceback belongs into the run's own log, whatever raised.
        sys.stderr.write(traceback.format_exc())
        return 1


def resolve(argv: Sequence[str]) -> Plan:
    """The plan behind a command line; raises the error that says what is wrong with it."""
    path = command.scan(argv).config
    document = None if path is None else read_document(path)
    defaults = EvalFlags() if document is None else flags_of(document)
    flags = config.from_flags(EvalFlags, argv, prog=PROG, description=__doc__, default=defaults)
    if flags.policy_path is None:
        raise ConfigError([Problem("--policy-path", "is missing")], what=PROG)
    file = policy.read(flags.policy_path)
    wanted = "" if document is None else document.metadata.worker.config.algo
    if wanted not in ("", file.algo):
        raise PolicyError(f"{flags.policy_path} was trained by '{file.algo}', the config says '{wanted}'")
    run_dir = RunDir(flags.run_dir.absolute()) if flags.run_dir else Home.resolve().run(new_run_id())
    actor, env_id = load_actor(file, flags.policy_path), flags.env_id or file.env_id
    return Plan(flags=flags, file=file, actor=actor, env_id=env_id, run_dir=run_dir, document=document)


def flags_of(document: TrainRunConfig) -> EvalFlags:
    """What a policy_eval run config asks for."""
    worker = document.metadata.worker.config
    extras = worker.extras
    if not isinstance(extras, PolicyEvalExtras):
        raise ConfigError([Problem("extras.mode", f"'{extras.mode}' is not an evaluation")], what=PROG)
    unsupported = [name for name in ("algo_params",) if getattr(extras, name)]
    if unsupported:
        raise ConfigError(
            [Problem(f"extras.{name}", "is not available in this version") for name in unsupported], what=PROG
        )
    return EvalFlags(
        policy_path=Path(extras.policy_path),
        episodes=extras.eval_episodes,
        seed=worker.seed if extras.seed_override is None else extras.seed_override,
        repeat=extras.eval_repeat,
        deterministic=extras.eval_deterministic,
        env_id=worker.env_id,
        tensorboard=document.artifacts.tensorboard.enabled,
        tensorboard_dir=extras.tensorboard_dir,
        capture_video=extras.eval_capture_video,
        **live_options(extras),
    )


def live_options(given: LiveView) -> dict[str, Any]:
    """What flags and document both say of the live view."""
    return {field.name: getattr(given, field.name) for field in fields(LiveView)}


def load_actor(file: PolicyFile, path: Path) -> Policy:
    algorithm = catalog.load(file.algo)
    try:
        return algorithm.load(file)
    except (ConfigError, KeyError, RuntimeError, ValueError) as error:  # torch raises RuntimeError for other shapes.
        raise PolicyError(f"{path} does not fit '{file.algo}' of this version: {error}") from error


def check_fit(file: PolicyFile, vector: envs.VecEnv) -> None:
    """The environment has the spaces that the policy was trained for."""
    for name, trained, given in (
        ("observation", file.observation_space, vector.single_observation_space),
        ("action", file.action_space, vector.single_action_space),
    ):
        if trained.shape != given.shape or getattr(trained, "n", None) != getattr(given, "n", None):
            raise PolicyError(
                f"the policy has {name} space {trained}, the environment {given}; evaluate it in {file.env_id}"
            )


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
