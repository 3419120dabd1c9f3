"""Weights & Biases, by its own package: every number, video and policy of a run, in W&B's folder or on its server.

A row of history is a row of ours (`mosaic.track.rows`), numbered from 0, with the step of the environments as
`global_step`, the x axis of every chart, and the time at which it was logged. `monitor_gym` is never used: a video is
handed over once its file is closed, unless `WANDB_MONITOR_GYM` says that videos are not wanted.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.errors import MissingExtra
from mosaic.log import get_logger
from mosaic.spec.events import Event, PolicySaved, RunStarted, VideoSaved
from mosaic.spec.files import policy_digest
from mosaic.spec.run_dir import RunDir
from mosaic.track import follow_events
from mosaic.track.exporter import hand_over
from mosaic.track.rows import Row, Rows
from mosaic.track.run_description import About

FINISH_S = 300.0
"""How long the last of an upload may take; what it leaves behind can be uploaded later."""
INIT_S = 120.0
VIDEOS_VARIABLE = "WANDB_MONITOR_GYM"
OFF = ("0", "false", "no", "off")
PATIENCE_S = 600.0
"""For what no server has a part in: at the lowest priority on a busy machine everything takes its time."""

log = get_logger()


def environment(run_dir: RunDir) -> dict[str, str]:
    """Variables that keep all of W&B's files inside the run."""
    root = run_dir.wandb
    return {
        "WANDB_DIR": str(root),
        "WANDB_CACHE_DIR": str(root / "cache"),
        "WANDB_CONFIG_DIR": str(root / "config"),
        "WANDB_DATA_DIR": str(root / "data"),
        "WANDB_ARTIFACT_DIR": str(root / "artifacts"),
        "WANDB_SILENT": "true",
        "WANDB_ERROR_REPORTING": "false",
        "WANDB__SERVICE_WAIT": f"{PATIENCE_S:.0f}",
    }


def clear(run_dir: RunDir) -> None:
    """Remove what earlier exports left: this one begins anew, and the events have everything."""
    for folder in (*run_folders(run_dir), run_dir.wandb / "data", run_dir.wandb / "artifacts"):
        shutil.rmtree(folder, ignore_errors=True)


def run_folders(run_dir: RunDir) -> list[Path]:
    """W&B's folders of this run, oldest first."""
    return sorted(path for path in (run_dir.wandb / "wandb").glob("*run-*") if path.is_dir() and not path.is_symlink())


class WandbExporter:
    """One export; `rows` grows as it takes events."""

    def __init__(self, run_dir: RunDir, about: About, *, online: bool, variables: Mapping[str, str]) -> None:
        self._run_dir, self._about = run_dir, about
        self.rows = 0
        self.refused: list[str] = []
        """Files that W&B did not take, and why."""
        self._rows = Rows()
        self._last_step = 0
        # Not left to the package, whose own way of it crashes together with a recorder of videos.
        self._with_videos = os.environ.pop(VIDEOS_VARIABLE, "").lower() not in OFF
        os.environ.update(variables)
        os.environ["WANDB_MODE"] = "online" if online else "offline"
        self._wandb = _package()
        try:
            self._run: Any = self._begin(online=online)
        except Exception:  # A border: the package may raise anything; it goes on to the caller.
            # Its service still holds the id of the run, and would refuse a second try.
            self._wandb.teardown()
            raise

    def _begin(self, *, online: bool) -> Any:
        options = self._about.options
        alive = follow_events.is_alive(self._run_dir)
        starts = follow_events.starts(self._run_dir)
        settings = self._wandb.Settings(
            console="off",
            disable_git=True,
            disable_code=True,
            init_timeout=float(os.environ.get("WANDB_INIT_TIMEOUT") or (INIT_S if online else PATIENCE_S)),
            finish_timeout=FINISH_S if online else 0.0,
            finish_timeout_raises=True,
            x_start_time=starts[0].time if starts else None,
            # Of the worker, and only while it lives: the machine's numbers of a later day would be wrong.
            x_disable_stats=not alive,
            **({"x_stats_pid": _pid(starts), "x_stats_track_process_tree": True} if alive else {}),
        )
        run = self._wandb.init(
            project=options.wandb_project_name,
            entity=options.wandb_entity,
            id=self._about.tracker_id,
            name=self._about.name,
            group=self._about.group or None,
            job_type=self._about.kind,
            notes=self._about.notes or None,
            config=self._about.settings,
            settings=settings,
        )
        run.define_metric("global_step", hidden=True)
        run.define_metric("*", step_metric="global_step")
        return run

    @property
    def folder(self) -> str:
        """W&B's folder of this export, relative to the run directory."""
        return self._run_dir.relative(Path(self._run.dir).parent)

    @property
    def url(self) -> str:
        return self._run.url or ""

    def take(self, event: Event) -> None:
        self._log(self._rows.take(event))
        if isinstance(event.body, PolicySaved) or (isinstance(event.body, VideoSaved) and self._with_videos):
            self._add_file(event, event.body)

    def flush(self) -> None:
        """W&B's own process sees to that."""

    def close(self, *, failed: bool) -> None:
        self._log(self._rows.rest())
        self._run.finish(exit_code=1 if failed else 0)

    def _log(self, row: Row | None) -> None:
        if row is not None:
            self._last_step = row.global_step
            self._write({**row.values, "global_step": row.global_step, "_timestamp": row.time})

    def _write(self, values: dict[str, Any]) -> None:
        self._run.log(values, step=self.rows)
        self.rows += 1

    def _add_file(self, event: Event, body: VideoSaved | PolicySaved) -> None:
        def add(path: Path) -> None:
            if isinstance(body, VideoSaved):
                self._add_video(path, event.time, body)
            else:
                self._add_policy(path, body)

        hand_over(self._run_dir, body.path, add, self.refused)

    def _add_video(self, path: Path, time: float, video: VideoSaved) -> None:
        self._log(self._rows.rest())
        caption = f"episode {video.episode_id}: return {video.episodic_return}, {video.episodic_length} steps"
        film = self._wandb.Video(str(path), caption=caption, format="mp4")
        self._write({"videos": film, "global_step": self._last_step, "_timestamp": time})

    def _add_policy(self, path: Path, policy: PolicySaved) -> None:
        policy_digest.refuse_damaged(path.read_bytes(), what=str(path))
        about = self._about
        told = {"algo": about.algo, "env_id": about.env_id, "global_step": policy.global_step}
        artifact = self._wandb.Artifact(f"policy-{about.tracker_id}", type="model", metadata=told)
        artifact.add_file(str(path))
        self._run.log_artifact(artifact)


def _package() -> Any:
    try:
        import wandb
    except ImportError as error:
        raise MissingExtra(f"the export to Weights & Biases ({error})", "wandb") from error
    return wandb


def _pid(starts: list[Event]) -> int:
    last = starts[-1].body if starts else None
    return last.pid if isinstance(last, RunStarted) else 0
