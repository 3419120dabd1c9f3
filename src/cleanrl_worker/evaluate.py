"""Evaluating a policy file: batches of episodes in parallel environments; no training code runs."""

import os
import socket
import sys
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, contextmanager
from typing import Any

from cleanrl_worker.sdk.command import algorithm_catalogue, worker_flags
from cleanrl_worker.sdk.command.carry_out import Rehearsal, free_bytes, publishing, refuse_used, write_start
from cleanrl_worker.sdk.command.worker_flags import CommandLine
from cleanrl_worker.sdk.evaluation import episode_bound
from cleanrl_worker.sdk.evaluation.eval_batches import Batches
from cleanrl_worker.sdk.evaluation.eval_plan import Plan, check_fit, resolve
from cleanrl_worker.sdk.live import open_live_view
from cleanrl_worker.sdk.live.video import FILMED_SLOT, Video, Videos
from cleanrl_worker.sdk.record.console import Console
from cleanrl_worker.sdk.record.event_recorder import EventRecorder, Sink
from cleanrl_worker.sdk.record.log_copy import logged_to
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.record.spool import Spool
from cleanrl_worker.sdk.record.tensorboard_writer import TensorBoard, board_folder, markdown_table
from cleanrl_worker.sdk.stop_and_hold import on_stop_signal
from mosaic import envs
from mosaic.envs.observations.parted_rows import how_seen
from mosaic.errors import EnvironmentFailed, MosaicError
from mosaic.log import get_logger
from mosaic.spec.events import LiveViewOpened, RunCompleted, RunFailed, RunStarted, Warned
from mosaic.spec.files import policy_digest
from mosaic.spec.manifest import Artifact, Manifest, common_artifacts
from mosaic.spec.processes import process_identity
from mosaic.spec.processes.life_lock import own_life
from mosaic.spec.processes.secret_keys import hidden
from mosaic.spec.run_dir import RunDir, run_label

log = get_logger()
PARALLEL = 10
"""Environments of one evaluation; each plays a fixed quota, so that short episodes are not over-represented."""


def main(argv: Sequence[str] | None = None) -> int:
    try:
        line = worker_flags.scan(list(sys.argv[1:] if argv is None else argv))
    except MosaicError as error:
        return worker_flags.reported(error)
    return run(line)


def run(line: CommandLine) -> int:
    """What a command line asks for: an evaluation, or a dry run of one."""
    try:
        plan = resolve(line)
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
        return worker_flags.reported(error)


def _make_vector(plan: Plan) -> envs.VecEnv:
    """With pictures where they are wanted and can be had."""
    size = min(PARALLEL, plan.flags.episodes)
    seen, masked = how_seen(plan.file.observation_space)
    if algorithm_catalogue.observations(plan.file.algo) == "pixels":
        seen = "pixels"
    needs_bound = episode_bound.is_needed(plan.env_id, plan.env_settings)
    how: dict[str, Any] = {
        "observations": seen,
        "masks": "always" if masked else "never",
        "settings": episode_bound.bounded(plan.env_settings) if needs_bound else plan.env_settings,
    }
    if open_live_view.wanted(plan.flags) or plan.flags.capture_video:
        try:
            return envs.make_vec(plan.env_id, size, render_mode="rgb_array", **how)
        except EnvironmentFailed as error:
            log.warning("eval.no_pictures", reason=str(error))
    return envs.make_vec(plan.env_id, size, **how)


def _reported(action: Callable[[], int]) -> int:
    """The exit code of `action`; its error goes into the run's own log."""
    try:
        return action()
    except MosaicError as error:
        return worker_flags.reported(error)
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
    process_identity.write_self(run_dir.worker, attempt=1)
    spool = Spool(run_dir.events)
    manifest_writer = ManifestWriter(run_dir, _new_manifest(plan))
    mirrors: list[Sink] = [Console(quiet=flags.quiet)]
    if flags.tensorboard and not flags.fastlane_only:
        folder = board_folder(run_dir, flags.tensorboard_dir)
        mirrors.append(TensorBoard(folder, hyperparameters=markdown_table(plan.file.args)))
        manifest_writer.add_board(folder)
    batches = Batches(plan, vector, manifest_writer)
    recorder = EventRecorder(spool, mirrors, beat=batches.beat)
    recorder.emit(_start_event(plan))
    if not plan.file.has_digest:
        recorder.emit(Warned(message=f"{flags.policy_path} {policy_digest.NO_DIGEST}"))
    for remark in plan.file.remarks:
        recorder.emit(Warned(message=remark))
    with on_stop_signal(batches.stop), publishing(flags, run_dir, superseded=batches.stop):
        try:
            with seen(batches, plan, run_dir, recorder, manifest_writer):
                batches.play(recorder)
        except BaseException as error:
            recorder.emit(
                RunFailed(global_step=batches.episodes, error=type(error).__name__, message=hidden(str(error)))
            )
            raise
        else:
            recorder.emit(RunCompleted(global_step=batches.episodes, stopped=not batches.summaries))
        finally:
            recorder.close()
    if recorder.error is not None:
        raise recorder.error
    return 0


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
        env_settings=dict(plan.env_settings),
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
        "env_settings": dict(plan.env_settings),
        "env_backend": vector.backend,
        "observation_space": str(vector.single_observation_space),
        "action_space": str(vector.single_action_space),
        "disk_free_bytes": room_bytes,
        "tensorboard": plan.flags.tensorboard,
        "render": envs.try_frame(plan.env_id, plan.env_settings).message,
        "ok": True,
    }
    return Rehearsal(summary=summary)


@contextmanager
def seen(
    batches: Batches, plan: Plan, run_dir: RunDir, recorder: EventRecorder, manifest_writer: ManifestWriter
) -> Generator[None]:
    """While the evaluation plays."""
    lanes, flags = batches.lanes, plan.flags

    def warn(message: str) -> None:
        recorder.emit(Warned(message=message))

    def saved(video: Video) -> None:
        event = video.event(run_dir)
        manifest_writer.add(Artifact(kind="video", path=event.path))
        recorder.emit(event)

    def counts() -> bool:
        """Environment 0 goes on playing while others have episodes left."""
        return batches.progress.left[FILMED_SLOT] > 0

    if flags.capture_video:
        lanes.videos = Videos(lanes.backend, run_dir.eval_videos, counts=counts, saved=saved, complain=warn)
    lanes.live = view = open_live_view.open_view(
        lanes.backend,
        flags,
        env_id=plan.env_id,
        global_step=lambda: lanes.global_step,
        complain=warn,
        evaluation=True,
    )
    if view is not None:
        view.explained.explain = getattr(plan.actor, "explain", None)
        manifest_writer.add(Artifact(kind="fastlane", path=view.path))
        recorder.emit(LiveViewOpened(path=view.path, environments=lanes.num_envs))
    try:
        yield
    finally:
        if lanes.videos is not None:
            lanes.videos.close()
        if view is not None:
            manifest_writer.remove(view.path)
            view.close()


if __name__ == "__main__":
    raise SystemExit(main())
