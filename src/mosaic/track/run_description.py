"""What a tracker is told about a run: its name, its settings, where it belongs."""

from dataclasses import dataclass
from typing import Any

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.spec import environment_settings, manifest, run_config, run_record
from mosaic.spec.files.shared_files import read_small
from mosaic.spec.run_config import TrainOptions, TrainRunConfig
from mosaic.spec.run_dir import RunDir


@dataclass(frozen=True, kw_only=True)
class About:
    """A run, as a tracker lists it."""

    run_id: str
    kind: str
    algo: str
    env_id: str
    name: str
    group: str
    notes: str
    options: TrainOptions
    """Project, entity, proxies; the defaults for an evaluation, which has none of its own."""
    settings: dict[str, Any]
    """Hyperparameters under CleanRL's names, and the whole run config under `mosaic`."""

    @property
    def tracker_id(self) -> str:
        """The same at each export, so that one replaces the other."""
        return self.run_id.lower()


def about(run_dir: RunDir) -> About:
    """Read from the run directory, which holds no secrets."""
    data, _ = run_config.take_secrets(config.loads(read_small(run_dir.config), what=str(run_dir.config)))
    document = run_config.parse(data)
    worker = document.metadata.worker.config
    extras = worker.extras
    options = extras if isinstance(extras, TrainOptions) else TrainOptions()
    label, group = _label(run_dir, document)
    params: dict[str, Any] = dict(getattr(extras, "algo_params", {}))
    outside = {"exp_name": worker.algo, "env_id": worker.env_id, "seed": worker.seed}
    # A key each, so that a tracker can filter and group by one.
    given = environment_settings.as_hyperparameters(document.environment.settings)
    if isinstance(extras, TrainOptions):
        outside["total_timesteps"] = worker.total_timesteps
    return About(
        run_id=run_dir.run_id,
        kind=extras.mode,
        algo=worker.algo,
        env_id=worker.env_id,
        name=options.wandb_run_name or label,
        group=group,
        notes=extras.notes,
        options=options,
        settings={**params, **outside, **given, "mosaic": {"run_id": run_dir.run_id, "config": data}},
    )


def _label(run_dir: RunDir, document: TrainRunConfig) -> tuple[str, str]:
    """Label and group: of the daemon's record, else CleanRL's run name, else what there is."""
    try:
        record = run_record.read(run_dir)
        return record.label, record.group
    except (OSError, MosaicError):
        pass
    try:
        return document.run_name or manifest.read(run_dir).label, ""
    except (OSError, MosaicError):
        return run_dir.run_id, ""
