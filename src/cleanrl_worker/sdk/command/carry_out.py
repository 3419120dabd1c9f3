"""Carrying out a plan: a dry run and a training run take the same path up to the first step."""

import gc
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import torch

from cleanrl_worker.sdk import frame_replay, memory_limits, replay
from cleanrl_worker.sdk.command import algorithm_catalogue, worker_flags
from cleanrl_worker.sdk.command.settings_rules import STEPS
from cleanrl_worker.sdk.command.worker_flags import CommandLine, CommonFlags, Plan
from cleanrl_worker.sdk.record import start_exporters
from cleanrl_worker.sdk.record.log_copy import logged_to
from cleanrl_worker.sdk.run import Run, RunSpec
from cleanrl_worker.sdk.stop_and_hold import on_hold_signals, on_stop_signal
from mosaic import config, envs
from mosaic.envs.observations import action_masks
from mosaic.envs.observations.pixels import is_stack
from mosaic.envs.tensor import tensor_tasks
from mosaic.errors import (
    CheckpointError,
    ConfigError,
    EnvironmentFailed,
    HomeUnusable,
    IncompatibleSpaces,
    MosaicError,
    Problem,
)
from mosaic.spec import run_config
from mosaic.spec.catalogue import fitting
from mosaic.spec.files import disk_room
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.processes import process_identity
from mosaic.spec.processes.life_lock import own_life
from mosaic.spec.run_config import TrainRunConfig
from mosaic.spec.run_dir import Home, RunDir


def main(algo: str | None = None, argv: Sequence[str] | None = None) -> int:
    """The whole command; `algo` is given when an algorithm's own file is run."""
    words = list(sys.argv[1:] if argv is None else argv)
    if algo is not None:
        words = ["--algo", algo, *words]
    try:
        line = worker_flags.scan(words)
    except MosaicError as error:
        return worker_flags.reported(error)
    return train(line)


def train(line: CommandLine) -> int:
    """What a command line asks for: a training run, a dry run, or an answer about flags."""
    try:
        if worker_flags.print_schema(line) or worker_flags.print_usage(line):
            return 0
        plan = worker_flags.resolve(line)
        rehearsal = rehearse(plan, render=plan.flags.dry_run)
        if plan.flags.dry_run:
            rehearsal.show(emit_summary=plan.flags.emit_summary)
            return 0
        return carry_out(plan, gives_masks=rehearsal.summary["action_masks"])
    except MosaicError as error:
        return worker_flags.reported(error)


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """What a dry run found."""

    summary: dict[str, Any]

    def show(self, *, emit_summary: bool) -> None:
        for key, value in self.summary.items():
            sys.stdout.write(f"{key}: {value if isinstance(value, str) else json.dumps(value)}\n")
        if emit_summary:
            sys.stdout.write(json.dumps(self.summary) + "\n")


def progress(text: str) -> None:
    """Of a dry run: its output is read while it runs."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def rehearse(plan: Plan, *, render: bool) -> Rehearsal:
    """Try what could fail: the environment made, reset and stepped, its spaces, the disk. Nothing is written."""
    if plan.flags.resume is None:
        refuse_used(plan.run_dir)
    start_exporters.refuse_missing(plan.options)
    if sentence := STEPS.broken_by(vars(plan.args)):
        problem = config.blamed(type(plan.args), sentence)
        raise config.as_flags_of(type(plan.args), ConfigError([problem]), what=worker_flags.PROG)
    envs.headless_defaults()
    env_id = plan.args.env_id
    device = "cuda" if getattr(plan.args, "cuda", False) and torch.cuda.is_available() else "cpu"
    is_resident = algorithm_catalogue.is_resident(plan.algo)
    backend = "tensor" if is_resident else plan.options.env_backend
    choice = envs.choose_backend(env_id, plan.args.num_envs, backend=backend, settings=plan.env_settings)
    if plan.flags.dry_run:
        progress(f"making {env_id} and stepping it once …")
    with closing(_one_environment(plan)) as env:
        check_spaces(plan, env)
        if is_resident and choice.backend != "tensor":
            raise EnvironmentFailed(f"{plan.algo} cannot train in '{env_id}' so: {choice.reason}")
        replay_bytes = bytes_of_replay(plan, env)
        memory_limits.refuse_what_never_fits(replay_bytes)
        # Pictures lie where the update is computed.
        on_gpu = device == "cuda" and algorithm_catalogue.observations(plan.algo) == "pixels"
        memory_limits.refuse_a_rollout_that_never_fits(bytes_of_rollout(plan, env), on_gpu=on_gpu)
        try:
            observation, info = env.reset(seed=plan.args.seed)
            allowed = action_masks.allowed_now(env, observation, info)
            keeps_to_masks = getattr(plan.args, "action_masks", False)
            fits = allowed is not None and action_masks.fits(allowed, env.action_space)
            env.step(action_masks.any_allowed(env.action_space, allowed if fits or keeps_to_masks else None))
        except Exception as error:  # A border: a user's environment may raise anything.
            raise EnvironmentFailed(f"{env_id} raised when it was tried: {error!r}") from error
    if choice.backend in ("native", "envpool", "tensor"):
        # Another implementation than the one tried above, which may not have this environment or not be installed.
        seen = algorithm_catalogue.observations(plan.algo)
        envs.make_vec(env_id, 1, backend=choice.backend, observations=seen, settings=plan.env_settings).close()
    summary: dict[str, Any] = {
        "algo": plan.algo,
        "module": _module_of(plan),
        "args": config.to_json(plan.args),
        "run_dir": str(plan.run_dir.root),
        "resume_from": None if plan.resume_from is None else str(plan.resume_from),
        "env_id": env_id,
        "env_settings": dict(plan.env_settings),
        "env_sources": {name: copy.digests for name, copy in plan.env_sources.items()},
        "env_backend": choice.backend,
        "env_backend_reason": choice.reason,
        "observation_space": str(env.observation_space),
        "action_space": str(env.action_space),
        "action_masks": allowed is not None,
        "device": device,
        "disk_free_bytes": free_bytes(plan.run_dir.root),
        "tensorboard": plan.flags.tensorboard,
    }
    if replay_bytes:
        summary["replay_bytes"] = replay_bytes
    if plan.remarks:
        summary["remarks"] = list(plan.remarks)
    if render:
        summary["wandb"] = start_exporters.outlook(plan.options)
        progress("drawing a frame …")
        summary["render"] = envs.try_frame(env_id, plan.env_settings).message
    return Rehearsal(summary=summary | {"ok": True})


def _module_of(plan: Plan) -> str:
    """Where the code of the algorithm is."""
    own = algorithm_catalogue.source_of(plan.algo)
    return f"{algorithm_catalogue.PACKAGE}.{plan.algo}" if own is None else own.file


def _one_environment(plan: Plan) -> gym.Env[Any, Any]:
    """As the algorithm will see it."""
    env_id, settings = plan.args.env_id, plan.env_settings
    if algorithm_catalogue.observations(plan.algo) != "pixels":
        return envs.make(env_id, render_mode=None, settings=settings)
    try:
        return envs.make(env_id, render_mode=None, settings=settings, pixels=True)
    except IncompatibleSpaces as error:
        with closing(envs.make(env_id, render_mode=None, settings=settings)) as env:
            fits = algorithm_catalogue.fitting(envs.action_kind(env.action_space))
            said = fitting.no_pictures(plan.algo, env_id, str(env.observation_space), fits)
        raise IncompatibleSpaces(said) from error


def check_spaces(plan: Plan, env: gym.Env[Any, Any]) -> None:
    """The algorithm can act here, or the error names those that can."""
    actions, shown = envs.action_kind(env.action_space), envs.observation_kind(env.observation_space)
    kinds = algorithm_catalogue.kinds_of(plan.algorithm)
    if algorithm_catalogue.is_resident(plan.algo) and not tensor_tasks.is_known(plan.args.env_id.rpartition(":")[2]):
        fits, there = algorithm_catalogue.fitting(actions, shown), tensor_tasks.ids_for(kinds)
        raise IncompatibleSpaces(fitting.not_there(plan.algo, plan.args.env_id, there, fits))
    if actions not in kinds:
        shows_pictures = envs.family_of(plan.args.env_id).observations == "pixels"
        fits = algorithm_catalogue.fitting(actions, "pixels" if shows_pictures else shown)
        wanted, has = fitting.spelled(kinds), str(env.action_space)
        raise IncompatibleSpaces(fitting.wrong_actions(plan.algo, wanted, plan.args.env_id, has, fits))
    if algorithm_catalogue.needed_observations(plan.algo) == fitting.STATES != shown:
        fits, shows = algorithm_catalogue.fitting(actions, shown), str(env.observation_space)
        raise IncompatibleSpaces(fitting.no_states(plan.algo, plan.args.env_id, shows, fits))
    if algorithm_catalogue.observations(plan.algo) == fitting.PIXELS and not is_stack(env.observation_space):
        raise IncompatibleSpaces(
            f"--wrap: {plan.algo} learns from stacks of four grey pictures, 84×84 in uint8, and with its wrappers"
            f" {plan.args.env_id} shows {env.observation_space}; leave out the wrapper that changes the pictures"
        )


def carry_out(plan: Plan, *, gives_masks: bool = False) -> int:
    """Train; the exit code. `gives_masks`: the environment was seen to tell which actions are allowed."""
    run_dir = plan.run_dir
    run_dir.create()
    before = run_dir.config.read_text() if plan.resume_from is not None else None
    spec = RunSpec(
        run_dir=run_dir,
        algo=plan.algo,
        args=config.to_json(plan.args),
        options=plan.options,
        env_settings=plan.env_settings,
        tensorboard=plan.flags.tensorboard,
        quiet=plan.flags.quiet,
        cpus=plan.flags.cpus,
        resume_from=plan.resume_from,
        remarks=plan.remarks,
        source=plan.source,
        env_sources=plan.env_sources,
        gives_masks=gives_masks,
    )
    with logged_to(run_dir):
        sys.stdout.write(f"run directory: {run_dir.root}\n")
        sys.stdout.flush()
        try:
            with own_life(run_dir):
                write_start(run_dir, plan.run_config)
                for source in (plan.source, *plan.env_sources.values()):
                    keep_source(run_dir, source)
                run = Run(spec)
                process_identity.write_self(run_dir.worker, attempt=run.attempt)
                start_exporters.start_exporters(run_dir, plan.options)
                signals = on_stop_signal(run.stop), on_hold_signals(run.hold, run.let_go)
                with signals[0], signals[1], publishing(plan.flags, run_dir, superseded=run.stop), run:
                    # Modules stay: looking through them for garbage takes a tenth of a second of the training.
                    gc.freeze()
                    plan.algorithm.train(run, plan.args)
        except MosaicError as error:
            if isinstance(error, CheckpointError) and before is not None:
                # It did not go on with these settings: the next attempt begins with those that it has.
                write_atomically(run_dir.config, before)
            return worker_flags.reported(error)
        except OSError as error:
            return worker_flags.reported(HomeUnusable(f"{error}; free some disk and resume the run"))
        except Exception:  # A border: the traceback belongs into the run's own log, whatever raised.
            sys.stderr.write(traceback.format_exc())
            return 1
    return 0


def publishing(
    flags: CommonFlags, run_dir: RunDir, *, superseded: Callable[[], None]
) -> AbstractContextManager[object]:
    """Left after the run has written its last event."""
    if not flags.grpc:
        return nullcontext()
    # Only here: the library starts slowly, and most stand-alone runs never need it.
    from cleanrl_worker.sdk.record.event_publisher import EventPublisher

    target = flags.grpc_target or f"unix:{Home.resolve().socket}"
    return closing(EventPublisher(run_dir, target, superseded=superseded))


def write_start(run_dir: RunDir, document: TrainRunConfig) -> None:
    """What a run directory begins with."""
    # The password of a proxy travels in the environment, as keys do.
    clean, _ = run_config.take_secrets(config.to_json(document))
    try:
        write_atomically(run_dir.config, json.dumps(clean, indent=1) + "\n")
    except OSError as error:
        raise HomeUnusable(f"{run_dir.config} could not be written: {error}; free some disk") from error


def keep_source(run_dir: RunDir, source: SourceCopy | None) -> None:
    """A copy of the user's files, one for each version of them that an attempt of the run was trained by."""
    if source is not None:
        try:
            source.write(run_dir.source / source.short)
        except OSError as error:
            raise HomeUnusable(f"{run_dir.source} could not be written: {error}; free some disk") from error


def refuse_used(run_dir: RunDir) -> None:
    """A fresh run gets an empty directory."""
    if run_dir.events.exists():
        message = f"{run_dir.root} already holds a run; go on with --resume {run_dir.root}"
        raise ConfigError([Problem("--run-dir", message)], what=worker_flags.PROG)


def free_bytes(folder: Path) -> int:
    """Room on the disk of a folder that may not be there yet; HomeUnusable if a run could not be written there."""
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise HomeUnusable(f"{folder} cannot be written to; set MOSAIC_HOME to a folder that you can write to")
    return disk_room.check(folder)


def bytes_of_replay(plan: Plan, env: gym.Env[Any, Any]) -> int:
    """What a full replay buffer takes; nothing where the algorithm has none."""
    size = getattr(plan.args, "buffer_size", 0)
    if not size:
        return 0
    if algorithm_catalogue.observations(plan.algo) == "pixels":
        return frame_replay.bytes_needed(size, plan.args.num_envs, env.observation_space)
    seen = _seen(plan, env)
    return 0 if seen is None else replay.bytes_needed(size, plan.args.num_envs, seen, env.action_space)


def bytes_of_rollout(plan: Plan, env: gym.Env[Any, Any]) -> int:
    """What the observations of a rollout take; nothing where the algorithm has none."""
    seen = _seen(plan, env)
    values = 0 if seen is None else int(np.prod(seen.shape or ()))
    each = 1 if algorithm_catalogue.observations(plan.algo) == "pixels" else np.dtype(np.float32).itemsize
    return plan.args.num_envs * getattr(plan.args, "num_steps", 0) * values * each


def _seen(plan: Plan, env: gym.Env[Any, Any]) -> gym.Space[Any] | None:
    """What the algorithm sees of an observation; None if that is not a vector: the environments will be refused."""
    if algorithm_catalogue.observations(plan.algo) == "pixels":
        return env.observation_space
    try:
        by_parts = getattr(plan.args, "network", "") == "parts"
        rows = envs.family_of(plan.args.env_id).encoder_of(env.observation_space, "parts" if by_parts else "vector")
    except (TypeError, NotImplementedError):
        return None
    return None if rows is None else rows.space
