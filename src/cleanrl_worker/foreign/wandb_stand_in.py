"""`import wandb` in a script: a stand-in that never touches the network; the exporter follows the run's events instead.

`wandb.init` switches the export on with its project, entity and name. Numbers that are logged become scalars of the
run. Every other call of wandb answers and does nothing.
"""

import importlib.metadata
import os
from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import Any

from cleanrl_worker.foreign.import_hooks import Hooks
from cleanrl_worker.foreign.script_plan import ScriptPlan
from cleanrl_worker.foreign.script_record import ScriptRecord
from cleanrl_worker.foreign.summary_writer import as_number
from cleanrl_worker.sdk.command.carry_out import write_start
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.run_config import Toggle, TrainExtras, with_passwords


class Anything:
    """Answers to everything with itself: an Image, a Table, a Settings."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __call__(self, *_: Any, **__: Any) -> "Anything":
        return self

    def __getattr__(self, name: str) -> "Anything":
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __enter__(self) -> "Anything":
        return self

    def __exit__(self, *_: object) -> None: ...


class Config(dict[str, Any]):
    """`wandb.config.learning_rate` and `wandb.config["learning_rate"]`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def update(self, given: Any = None, allow_val_change: Any = None, **values: Any) -> None:  # noqa: ARG002
        super().update({**settings_of(given), **values})

    def setdefaults(self, given: Any) -> dict[str, Any]:
        super().update({**settings_of(given), **self})
        return dict(self)

    def as_dict(self) -> dict[str, Any]:
        return dict(self)

    def persist(self) -> None: ...


class TrackedRun(Anything):
    """What `wandb.init` returns."""

    def __init__(self, tracker: "Tracker", name: str, project: str, given: Mapping[str, Any]) -> None:
        self._tracker = tracker
        self.id = tracker.record.run_dir.run_id.lower()
        self.name, self.project, self.url = name, project, ""
        self.dir = os.getcwd()  # noqa: PTH109
        self.config = Config(given)
        self.summary = Config()

    def log(self, data: dict[str, Any], step: int | None = None, **_: Any) -> None:
        self._tracker.log(data, step)


class Tracker:
    def __init__(self, plan: ScriptPlan, record: ScriptRecord) -> None:
        self.record = record
        self._plan = plan
        self._run: TrackedRun | None = None

    def hook(self, hooks: Hooks) -> None:
        hooks.instead_of("wandb", self._fill)
        # `from wandb.integration.sb3 import WandbCallback` and its kin.
        hooks.instead_of("wandb.*", _fill_part)

    def init(
        self,
        entity: Any = None,
        project: Any = None,
        *places: Any,
        name: Any = None,
        config: Any = None,
        mode: Any = None,
        **_: Any,
    ) -> Any:
        # Places of the package: dir, id, name.
        name = name or (places[2] if len(places) > 2 else None)
        if not self._plan.options.track_wandb and mode != "disabled" and self.record.is_mine:
            self._switch_on(project, entity, name, mode)
        settings = {**settings_of(config), **_swept(self._plan)}
        self._run = TrackedRun(self, str(name or ""), str(project or ""), settings)
        module: Any = self._module
        module.run, module.config, module.summary = self._run, self._run.config, self._run.summary
        return self._run

    def log(self, data: dict[str, Any], step: int | None = None, **_: Any) -> None:
        at = step if step is not None else as_number(data.get("global_step"))
        for tag, given in data.items():
            value = None if isinstance(given, str | bytes | Anything | bool) else as_number(given)
            if value is not None and tag != "global_step":
                self.record.scalar(tag, value, None if at is None else int(at))

    def _switch_on(self, project: Any, entity: Any, name: Any, mode: Any) -> None:
        """A script that tracks without having said so in a flag: the run's config is completed."""
        document = self._plan.run_config
        worker = document.metadata.worker
        extras = worker.config.extras
        assert isinstance(extras, TrainExtras)
        told = replace(
            extras,
            track_wandb=True,
            wandb_project_name=str(project or extras.wandb_project_name),
            wandb_entity=None if entity is None else str(entity),
            wandb_run_name=None if name is None else str(name),
        )
        metadata = replace(document.metadata, worker=replace(worker, config=replace(worker.config, extras=told)))
        artifacts = replace(document.artifacts, wandb=Toggle(enabled=True))
        complete = replace(document, metadata=metadata, artifacts=artifacts)
        stays_here = mode in ("offline", "dryrun")
        if os.environ.get(INHERITED):
            # The daemon, which has the keys, starts the exporter once it sees the config.
            self.record.unfenced_thread.do(lambda: self._note_mode(stays_here))
            self.record.unfenced_thread.do(lambda: write_start(self.record.run_dir, complete))
        else:
            self.record.unfenced_thread.do(lambda: write_start(self.record.run_dir, complete))
            self.record.unfenced_thread.do(lambda: self._start_exporter(stays_here))

    def _note_mode(self, stays_here: bool) -> None:
        from mosaic.track import export_state

        if stays_here:
            self.record.run_dir.wandb_export.parent.mkdir(mode=0o700, exist_ok=True)
            export_state.write(
                self.record.run_dir, export_state.Export(state="exporting", why="WANDB_MODE is 'offline'")
            )

    def _start_exporter(self, stays_here: bool) -> None:
        from mosaic.track.start_exporter import start

        chosen = with_passwords(self._plan.options)
        if stays_here:
            chosen["WANDB_MODE"] = "offline"
        try:
            # Nothing waits for it: it ends some time after this process, and Popen would warn about that.
            start(self.record.run_dir, {**os.environ, **chosen}).returncode = 0
        except OSError as error:
            self.record.warn(f"no export to Weights & Biases: {error}; 'mosaic wandb sync' repeats it")

    def _fill(self, module: ModuleType) -> None:
        known: Any = module
        self._module = known
        known.__version__ = _version()
        known.__path__ = []
        known.init, known.log = self.init, self.log
        known.run, known.config, known.summary = None, Config(), Config()
        known.finish = known.login = known.save = known.watch = known.define_metric = Anything()
        known.__getattr__ = _anything


def _version() -> str:
    """Of the package, if it is installed: libraries compare it with what they need."""
    try:
        return importlib.metadata.version("wandb")
    except importlib.metadata.PackageNotFoundError:
        return "0.0+mosaic"


def _swept(plan: ScriptPlan) -> dict[str, Any]:
    """The settings of a trial of a sweep, which W&B's own agent hands over in this way, too."""
    ui: Any = plan.document.metadata.ui if plan.document is not None else {}
    return dict(ui.get("sweep", {}).get("params", {}))


def settings_of(given: Any) -> dict[str, Any]:
    """What scripts hand over as settings: a dict, flags of argparse, a dataclass; none of the file of a name."""
    if given is None or isinstance(given, str | bytes | os.PathLike | Anything):
        return {}
    return dict(given) if isinstance(given, Mapping) else dict(vars(given))  # type: ignore[reportUnknownArgumentType]


def _fill_part(module: ModuleType) -> None:
    known: Any = module
    known.__path__ = []
    known.__getattr__ = _anything


def _anything(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything
