"""The trackers: a further one is a file with its exporter, an option `track_<name>`, and a line in this table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from mosaic import config
from mosaic.spec import run_config
from mosaic.spec.files import read_small
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir
from mosaic.track import mlflow_exporter, trackio_exporter
from mosaic.track.about import About
from mosaic.track.exporter import Exporter
from mosaic.track.state import WANDB


class Local(Exporter, Protocol):
    """An export that says where its numbers are, and how they are looked at."""

    place: str
    """Database or server, without a password."""
    page: str
    """Address of the run, or the command that shows it."""
    run_id: str
    """Id of the run there."""
    refused: list[str]
    """Files that it did not take, and why."""


class Begin(Protocol):
    """Begin an export anew: what an earlier one of this run left there is removed."""

    def __call__(self, run_dir: RunDir, about: About) -> Local: ...


@dataclass(frozen=True)
class Tracker:
    """How people call it, and how an export begins."""

    title: str
    begin: Begin


LOCAL: Mapping[str, Tracker] = {
    "trackio": Tracker("Trackio", trackio_exporter.TrackioExporter),
    "mlflow": Tracker("MLflow", mlflow_exporter.MlflowExporter),
}
"""Trackers that need no probe of a server before; each is an extra of the same name."""
ALL: Sequence[str] = (WANDB, *LOCAL)


def wanted(run_dir: RunDir) -> list[str]:
    """The trackers that a run is to be exported to."""
    data, _ = run_config.take_secrets(config.loads(read_small(run_dir.config), what=str(run_dir.config)))
    document = run_config.parse(data)
    extras = document.metadata.worker.config.extras
    chosen = chosen_by(extras) if isinstance(extras, TrainOptions) else []
    return list(dict.fromkeys([*([WANDB] if document.artifacts.wandb.enabled else []), *chosen]))


def chosen_by(options: TrainOptions) -> list[str]:
    return [name for name in ALL if getattr(options, f"track_{name}")]
