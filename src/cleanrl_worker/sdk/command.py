"""The worker's command line: flags and config files resolved to a plan, which is then rehearsed or carried out."""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from cleanrl_worker.sdk import catalog, checkpoint
from cleanrl_worker.sdk.catalog import Algorithm
from mosaic import config
from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.spec import run_config
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Metadata,
    Resources,
    Toggle,
    TrainExtras,
    TrainOptions,
    TrainRunConfig,
    Worker,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home, RunDir, new_run_id

PROG = "python -m cleanrl_worker.cli"
OUTSIDE = ("env_id", "total_timesteps", "seed")
"""Settings of an algorithm that stand beside `algo_params` in the JSON."""


@dataclass(frozen=True, kw_only=True)
class WorkerFlags(TrainOptions):
    """Flags of the worker, the same for every algorithm."""

    algo: str = ""
    """Algorithm, by its file name."""
    config: Path | None = None
    """A run config or a bare worker config; flags override it."""
    run_dir: Path | None = None
    """Directory of the run, named by a ULID; made in the home if not given."""
    resume: Path | None = None
    """Go on from a run directory (its last checkpoint) or from one of its checkpoints."""
    dry_run: bool = False
    """Resolve and try everything, train nothing."""
    emit_summary: bool = False
    """With --dry-run, print a JSON object as the last line."""
    schema: bool = False
    """Print the JSON Schema of the algorithm's settings."""
    quiet: bool = False
    """No line for each episode."""
    tensorboard: bool = True
    """Write TensorBoard files."""
    cpus: Annotated[int, Ge(1)] = 1
    """Threads for torch; small networks are fastest with one."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a run needs, resolved; nothing was made yet."""

    algo: str
    algorithm: Algorithm
    args: Any
    flags: WorkerFlags
    run_dir: RunDir
    resume_from: Path | None

    @property
    def options(self) -> TrainOptions:
        return TrainOptions(**{field.name: getattr(self.flags, field.name) for field in fields(TrainOptions)})

    @property
    def run_config(self) -> TrainRunConfig:
        """The document that describes this run, as the run directory keeps it."""
        settings = config.to_json(self.args)
        outside = {name: settings.pop(name) for name in OUTSIDE}
        extras = TrainExtras(**vars(self.options), algo_params=settings)
        worker = WorkerConfig(algo=self.algo, **outside, extras=extras)  # type: ignore[arg-type]
        return TrainRunConfig(
            environment=Environment(env_id=self.args.env_id),
            artifacts=Artifacts(
                tensorboard=Toggle(enabled=self.flags.tensorboard), wandb=Toggle(enabled=self.flags.track_wandb)
            ),
            resources=Resources(cpus=self.flags.cpus),
            metadata=Metadata(worker=Worker(config=worker)),
        )


def resolve(argv: Sequence[str]) -> Plan:
    """The plan behind a command line; raises the error that says what is wrong with it."""
    scan, _ = _scanner().parse_known_args(argv)
    document = _read_document(scan.config) if scan.config else None
    resume_from = _checkpoint_folder(scan.resume) if scan.resume else None
    if resume_from is not None and document is None:
        document = _read_document(resume_from.parent.parent / "config.json")
    defaults = WorkerFlags() if document is None else _flags_of(document)
    worker = None if document is None else document.metadata.worker.config
    algo = scan.algo or (worker.algo if worker else "")
    if not algo:
        raise ConfigError([Problem("--algo", f"is missing; there are {', '.join(catalog.names())}")], what=PROG)
    algorithm = catalog.load(algo)
    args = algorithm.Args() if worker is None else _args_of(algorithm, worker)
    defaults = replace(defaults, algo=algo)
    flags, args = config.from_joined_flags(defaults, args, argv, prog=f"{PROG} --algo {algo}")
    _refuse_unsupported(flags)
    return Plan(
        algo=algo,
        algorithm=algorithm,
        args=args,
        flags=flags,
        run_dir=_choose_run_dir(flags, resume_from),
        resume_from=resume_from,
    )


def print_schema(argv: Sequence[str]) -> bool:
    """Answer `--schema`; False if it was not asked for."""
    scan, _ = _scanner().parse_known_args(argv)
    if scan.schema:
        names = [scan.algo] if scan.algo else catalog.names()
        schemas = {name: config.json_schema(catalog.load(name).Args) for name in names}
        sys.stdout.write(json.dumps(schemas[scan.algo] if scan.algo else schemas, indent=1) + "\n")
    return bool(scan.schema)


def reported(error: MosaicError) -> int:
    """Say what is wrong on stderr; the exit code."""
    sys.stderr.write(f"error: {error}\n")
    return error.exit_code


def _scanner() -> argparse.ArgumentParser:
    """Just enough to know which algorithm's flags to expect; the real parser sees every flag again."""
    scanner = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    scanner.add_argument("--algo", default="")
    scanner.add_argument("--config", type=Path)
    scanner.add_argument("--resume", type=Path)
    scanner.add_argument("--schema", action="store_true")
    return scanner


def _read_document(path: Path) -> TrainRunConfig:
    """A run config, or a bare worker config made into one."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError([Problem("--config", f"{path} cannot be read: {error.strerror}")], what=PROG) from error
    data, _ = run_config.take_secrets(config.loads(text, what=str(path)))
    if "metadata" in data or "environment" in data:
        return run_config.parse(data)
    worker = run_config.parse_worker(data)
    return TrainRunConfig(
        environment=Environment(env_id=worker.env_id),
        artifacts=Artifacts(),
        metadata=Metadata(worker=Worker(config=worker)),
    )


def _flags_of(document: TrainRunConfig) -> WorkerFlags:
    extras = document.metadata.worker.config.extras
    if not isinstance(extras, TrainExtras):
        raise ConfigError([Problem("extras.mode", f"'{extras.mode}' is not a training run")], what=PROG)
    options = {field.name: getattr(extras, field.name) for field in fields(TrainOptions)}
    return WorkerFlags(**options, tensorboard=document.artifacts.tensorboard.enabled, cpus=document.resources.cpus)


def _args_of(algorithm: Algorithm, worker: WorkerConfig) -> Any:
    assert isinstance(worker.extras, TrainExtras)
    outside = {name: getattr(worker, name) for name in OUTSIDE}
    doubled = [
        Problem(f"extras.algo_params.{name}", f"stands beside extras, as '{name}'")
        for name in OUTSIDE
        if name in worker.extras.algo_params
    ]
    if doubled:
        raise ConfigError(doubled, what="worker config")
    return config.from_json(algorithm.Args, worker.extras.algo_params | outside, what="extras.algo_params")


def _refuse_unsupported(flags: WorkerFlags) -> None:
    asked = [name for name in ("track_wandb", "capture_video") if getattr(flags, name)]
    if asked:
        raise ConfigError(
            [Problem(config.flag_name(name), "is not available in this version") for name in asked], what=PROG
        )


def _checkpoint_folder(path: Path) -> Path:
    """`--resume` takes a run directory or a checkpoint in it."""
    if path.name.startswith("step-"):
        RunDir(path.absolute().parent.parent)
        return path.absolute()
    return checkpoint.latest(RunDir(path.absolute()))


def _choose_run_dir(flags: WorkerFlags, resume_from: Path | None) -> RunDir:
    if resume_from is not None:
        return RunDir(resume_from.parent.parent)
    return RunDir(flags.run_dir.absolute()) if flags.run_dir else Home.resolve().run(new_run_id())
