"""The export of one run to a tracker that needs no probe: repeated from the beginning whenever it was cut off."""

from mosaic.errors import MissingExtra
from mosaic.log import get_logger
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state, follow_events
from mosaic.track.export_state import AlreadyExporting, ExportUnderWay
from mosaic.track.feeding import Rewound, feed, wait_for_begin
from mosaic.track.run_description import about
from mosaic.track.trackers import Local, exporter_of

log = get_logger()


def export_local(run_dir: RunDir, tracker: str) -> int:
    """Follow a run until its end; the exit code. What happened is in `<tracker>/export.json`."""
    try:
        with export_state.exporting_alone(run_dir, tracker):
            if is_complete(run_dir, tracker):
                return 0
            with _Exporting(run_dir, tracker) as exporting:
                return exporting.whole()
    except AlreadyExporting as error:
        log.info("export.busy", reason=str(error))
        return 0


def is_complete(run_dir: RunDir, tracker: str) -> bool:
    """Whether every event is exported."""
    done = export_state.read(run_dir, tracker)
    if done is None or done.state != "synced":
        return False
    return not follow_events.is_alive(run_dir) and follow_events.last_seq(run_dir) <= done.events


class _Exporting(ExportUnderWay):
    def whole(self) -> int:
        self.tell(state="exporting")
        try:
            wait_for_begin(self.run_dir)
            while not self._once():
                log.info("export.anew", reason="the run was resumed from an earlier step")
        except MissingExtra as error:
            self.tell(state="failed", why=str(error))
            return error.exit_code
        except Exception as error:  # A border: a tracker may raise anything; it is told, and ends this process only.
            return self.fail(error)
        return 0

    def _once(self) -> bool:
        """False if the run was rewound meanwhile."""
        told = about(self.run_dir)
        exporter: Local = exporter_of(self.tracker)(self.run_dir, told)
        self.tell(
            project=told.options.track_project_name,
            name=told.name,
            wandb_id=exporter.run_id,
            server=exporter.place,
            url=exporter.page,
            events=0,
            rows=0,
        )
        try:
            ending = feed(self.run_dir, exporter, self.progress)
        except Rewound:
            exporter.close(failed=False)
            return False
        exporter.close(failed=ending is None)
        self.tell(state="synced", why="; ".join(exporter.refused), rows=exporter.rows)
        return True
