"""Trackio, by its own package: every number of a run in the database that `trackio show` reads.

Rows are handed to the package's own storage, as its importers of other formats do it, and not to `trackio.log`, which
would give each the time of the export instead of the time at which it was logged. `trackio sync` brings a project from
there to a Space. Videos and policies stay in the run directory.
"""

import importlib
import time
from datetime import UTC, datetime
from typing import Any

from mosaic.errors import MissingExtra
from mosaic.spec.events import Event
from mosaic.spec.run_dir import RunDir
from mosaic.track import follow_events
from mosaic.track.rows import Row, Rows
from mosaic.track.run_description import About

BATCH_ROWS = 500
BATCH_S = 2.0


class TrackioExporter:
    """One export; rows are written in batches."""

    title = "Trackio"

    def __init__(self, run_dir: RunDir, about: About) -> None:
        self._about = about
        self._project = about.options.track_project_name
        self._storage, folder = _package()
        self._storage.validate_project_name(self._project)
        self.rows = 0
        self.refused: list[str] = []
        self.place = str(folder)
        self.page = f"trackio show --project {self._project}"
        self.run_id = about.tracker_id
        self._rows = Rows()
        self._kept: list[Row] = []
        self._written_at = time.monotonic()
        starts = follow_events.starts(run_dir)
        self._config = {
            **{name: value for name, value in about.settings.items() if name != "mosaic"},
            "notes": about.notes,
            "_Group": about.group or None,
            "_Created": _moment(starts[0].time if starts else time.time()),
        }
        self._storage.delete_run(self._project, about.name, run_id=self.run_id)

    def take(self, event: Event) -> None:
        self._keep(self._rows.take(event))
        if len(self._kept) >= BATCH_ROWS:
            self._write()

    def flush(self) -> None:
        if time.monotonic() - self._written_at >= BATCH_S:
            self._write()

    def close(self, *, failed: bool) -> None:  # noqa: ARG002  Trackio has no word for it
        self._keep(self._rows.rest())
        self._write()

    def _keep(self, row: Row | None) -> None:
        if row is not None:
            self._kept.append(row)

    def _write(self) -> None:
        self._written_at = time.monotonic()
        if not self._kept:
            return
        self._storage.bulk_log(
            project=self._project,
            run=self._about.name,
            run_id=self.run_id,
            metrics_list=[dict(row.values) for row in self._kept],
            steps=[row.global_step for row in self._kept],
            timestamps=[_moment(row.time) for row in self._kept],
            config=self._config,
        )
        self.rows += len(self._kept)
        self._kept = []


def _moment(unix_s: float) -> str:
    return datetime.fromtimestamp(unix_s, UTC).isoformat()


def _package() -> tuple[Any, object]:
    """Its storage, and the folder of it."""
    try:
        storage = importlib.import_module("trackio.sqlite_storage").SQLiteStorage
        return storage, importlib.import_module("trackio.utils").TRACKIO_DIR
    except ImportError as error:
        raise MissingExtra(f"the export to Trackio ({error})", "trackio") from error
