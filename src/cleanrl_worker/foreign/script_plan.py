"""From a config or a command line to all that the run of a script needs; nothing was made yet."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from cleanrl_worker.sdk.command import carry_out, worker_flags
from cleanrl_worker.sdk.command.config_file import around, read_document
from cleanrl_worker.sdk.command.worker_flags import CommandLine, WorkerFlags
from cleanrl_worker.sdk.record import start_exporters
from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.scripts import missing_packages
from mosaic.scripts import script as scripts
from mosaic.scripts import script_flags as script_flags
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.code_gate import refuse_code
from mosaic.scripts.script import Script
from mosaic.scripts.script_flags import OUTSIDE
from mosaic.spec import environment_settings
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


@dataclass(frozen=True, kw_only=True)
class ScriptPlan:
    script: Script
    settings: dict[str, Any]
    """By the names of the script's schema."""
    flags: WorkerFlags
    run_dir: RunDir
    document: TrainRunConfig | None
    again: bool
    """A further attempt in the same directory: a script cannot be resumed, so it begins anew."""

    @property
    def words(self) -> list[str]:
        """What the script finds in sys.argv."""
        return script_flags.words_for(self.script.schema, self.settings)

    @property
    def module(self) -> str:
        return str(self.settings["script_module"])

    @property
    def idioms(self) -> str:
        chosen = str(self.settings["script_idioms"])
        return self.script.idioms if chosen == "auto" else chosen

    @property
    def options(self) -> TrainOptions:
        """With what the script's own flags say of tracking."""
        options = {field.name: getattr(self.flags, field.name) for field in fields(TrainOptions)}
        if self.settings.get("track") is True:
            options["track_wandb"] = True
            options["wandb_project_name"] = self.settings.get("wandb_project_name") or options["wandb_project_name"]
            options["wandb_entity"] = self.settings.get("wandb_entity") or options["wandb_entity"]
        return TrainOptions(**options)

    @property
    def run_config(self) -> TrainRunConfig:
        """The document that describes this run, as the run directory keeps it."""
        params = {name: value for name, value in self.settings.items() if name not in OUTSIDE}
        outside: dict[str, Any] = {name: self.settings[name] for name in OUTSIDE}
        given = self.document or around(WorkerConfig(env_id=outside["env_id"]))
        extras = TrainExtras(**vars(self.options), algo_params=params)
        worker = replace(given.metadata.worker.config, algo=str(self.script.path), **outside, extras=extras)
        toggles = Artifacts(
            tensorboard=Toggle(enabled=self.flags.tensorboard), wandb=Toggle(enabled=self.options.track_wandb)
        )
        return replace(
            given,
            environment=Environment(env_id=outside["env_id"]),
            artifacts=toggles,
            resources=replace(given.resources, cpus=self.flags.cpus),
            metadata=replace(given.metadata, worker=replace(given.metadata.worker, config=worker)),
        )


def resolve(line: CommandLine) -> ScriptPlan:
    """Worker flags, then `--` and the script's own; or a config file that says both."""
    words, own = _split(line.words)
    document = line.document
    if line.environment or (document is not None and document.environment.settings):
        raise ConfigError([environment_settings.not_for_scripts()], what=worker_flags.PROG)
    if document is None and line.resume is not None:
        document = read_document(RunDir(line.resume.absolute()).config)
    worker = None if document is None else document.metadata.worker.config
    script = _script(line.algo, worker)
    defaults = WorkerFlags() if document is None else worker_flags.flags_of(document)
    prog = f"{worker_flags.PROG} --algo {script.path}"
    flags = config.from_flags(WorkerFlags, words, prog=prog, default=replace(defaults, algo=str(script.path)))
    settings = script_flags.settings_from(script, own, prog=f"{prog} --")
    if worker is not None:
        if own:
            raise ConfigError([Problem("--", "the script's flags are in the config")], what=prog)
        settings = _settings_of(script, worker)
    again = flags.resume is not None
    run_dir = flags.resume or flags.run_dir
    chosen = Home.resolve().run(new_run_id()) if run_dir is None else RunDir(run_dir.absolute())
    return ScriptPlan(script=script, settings=settings, flags=flags, run_dir=chosen, document=document, again=again)


def _script(typed: str, worker: WorkerConfig | None) -> Script:
    """A path that is typed is the user's own word, as with `python FILE`; one that a config names has to be allowed."""
    if typed or worker is None:
        return scripts.read(Path(typed).absolute())
    allowed = Allowed(Home.resolve())
    refuse_code(worker, allowed)
    return allowed.read(worker.algo)


def rehearse(plan: ScriptPlan) -> carry_out.Rehearsal:
    """What can be told without running the script: it was read already, so its source is sound."""
    if not plan.again:
        carry_out.refuse_used(plan.run_dir)
    start_exporters.refuse_missing(plan.options)
    missing = missing_packages.missing_packages(plan.script.path, plan.module)
    return carry_out.Rehearsal(
        summary={
            "script": str(plan.script.path),
            "flags": plan.script.style,
            "words": plan.words,
            "gymnasium": plan.idioms,
            "missing_packages": missing,
            "run_dir": str(plan.run_dir.root),
            "disk_free_bytes": carry_out.free_bytes(plan.run_dir.root),
            "ok": not missing,
        }
    )


def refuse_missing(plan: ScriptPlan) -> None:
    missing_packages.refuse_missing(plan.script, plan.module)


def _settings_of(script: Script, worker: WorkerConfig) -> dict[str, Any]:
    params = worker.extras.algo_params if isinstance(worker.extras, TrainExtras) else {}
    given = {**params, **{name: getattr(worker, name) for name in OUTSIDE}}
    return config.to_json(config.from_json(script_flags.settings_class(script), given, what="extras.algo_params"))


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]
