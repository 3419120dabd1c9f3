"""`python -m mosaic.play.worker --config F`: a play session, as a run."""

import os
import socket
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import Any

from cleanrl_worker.sdk import command
from cleanrl_worker.sdk.console import Console
from cleanrl_worker.sdk.execute import Rehearsal, free_bytes, progress, refuse_used, write_start
from cleanrl_worker.sdk.ledger import Ledger
from cleanrl_worker.sdk.recorder import Recorder
from cleanrl_worker.sdk.spool import Spool
from cleanrl_worker.sdk.stop import on_stop_signal
from cleanrl_worker.sdk.tee import logged_to
from mosaic import envs
from mosaic.errors import MosaicError
from mosaic.play import lineup
from mosaic.play.actors import uniform
from mosaic.play.arena import Arena
from mosaic.play.plan import Plan, resolve
from mosaic.play.stage import Stage
from mosaic.play.venue import arena_of
from mosaic.spec import identity
from mosaic.spec.events import RunCompleted, RunFailed, RunStarted
from mosaic.spec.keys import hidden
from mosaic.spec.life_lock import own_life
from mosaic.spec.manifest import Manifest, common_artifacts
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
        return command.reported(error)


def _reported(plan: Plan) -> int:
    try:
        with own_life(plan.run_dir):
            return play(plan)
    except MosaicError as error:
        return command.reported(error)
    except Exception:  # A border: the traceback belongs into the run's own log, whatever raised.
        sys.stderr.write(traceback.format_exc())
        return 1


def play(plan: Plan) -> int:
    """The session, from the first event to the last; the exit code."""
    run_dir = plan.run_dir
    write_start(run_dir, plan.document)
    identity.write_self(run_dir.worker, attempt=1)
    ledger = Ledger(run_dir, _new_manifest(plan))
    recorder = Recorder(Spool(run_dir.events), [Console(quiet=plan.flags.quiet)], beat=lambda: None)
    recorder.emit(_start_event(plan))
    steps = 0
    try:
        with ExitStack() as stack:
            stage = Stage(plan, recorder, ledger, stack)
            with on_stop_signal(stage.session.orders.stop):
                try:
                    stage.session.run()
                finally:
                    steps = stage.session.now.global_step
                    stage.sum_up()
            stopped = stage.session.orders.stopped
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


def _new_manifest(plan: Plan) -> Manifest:
    return Manifest(
        run_id=plan.run_dir.run_id,
        mode="play",
        env_id=plan.env_id,
        seed=plan.seed,
        label=run_label(plan.env_id, "play", plan.seed, int(time.time())),
        artifacts=common_artifacts(plan.run_dir),
    )


def _rehearse(plan: Plan, room_bytes: int) -> Rehearsal:
    """Make everything, and one step with each actor that needs nobody."""
    seen = lineup.shown(plan)
    progress(f"making {plan.env_id} and who plays in it …")
    with closing(arena_of(plan.env_id, plan.options, pictures=False, observations=seen)) as arena:
        lineup.check(plan, arena)
        arena.reset(plan.seed)
        arena.step(uniform.any_action(arena.at(arena.turn).action_space, arena.legal(arena.turn)))
        summary: dict[str, Any] = {
            "mode": "play",
            "actors": dict(plan.options.actors),
            "episodes": plan.options.episodes,
            "run_dir": str(plan.run_dir.root),
            "env_id": plan.env_id,
            "seats": {seat: _kinds(arena.at(seat)) for seat in arena.seats},
            "observation_space": str(arena.observation_space),
            "action_space": str(arena.action_space),
            "disk_free_bytes": room_bytes,
            "render": envs.try_frame(plan.env_id).message,
            "ok": True,
        }
    return Rehearsal(summary=summary)


def _kinds(arena: Arena) -> dict[str, str]:
    return {"actions": arena.kinds["action"], "observations": arena.kinds["observation"]}


if __name__ == "__main__":
    raise SystemExit(main())
