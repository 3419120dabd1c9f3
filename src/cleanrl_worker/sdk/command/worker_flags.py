"""The worker's command line: flags and config files resolved to a plan, which is then rehearsed or carried out."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Ge

from cleanrl_worker.sdk.checkpoints import checkpoint
from cleanrl_worker.sdk.command import algorithm_catalogue, own_algorithm
from cleanrl_worker.sdk.command.algorithm_catalogue import Algorithm
from cleanrl_worker.sdk.command.config_file import OUTSIDE, around, read_document
from mosaic import config
from mosaic.envs.own import loaded_code
from mosaic.envs.own.own_sources import changes, own_sources
from mosaic.errors import CheckpointError, ConfigError, MissingExtra, MosaicError, Problem
from mosaic.scripts.script import is_script
from mosaic.spec import environment_flags, environment_settings, user_files, wrappers
from mosaic.spec.environment_flags import EnvironmentFlags
from mosaic.spec.files import checkpoint_files, source_copy
from mosaic.spec.files.source_copy import SourceCopy
from mosaic.spec.processes import process_identity
from mosaic.spec.run_config import (
    Artifacts,
    Environment,
    Toggle,
    TrainExtras,
    TrainOptions,
    TrainRunConfig,
    WorkerConfig,
)
from mosaic.spec.run_dir import Home, RunDir, new_run_id

PROG = "python -m cleanrl_worker.cli"


@dataclass(frozen=True, kw_only=True)
class CommonFlags:
    """Flags of the worker, whatever it does."""

    config: Path | None = None
    """A run config or a bare worker config; flags override it."""
    run_dir: Path | None = None
    """Directory of the run, named by a ULID; made in the home if not given."""
    dry_run: bool = False
    """Resolve and try everything, run nothing."""
    emit_summary: bool = False
    """With --dry-run, print a JSON object as the last line."""
    quiet: bool = False
    """No line for each episode."""
    tensorboard: bool = True
    """Write TensorBoard files."""
    grpc: bool = False
    """Keep a trainer daemon up to date; one that is absent or dies never matters."""
    grpc_target: str | None = None
    """Where it listens: unix:/path or HOST:PORT; by default the daemon of this home."""


@dataclass(frozen=True, kw_only=True)
class WorkerFlags(CommonFlags, TrainOptions):
    """Flags of a training run, the same for every algorithm."""

    algo: str = ""
    """Algorithm, by its file name; or the path of a file of your own."""
    resume: Path | None = None
    """Go on from a run directory (its newest whole checkpoint) or from one of its checkpoints."""
    discard_newer: bool = False
    """With an older checkpoint: delete the later ones of this run."""
    schema: bool = False
    """Print the JSON Schema of the algorithm's settings."""
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
    document: TrainRunConfig | None
    """What it was resolved from, beside flags."""
    resume_from: Path | None
    """A checkpoint, whole; None also for a run that was killed before its first one, and starts over."""
    env_settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of the environment, checked."""
    source: SourceCopy | None = None
    """The files that it is trained by: the code of an algorithm of a user's, plans."""
    env_sources: Mapping[str, SourceCopy] = field(default_factory=dict[str, SourceCopy])
    """The code of an environment and of wrappers of a user's, as it was loaded."""
    remarks: tuple[str, ...] = ()
    """What the user should know of that choice."""

    @property
    def options(self) -> TrainOptions:
        return TrainOptions(**{field.name: getattr(self.flags, field.name) for field in fields(TrainOptions)})

    @property
    def run_config(self) -> TrainRunConfig:
        """The document that describes this run, as the run directory keeps it."""
        settings = config.to_json(self.args)
        outside: dict[str, Any] = {name: settings.pop(name) for name in OUTSIDE}
        extras = TrainExtras(**vars(self.options), algo_params=settings)
        given = self.document or around(WorkerConfig(env_id=self.args.env_id))
        worker = replace(given.metadata.worker.config, algo=self.algo, **outside, extras=extras)
        return replace(
            given,
            environment=Environment(env_id=self.args.env_id, settings=dict(self.env_settings)),
            artifacts=Artifacts(
                tensorboard=Toggle(enabled=self.flags.tensorboard), wandb=Toggle(enabled=self.flags.track_wandb)
            ),
            resources=replace(given.resources, cpus=self.flags.cpus),
            metadata=replace(given.metadata, worker=replace(given.metadata.worker, config=worker)),
        )


@dataclass(frozen=True, kw_only=True)
class CommandLine:
    """The words of a worker, looked through once: enough to know whose flags to expect; that parser sees them all."""

    words: tuple[str, ...]
    environment: EnvironmentFlags
    """What they say about the settings of the environment; `words` are the others."""
    algo: str
    config: Path | None
    resume: Path | None
    discard_newer: bool
    schema: bool
    help: bool

    @cached_property
    def document(self) -> TrainRunConfig | None:
        """What `--config` names, read once."""
        return None if self.config is None else read_document(self.config)


def resolve(line: CommandLine) -> Plan:
    """The plan behind a command line; raises the error that says what is wrong with it."""
    resumed = None if line.resume is None else _Resumed.find(line.resume, discard_newer=line.discard_newer)
    document = line.document
    if document is None and resumed is not None:
        document = read_document(resumed.run_dir.config)
    worker = None if document is None else document.metadata.worker.config
    algo = line.algo or (worker.algo if worker else "")
    if not algo:
        raise ConfigError(
            [Problem("--algo", f"is missing; there are {', '.join(algorithm_catalogue.names())}")], what=PROG
        )
    algorithm = algorithm_catalogue.load(algo)
    refuse_shared_flags(algo, algorithm)
    defaults = replace(WorkerFlags() if document is None else flags_of(document), algo=algo)
    args = algorithm.Args() if worker is None else _args_of(algorithm, worker)
    flags, args = _override(algorithm, defaults, args, line.words)
    env_settings = settings_of(line, document, args.env_id)
    source = algorithm_catalogue.source_of(algo)
    env_sources = own_sources(args.env_id, env_settings)
    remarks, saved = resumed.remarks if resumed else (), None
    if resumed is not None and resumed.checkpoint is not None:
        before = checkpoint.check_fits(
            resumed.checkpoint, algo=algo, args=config.to_json(args), env_settings=env_settings
        )
        remarks += tuple(_changes(before, source, env_sources, threads=flags.cpus, run_dir=resumed.run_dir))
        saved = before.source_copy
    if (sources := algorithm_catalogue.sources_of(algorithm)) is not None:
        kept = None if saved is None else source_copy.data_of(saved)
        files, more = _kept_sources(kept, partial(sources, args, env_settings))
        source, remarks = source_copy.joined(source, files), remarks + more
    return Plan(
        algo=algo,
        algorithm=algorithm,
        args=args,
        flags=flags,
        run_dir=_choose_run_dir(flags, resumed),
        document=document,
        env_settings=env_settings,
        resume_from=resumed and resumed.checkpoint,
        source=source,
        env_sources=env_sources,
        remarks=remarks,
    )


def settings_of(
    line: CommandLine, document: TrainRunConfig | None, env_id: str, *, before: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Settings of the environment: those of the config, if it is about this one, and the flags on top of them.

    `before` are what both are given on top of.
    """
    is_same = document is not None and document.environment.env_id == env_id
    given = {**(before or {}), **(document.environment.settings if document is not None and is_same else {})}
    if not given and not line.environment:
        return {}
    from mosaic.envs.settings.settings_schema import settings_schema  # with the simulator, which few runs need so early
    from mosaic.envs.wrapping.chosen_wrappers import known_for

    named = line.environment.with_names(loaded_code.of_typed)
    schema = known_for(settings_schema(env_id), [*wrappers.of_users(given), *named.names])
    given = wrappers.merged(given, named.settings(schema, env_id=env_id, what=PROG))
    if problems := environment_settings.problems_of(given, schema, env_id=env_id):
        raise ConfigError(problems, what=PROG)
    return given


def print_schema(line: CommandLine) -> bool:
    """Answer `--schema`; False if it was not asked for."""
    if line.schema:
        names = [line.algo] if line.algo else algorithm_catalogue.names()
        schemas = {name: config.json_schema(algorithm_catalogue.load(name).Args) for name in names}
        sys.stdout.write(json.dumps(schemas[line.algo] if line.algo else schemas, indent=1) + "\n")
    return line.schema


def print_usage(line: CommandLine) -> bool:
    """Answer `--help` without an algorithm; with one, its flags are shown by the parser itself."""
    asked = line.help and not (line.algo or line.config or line.resume)
    if asked:
        names = "\n".join(f"  {name}" for name in algorithm_catalogue.names())
        sys.stdout.write(f"{__doc__}\n\nusage: {PROG} --algo NAME [flags]\n")
        sys.stdout.write(f"       {PROG} --config FILE [flags]\n       {PROG} --resume RUN [flags]\n\n")
        sys.stdout.write(f"algorithms:\n{names}\n\n'{PROG} --algo NAME --help' shows the flags.\n")
    return asked


def reported(error: MosaicError) -> int:
    """Say what is wrong on stderr; the exit code."""
    # A full disk may hold the log of stderr too; the exit code tells then.
    with suppress(OSError):
        sys.stderr.write(f"error: {error}\n")
        sys.stderr.flush()
    return error.exit_code


def scan(argv: Sequence[str]) -> CommandLine:
    scanner = argparse.ArgumentParser(prog=PROG, add_help=False, allow_abbrev=False)
    scanner.add_argument("--algo", default="")
    scanner.add_argument("--config", type=Path)
    scanner.add_argument("--resume", type=Path)
    scanner.add_argument("--discard-newer", action=argparse.BooleanOptionalAction, default=False)
    scanner.add_argument("--schema", action="store_true")
    scanner.add_argument("-h", "--help", action="store_true")
    # What a config names goes by the gate instead.
    argv = environment_flags.with_reference(argv, loaded_code.of_typed)
    words, environment = environment_flags.take(argv, what=PROG)
    found = scanner.parse_known_args(words)[0]
    if is_script(found.algo):
        # A file that is typed is the user's own word, as with `python FILE`; a script stays a path.
        found.algo = own_algorithm.of_typed(Path(found.algo)) or found.algo
    return CommandLine(words=tuple(words), environment=environment, **vars(found))


def flags_of(document: TrainRunConfig) -> WorkerFlags:
    extras = document.metadata.worker.config.extras
    if not isinstance(extras, TrainExtras):
        raise ConfigError([Problem("extras.mode", f"'{extras.mode}' is not a training run")], what=PROG)
    options = {field.name: getattr(extras, field.name) for field in fields(TrainOptions)}
    options["track_wandb"] |= document.artifacts.wandb.enabled
    return WorkerFlags(**options, tensorboard=document.artifacts.tensorboard.enabled, cpus=document.resources.cpus)


def _args_of(algorithm: Algorithm, worker: WorkerConfig) -> Any:
    settings = worker.extras.algo_params if isinstance(worker.extras, TrainExtras) else {}
    return config.from_json(algorithm.Args, settings | {name: getattr(worker, name) for name in OUTSIDE}, what=PROG)


def _override(algorithm: Algorithm, flags: WorkerFlags, args: Any, argv: Sequence[str]) -> tuple[WorkerFlags, Any]:
    """The flags on top of the config."""
    prog = f"{PROG} --algo {flags.algo}"
    # The parser makes the object before bounds are checked, and `__post_init__` would raise at what follows from a bad
    # value. So the parser gets a twin without it, and the real one is made of what is within bounds.
    twin: Any = type(algorithm.Args.__name__, (algorithm.Args,), {"__post_init__": _unchecked})
    flags, parsed = config.from_joined_flags(flags, twin(**vars(args)), argv, prog=prog)
    # A file that is not typed now was there when the run was made; a run that goes on needs it no more.
    typed = {name: value for name, value in vars(parsed).items() if value != getattr(args, name)}
    files = user_files.absolute(config.json_schema(algorithm.Args), typed, what=prog)
    try:
        return flags, config.from_json(algorithm.Args, vars(parsed) | files)
    except ConfigError as error:
        raise config.as_flags_of(algorithm.Args, error, what=prog) from None


def refuse_shared_flags(algo: str, algorithm: Algorithm) -> None:
    """A setting of an algorithm of a user's would stand beside a flag of the same name."""
    shared = {field.name for field in fields(algorithm.Args)} & {field.name for field in fields(WorkerFlags)}
    if shared:
        message = f"Args has {', '.join(sorted(shared))}, which every run has as a flag already; rename or remove it"
        raise ConfigError([Problem(algo, message)], what=algo)


def _unchecked(_: object) -> None: ...


@dataclass(frozen=True)
class _Resumed:
    """A run to go on with."""

    run_dir: RunDir
    checkpoint: Path | None
    remarks: tuple[str, ...] = ()

    @classmethod
    def find(cls, path: Path, *, discard_newer: bool) -> "_Resumed":
        """`--resume` takes a run directory or a checkpoint in it."""
        path = path.absolute()
        given = path if path.name.startswith("step-") else None
        run_dir = RunDir(path if given is None else path.parent.parent)
        if not run_dir.config.exists():
            raise CheckpointError(f"{run_dir.root} holds no run to go on with")
        # Before the checkpoints are looked at, because a living worker goes on replacing them.
        if run_dir.worker.exists():
            worker = _worker_of(run_dir)
            if worker is not None and worker.is_alive and worker.pid != os.getpid():
                message = f"run {run_dir.run_id} is still trained by process {worker.pid}; stop it first"
                raise ConfigError([Problem("--resume", message)], what=PROG)
        if given is None:
            chosen = checkpoint_files.choose(run_dir)
            return cls(run_dir, chosen.folder, chosen.remarks)
        if not discard_newer:
            _refuse_to_discard(run_dir, given)
        has_digests = checkpoint_files.check(given)
        return cls(run_dir, given, () if has_digests else (f"{given} {checkpoint_files.NO_DIGEST}",))


def _refuse_to_discard(run_dir: RunDir, given: Path) -> None:
    """Who looks at an older state does not ask for the loss of all that was trained since."""
    step = checkpoint_files.step_of(given)
    newer = [str(other) for other in checkpoint.list_steps(run_dir) if other > step]
    if newer:
        message = (
            f"run {run_dir.run_id} has newer checkpoints, of step {', '.join(newer)}: --discard-newer deletes them;"
            f" 'mosaic resume {run_dir.run_id} --from-step {step}' begins a new run from this one and keeps them"
        )
        raise ConfigError([Problem("--resume", message)], what=PROG)


def _changes(
    before: checkpoint.Header,
    source: SourceCopy | None,
    env_sources: Mapping[str, SourceCopy],
    *,
    threads: int,
    run_dir: RunDir,
) -> Iterator[str]:
    """What differs from the attempt that saved the checkpoint, and keeps the run from going on bit for bit."""
    if before.threads not in (None, threads):
        yield (
            f"the checkpoint was trained with {before.threads} threads (--cpus), this attempt has {threads}: sums are"
            " added up in another order, so the curve goes on, but not bit for bit"
        )
    yield from changes(
        before.env_source_copies,
        env_sources,
        when=f"at step {before.global_step}",
        how_to_copy=f"mosaic envs copy {run_dir.run_id} DIR",
    )
    saved = None if before.source_copy is None else source_copy.code_of(before.source_copy)
    if saved is None or source is None:
        return
    if difference := source_copy.difference(saved, source):
        yield (
            f"{saved.file} is not what it was at step {before.global_step} ({difference}): the run goes on with the"
            f" file as it is now; 'mosaic algos copy {run_dir.run_id} DIR --version {saved.short}' writes it as it was"
        )


def _kept_sources(
    saved: SourceCopy | None, sources: Callable[[], SourceCopy | None]
) -> tuple[SourceCopy | None, tuple[str, ...]]:
    """The files that a run began with, which it goes on with; of a fresh run those that are there."""
    if saved is None:
        return sources(), ()
    try:
        now = sources()
        changed = "" if now is None else source_copy.difference(saved, now)
    except MissingExtra:
        raise
    except MosaicError as error:
        changed = str(error)
    goes_on = "the run goes on with its own copy; a new run takes the file as it is now"
    return saved, (f"{saved.file} is not what it was when the run began ({changed}): {goes_on}",) if changed else ()


def _worker_of(run_dir: RunDir) -> process_identity.ProcessIdentity | None:
    """None if the file is damaged: the life lock of the run then keeps out a second worker."""
    try:
        return process_identity.read(run_dir.worker)
    except ConfigError:
        return None


def _choose_run_dir(flags: WorkerFlags, resumed: _Resumed | None) -> RunDir:
    given = None if flags.run_dir is None else RunDir(flags.run_dir.absolute())
    if resumed is None:
        return given or Home.resolve().run(new_run_id())
    if given not in (None, resumed.run_dir):
        raise ConfigError([Problem("--run-dir", f"is not the run of --resume, {resumed.run_dir.root}")], what=PROG)
    return resumed.run_dir
