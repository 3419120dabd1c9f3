"""The export of one run to W&B, from its first event to its last: repeated from the beginning if it was cut off."""

import os
from dataclasses import dataclass

from mosaic.errors import MissingExtra, MosaicError
from mosaic.log import get_logger
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state, follow_events, wandb_exporter, wandb_network
from mosaic.track.export_state import WANDB, AlreadyExporting, ExportUnderWay
from mosaic.track.feeding import Rewound, feed, wait_for_begin
from mosaic.track.run_description import About, about
from mosaic.track.wandb_exporter import WandbExporter
from mosaic.track.wandb_network import Network

log = get_logger()


class Disabled(MosaicError):
    """W&B is switched off in the environment."""


@dataclass(frozen=True)
class Way:
    """Online, or offline and why."""

    online: bool
    why: str = ""


def export(run_dir: RunDir) -> int:
    """Follow a run until its end; the exit code. What happened is in `wandb/export.json`."""
    try:
        with export_state.exporting_alone(run_dir):
            if is_complete(run_dir):
                return 0
            with _Exporting(run_dir, WANDB) as exporting:
                return exporting.whole()
    except AlreadyExporting as error:
        log.info("export.busy", reason=str(error))
        return 0


def is_complete(run_dir: RunDir) -> bool:
    """Whether every event is exported, and where it was written to is still there."""
    done = export_state.read(run_dir)
    if done is None or done.state not in ("offline", "synced") or not run_dir.inside(done.folder).is_dir():
        return False
    return not follow_events.is_alive(run_dir) and follow_events.last_seq(run_dir) <= done.events


def choose(way: Network) -> Way:
    """Online only where the server answers and a key is known; anything else keeps everything here."""
    mode = os.environ.get("WANDB_MODE", "").lower()
    if mode == "disabled":
        raise Disabled("WANDB_MODE is 'disabled': nothing is exported; unset it and run 'mosaic wandb sync'")
    if mode in ("offline", "dryrun"):
        return Way(False, f"WANDB_MODE is '{mode}'")
    if way.problem:
        return Way(False, way.problem)
    if not wandb_network.has_key(way.server):
        return Way(False, f"no API key for {way.server}: set WANDB_API_KEY, or 'wandb login'")
    answer = wandb_network.probe(way)
    log.info("probe", reachable=answer.reachable, text=answer.text, seconds=round(answer.seconds, 2))
    return Way(answer.reachable, "" if answer.reachable else answer.text)


class _Exporting(ExportUnderWay):
    def whole(self) -> int:
        self.tell(state="exporting")
        try:
            wait_for_begin(self.run_dir)
            told = about(self.run_dir)
            way = wandb_network.network_of(told.options)
            self.tell(
                project=told.options.wandb_project_name,
                entity=told.options.wandb_entity or "",
                name=told.name,
                wandb_id=told.tracker_id,
                server=way.server,
                proxy=way.shown_proxy,
            )
            self._export(told, way, choose(way))
        except (MissingExtra, Disabled) as error:
            self.tell(state="failed", why=str(error))
            return error.exit_code if isinstance(error, MissingExtra) else 0
        except Exception as error:  # A border: a tracker may raise anything; it is told, and ends this process only.
            return self.fail(error)
        return 0

    def _export(self, told: About, way: Network, chosen: Way) -> None:
        variables = {**way.environment, **wandb_exporter.environment(self.run_dir), "WANDB_BASE_URL": way.server}
        while True:
            wandb_exporter.clear(self.run_dir)
            self.tell(state="exporting", why=chosen.why, online=chosen.online, events=0, rows=0)
            try:
                exporter = WandbExporter(self.run_dir, told, online=chosen.online, variables=variables)
            except MissingExtra:
                raise
            except Exception as error:
                if not chosen.online:
                    raise
                # The server answered the probe but not the package: a wrong key, a deleted project, a broken proxy.
                log.warning("init.failed", error=str(error))
                chosen = Way(False, f"the server refused the run: {_first_line(error)}")
                continue
            self.tell(folder=exporter.folder, url=exporter.url)
            try:
                ending = feed(self.run_dir, exporter, self.progress)
            except Rewound:
                log.info("export.anew", reason="the run was resumed from an earlier step")
                exporter.close(failed=False)
                continue
            self._finish(exporter, chosen, failed=ending is None)
            return

    def _finish(self, exporter: WandbExporter, chosen: Way, *, failed: bool) -> None:
        if chosen.online:
            self.tell(state="syncing")
        try:
            exporter.close(failed=failed)
        except TimeoutError:
            self.tell(state="offline", rows=exporter.rows, why="the upload did not end in time; sync it later")
            return
        why = "; ".join(text for text in (chosen.why, *exporter.refused) if text)
        self.tell(state="synced" if chosen.online else "offline", why=why, rows=exporter.rows, url=exporter.url)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
