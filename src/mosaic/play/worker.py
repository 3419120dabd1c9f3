"""`python -m mosaic.play.worker --config F`: a play session, as a run."""

import os
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from cleanrl_worker.sdk.command import worker_flags
from cleanrl_worker.sdk.command.carry_out import Rehearsal, free_bytes, progress, refuse_used, write_start
from cleanrl_worker.sdk.record.console import Console
from cleanrl_worker.sdk.record.event_recorder import EventRecorder
from cleanrl_worker.sdk.record.log_copy import logged_to
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.record.spool import Spool
from cleanrl_worker.sdk.stop_and_hold import on_stop_signal
from mosaic import envs
from mosaic.envs.observations import action_masks
from mosaic.errors import MosaicError
from mosaic.play.arenas.arena import Arena
from mosaic.play.arenas.arena_choice import arena_of
from mosaic.play.session import seated_players
from mosaic.play.session.play_plan import Plan, resolve
from mosaic.play.session.session_setup import SessionSetup
from mosaic.spec.events import RunCompleted, RunFailed, RunStarted
from mosaic.spec.manifest import Manifest, common_artifacts
from mosaic.spec.processes import process_identity
from mosaic.spec.processes.life_lock import own_life
from mosaic.spec.processes.secret_keys import hidden
from mosaic.spec.run_dir import run_label


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        plan = resolve(words)
        envs.headless_defaults()
        refuse_used(plan.run_dir)
        room_bytes = free_bytes(plan.run_dir.root)
        if plan.flags.dry_run:
            _rehearse(plan, room_bytes).show(emit_summary=plan.flags.emit_summary)
            return 0
        plan.run_dir.create()
        with logged_to(plan.run_dir):
            sys.stdout.write(f"run directory: {plan.run_dir.root}\n")
            return _reported(plan)
    except MosaicError as error:
        return worker_flags.reported(error)


def _reported(plan: Plan) -> int:
    try:
        with own_life(plan.run_dir):
            return play(plan)
    except MosaicError as error:
        return worker_flags.reported(error)
    except Exception:  # A border: the traceback belongs into the run's own log, whatever raised.
        sys.stderr.write(traceback.format_exc())
        return 1


def play(plan: Plan) -> int:
    """The session, from the first event to the last; the exit code."""
    run_dir = plan.run_dir
    settings = _settings(plan)
    write_start(run_dir, replace(plan.document, environment=replace(plan.document.environment, settings=settings)))
    process_identity.write_self(run_dir.worker, attempt=1)
    manifest_writer = ManifestWriter(run_dir, _new_manifest(plan, settings))
    recorder = EventRecorder(Spool(run_dir.events), [Console(quiet=plan.flags.quiet)], beat=lambda: None)
    recorder.emit(_start_event(plan))
    steps = 0
    try:
        with ExitStack() as stack:
            session_setup = SessionSetup(plan, recorder, manifest_writer, stack)
            with on_stop_signal(session_setup.session.orders.stop):
                try:
                    session_setup.session.run()
                finally:
                    steps = session_setup.session.now.global_step
                    session_setup.sum_up()
            stopped = session_setup.session.orders.stopped
    except BaseException as error:
        recorder.emit(RunFailed(global_step=steps, error=type(error).__name__, message=hidden(str(error))))
        raise
    else:
        recorder.emit(RunCompleted(global_step=steps, stopped=stopped and bool(plan.options.episodes)))
    finally:
        recorder.close()
    if recorder.error is not None:
        raise recorder.error
    return 0


def _start_event(plan: Plan) -> RunStarted:
    return RunStarted(
        algo="play",
        env_id=plan.env_id,
        seed=plan.seed,
        total_timesteps=0,
        pid=os.getpid(),
        host=socket.gethostname(),
    )


def _settings(plan: Plan) -> dict[str, Any]:
    """Of the environment. What is wrong with them is told by the session, which makes it, with an event."""
    try:
        return seated_players.settings_of(plan)
    except MosaicError:
        return plan.document.environment.settings


def _new_manifest(plan: Plan, settings: dict[str, Any]) -> Manifest:
    return Manifest(
        run_id=plan.run_dir.run_id,
        mode="play",
        env_id=plan.env_id,
        env_settings=settings,
        seed=plan.seed,
        label=run_label(plan.env_id, "play", plan.seed, int(time.time())),
        artifacts=common_artifacts(plan.run_dir),
    )


def _rehearse(plan: Plan, room_bytes: int) -> Rehearsal:
    """Make everything, and one step with each actor that needs no person."""
    seen, settings = seated_players.shown(plan), seated_players.settings_of(plan)
    progress(f"making {plan.env_id} and who plays in it …")
    with closing(arena_of(plan.env_id, plan.options, pictures=False, observations=seen, settings=settings)) as arena:
        seated_players.check(plan, arena)
        arena.reset(plan.seed)
        arena.step(action_masks.any_allowed(arena.at(arena.turn).action_space, arena.legal(arena.turn)))
        summary: dict[str, Any] = {
            "mode": "play",
            "actors": dict(plan.options.actors),
            "episodes": plan.options.episodes,
            "run_dir": str(plan.run_dir.root),
            "env_id": plan.env_id,
            "env_settings": settings,
            "seats": {seat: _kinds(arena.at(seat)) for seat in arena.seats},
            "observation_space": str(arena.observation_space),
            "action_space": str(arena.action_space),
            "disk_free_bytes": room_bytes,
            "render": envs.try_frame(plan.env_id, settings).message,
            "ok": True,
        }
    return Rehearsal(summary=summary)


def _kinds(arena: Arena) -> dict[str, str]:
    return {"actions": arena.kinds["action"], "observations": arena.kinds["observation"]}


if __name__ == "__main__":
    raise SystemExit(main())
