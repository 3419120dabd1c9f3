"""MLflow, by its own client: numbers, settings, videos and policy of a run, on a server or in a database.

`MLFLOW_TRACKING_URI` says where; without it a database in the home, which `mlflow ui` shows. MLflow keeps a number by
its name, step, millisecond and value: two episodes with the same return at one step would be one. Times of one name are
therefore made different, by a millisecond.
"""

import fcntl
import importlib
import os
import re
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mosaic.errors import MissingExtra
from mosaic.log import get_logger
from mosaic.spec.events import Event, PolicySaved, VideoSaved
from mosaic.spec.files import policy_digest
from mosaic.spec.run_dir import Home, RunDir
from mosaic.track import follow_events
from mosaic.track.exporter import hand_over
from mosaic.track.rows import Row, Rows
from mosaic.track.run_description import About

TAG = "mosaic.run_id"
BATCH_METRICS = 900
"""MLflow takes at most 1000 at once."""
BATCH_PARAMS = 90
BATCH_S = 2.0
MAX_PARAM = 5000
MAX_NAME = 250
_NOT_TAKEN = re.compile(r"[^\w. :/-]")
PATIENCE = {
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "3",
    "MLFLOW_ENABLE_ASYNC_LOGGING": "0",
}
"""Unless the environment says otherwise: a server that is away is told within a minute or two."""

log = get_logger()


class MlflowExporter:
    """One export; numbers are sent in batches."""

    title = "MLflow"

    def __init__(self, run_dir: RunDir, about: About) -> None:
        self._run_dir = run_dir
        self._entities, client_of = _package()
        self.rows = 0
        self.refused: list[str] = []
        self._rows = Rows()
        self._kept: list[Any] = []
        self._sent_at = time.monotonic()
        self._last_ms: dict[str, int] = {}
        self._names: dict[str, str] = {}
        uri, artifacts = _store()
        with _one_at_a_time(artifacts):
            # The first one makes the tables, which two at once cannot.
            self._client: Any = client_of(tracking_uri=uri)
            experiment = self._experiment(about.options.track_project_name, artifacts)
        self.run_id = self._begin(experiment, about)
        self.place = _without_password(uri)
        self.page = (
            f"{self.place}/#/experiments/{experiment}/runs/{self.run_id}"
            if uri.startswith("http")
            else f"mlflow ui --backend-store-uri {self.place}"
        )

    def take(self, event: Event) -> None:
        self._keep(self._rows.take(event))
        if len(self._kept) >= BATCH_METRICS:
            self._send()
        if isinstance(event.body, (VideoSaved, PolicySaved)):
            self._add_file(event.body)

    def flush(self) -> None:
        if time.monotonic() - self._sent_at >= BATCH_S:
            self._send()

    def close(self, *, failed: bool) -> None:
        self._keep(self._rows.rest())
        self._send()
        self._client.set_terminated(self.run_id, status="FAILED" if failed else "FINISHED")

    def _experiment(self, name: str, artifacts: Path | None) -> str:
        found = self._client.get_experiment_by_name(name)
        if found is not None and found.lifecycle_stage == "deleted":
            self._client.restore_experiment(found.experiment_id)
        if found is not None:
            return str(found.experiment_id)
        return str(self._client.create_experiment(name, artifact_location=artifacts and artifacts.as_uri()))

    def _begin(self, experiment: str, about: About) -> str:
        for earlier in self._client.search_runs([experiment], filter_string=f"tags.`{TAG}` = '{about.run_id}'"):
            self._client.delete_run(earlier.info.run_id)
        starts = follow_events.starts(self._run_dir)
        tags = {
            TAG: about.run_id,
            "mosaic.kind": about.kind,
            "mosaic.group": about.group,
            "mlflow.note.content": about.notes,
        }
        run = self._client.create_run(
            experiment,
            run_name=about.name,
            start_time=_ms(starts[0].time if starts else time.time()),
            tags={name: value for name, value in tags.items() if value},
        )
        run_id = str(run.info.run_id)
        params = [
            self._entities.Param(self._name(name), str(value)[:MAX_PARAM])
            for name, value in about.settings.items()
            if name != "mosaic"
        ]
        for at in range(0, len(params), BATCH_PARAMS):
            self._client.log_batch(run_id, params=params[at : at + BATCH_PARAMS])
        self._client.log_dict(run_id, about.settings.get("mosaic", {}), "mosaic.json")
        return run_id

    def _keep(self, row: Row | None) -> None:
        if row is None:
            return
        for tag, value in row.values.items():
            moment = max(_ms(row.time), self._last_ms.get(tag, -1) + 1)
            self._last_ms[tag] = moment
            self._kept.append(self._entities.Metric(self._name(tag), value, moment, row.global_step))
        self.rows += 1

    def _name(self, tag: str) -> str:
        """The tag, or a name that MLflow takes: one that it refuses would cost the whole export."""
        known = self._names.get(tag)
        if known is None:
            plain = name = plain_name(tag)
            number = 1
            while name in self._names.values():
                number += 1
                name = f"{plain[: MAX_NAME - 8]}_{number}"
            known = self._names[tag] = name
            if name != tag:
                self.refused.append(f"'{tag}' is called '{name}' there, MLflow takes no such name")
        return known

    def _send(self) -> None:
        self._sent_at = time.monotonic()
        while self._kept:
            self._client.log_batch(self.run_id, metrics=self._kept[:BATCH_METRICS])
            del self._kept[:BATCH_METRICS]

    def _add_file(self, body: VideoSaved | PolicySaved) -> None:
        def add(path: Path) -> None:
            if isinstance(body, PolicySaved):
                policy_digest.refuse_damaged(path.read_bytes(), what=str(path))
            self._client.log_artifact(self.run_id, str(path), "videos" if isinstance(body, VideoSaved) else "policy")

        hand_over(self._run_dir, body.path, add, self.refused)


def plain_name(tag: str) -> str:
    """MLflow takes letters, digits and `_-. :/`, and no name that would be another one as a path."""
    parts = _NOT_TAKEN.sub("_", tag).split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))[:MAX_NAME].rstrip("/") or "_"


def _store() -> tuple[str, Path | None]:
    """Where the numbers go, and the files if that is a database of ours."""
    if chosen := os.environ.get("MLFLOW_TRACKING_URI"):
        return _password_apart(chosen), None
    folder = Home.resolve().root / "mlflow"
    (folder / "artifacts").mkdir(mode=0o700, parents=True, exist_ok=True)
    # Exporters of several runs write to it at once: each waits for its turn.
    return f"sqlite:///{folder / 'mlflow.db'}?timeout=60", folder / "artifacts"


@contextmanager
def _one_at_a_time(artifacts: Path | None) -> Generator[None]:
    if artifacts is None:
        yield
        return
    with (artifacts.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _ms(unix_s: float) -> int:
    return round(unix_s * 1000)


def _password_apart(uri: str) -> str:
    """User and password of a server in MLflow's own variables: it writes its address into every error."""
    parts = urlsplit(uri)
    if parts.scheme not in ("http", "https") or not parts.username:
        return uri
    os.environ["MLFLOW_TRACKING_USERNAME"] = unquote(parts.username)
    os.environ["MLFLOW_TRACKING_PASSWORD"] = unquote(parts.password or "")
    os.environ["MLFLOW_TRACKING_URI"] = _without_password(uri)
    return _without_password(uri)


def _without_password(uri: str) -> str:
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.netloc else uri


def _package() -> tuple[Any, Any]:
    """Its entities and its client."""
    for name, value in PATIENCE.items():
        os.environ.setdefault(name, value)
    try:
        return importlib.import_module("mlflow.entities"), importlib.import_module("mlflow.tracking").MlflowClient
    except ImportError as error:
        raise MissingExtra(f"the export to MLflow ({error})", "mlflow") from error
