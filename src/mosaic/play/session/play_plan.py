"""The command line of the play worker, resolved: who plays what, and where it is recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

from cleanrl_worker.sdk.command.config_file import read_document
from cleanrl_worker.sdk.command.worker_flags import CommonFlags
from mosaic import config
from mosaic.errors import ConfigError, Problem
from mosaic.spec.run_config import PlayExtras, TrainRunConfig
from mosaic.spec.run_dir import Home, RunDir, new_run_id

PROG = "python -m mosaic.play.worker"


@dataclass(frozen=True, kw_only=True)
class PlayFlags(CommonFlags):
    """Let actors act in an environment; everything about the session stands in the run config."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to play and where."""

    flags: PlayFlags
    document: TrainRunConfig
    options: PlayExtras
    run_dir: RunDir
    home: Home

    @property
    def env_id(self) -> str:
        return self.document.environment.env_id

    @property
    def seed(self) -> int:
        return self.document.metadata.worker.config.seed


def resolve(argv: Sequence[str]) -> Plan:
    """The plan behind a command line; raises the error that says what is wrong with it."""
    flags = config.from_flags(PlayFlags, argv, prog=PROG)
    if flags.config is None:
        raise ConfigError([Problem("--config", "is missing")], what=PROG)
    document = read_document(flags.config)
    options = document.metadata.worker.config.extras
    if not isinstance(options, PlayExtras):
        raise ConfigError([Problem("extras.mode", f"'{options.mode}' is not a play session")], what=PROG)
    home = Home.resolve()
    run_dir = RunDir(flags.run_dir.absolute()) if flags.run_dir else home.run(new_run_id())
    return Plan(flags=flags, document=document, options=options, run_dir=run_dir, home=home)
