"""The trackers: a further one is a file with its exporter, an option `track_<name>`, and a line in this table.

Another package adds more through the entry point group `mosaic.trackers`: each names an exporter, and is loaded as ours
are. `mosaic track --to NAME` exports to it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoint
from typing import ClassVar, Protocol

from mosaic import config
from mosaic.errors import MosaicError
from mosaic.spec import run_config
from mosaic.spec.catalogue.importable_packages import entry_points
from mosaic.spec.files.shared_files import read_small
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir
from mosaic.track.export_state import WANDB
from mosaic.track.exporter import Exporter
from mosaic.track.run_description import About


class Local(Exporter, Protocol):
    """An export that says where its numbers are, and how they are looked at."""

    title: ClassVar[str]
    """The tracker's own name."""
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

    title: str

    def __call__(self, run_dir: RunDir, about: About) -> Local: ...


EXPORTERS: Mapping[str, str] = {
    "trackio": "mosaic.track.trackio_exporter:TrackioExporter",
    "mlflow": "mosaic.track.mlflow_exporter:MlflowExporter",
}
"""Trackers that need no probe of a server before; each is an extra of the same name."""
ENTRY_POINTS = "mosaic.trackers"


@cache
def local() -> Mapping[str, EntryPoint]:
    """By name, ours and those of other packages."""
    return entry_points(ENTRY_POINTS, EXPORTERS)


def everywhere() -> Sequence[str]:
    """Every tracker's name."""
    return (WANDB, *local())


@cache
def exporter_of(name: str) -> Begin:
    """What begins an export to a tracker of `local`."""
    point = local()[name]
    try:
        return point.load()
    except Exception as error:  # A border: the import of another package may raise anything.
        raise MosaicError(f"the tracker '{name}' ({point.value}) cannot be used: {error!r}") from error


def title_of(name: str) -> str:
    """The tracker's own name."""
    return "W&B" if name == WANDB else exporter_of(name).title


def wanted(run_dir: RunDir) -> list[str]:
    """The trackers that a run is to be exported to."""
    data, _ = run_config.take_secrets(config.loads(read_small(run_dir.config), what=str(run_dir.config)))
    document = run_config.parse(data)
    extras = document.metadata.worker.config.extras
    chosen = chosen_by(extras) if isinstance(extras, TrainOptions) else []
    return list(dict.fromkeys([*([WANDB] if document.artifacts.wandb.enabled else []), *chosen]))


def chosen_by(options: TrainOptions) -> list[str]:
    return [name for name in everywhere() if getattr(options, f"track_{name}", False)]
