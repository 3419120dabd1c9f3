"""Settings and metrics for the table of runs: fetched in pages beside the window, again where a run has gone on."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.gui.models.table.run_table_model import RunTableModel
from mosaic.rpc.client import Client
from mosaic.run_table import fetched_values
from mosaic.run_table.fetched_values import PAGE, RunValues
from mosaic.run_table.filter_expression import needed
from mosaic.run_table.run_columns import WANTED
from mosaic.spec.run_record import RunRecord

AGAIN_MS = 2000
"""Metrics of runs that go on are asked for no more often."""
TAGS_OF = 60
"""Newest runs whose metrics are offered as columns."""


class TableValues(QObject):
    """One question at a time, newest runs first."""

    progressed = Signal()
    tags_came = Signal()

    def __init__(self, link: DaemonLink, table: RunTableModel) -> None:
        super().__init__()
        self._link, self._table = link, table
        self._asking = False
        self._is_open = False
        self._grown: set[str] = set()
        """Runs whose metrics were fetched and have grown since."""
        self._again = QTimer(self, interval=AGAIN_MS)
        self._again.timeout.connect(self._go_on)
        table.wanted_changed.connect(self._go_on)
        link.state_changed.connect(self._go_on)

    @property
    def missing(self) -> int:
        """Runs whose settings are not there yet."""
        return len(self._table.rows.without_settings()) if self._is_open else 0

    def open(self, is_open: bool) -> None:
        """Fetch while the table is looked at."""
        self._is_open = is_open
        if is_open:
            self._again.start()
            self._go_on()
        else:
            self._again.stop()

    def runs_came(self, records: Sequence[RunRecord]) -> None:
        self._grown.update(record.run_id for record in records)
        if self._is_open and self._table.rows.without_settings():
            self._go_on()

    def ask_tags(self) -> None:
        """Which metrics there are, for the choice of columns."""
        rows = self._table.rows
        newest: list[int] = rows.newest_first()[:TAGS_OF].tolist()
        ids = [rows.records[row].run_id for row in newest]

        def ask(client: Client) -> list[list[RunValues]]:
            return list(fetched_values.pages(client, ids, tags=True))

        def came(pages: list[list[RunValues]]) -> None:
            for page in pages:
                fetched_values.put(rows, page)
            self.tags_came.emit()

        self._link.call(ask, came)

    def _go_on(self) -> None:
        if self._asking or not self._is_open or self._link.state != "connected":
            return
        rows = self._table.rows
        if ids := rows.without_settings()[:PAGE]:
            self._ask(ids, settings=True)
            return
        for tag in needed(self._table.needed_columns())[1]:
            missing = rows.without_metric(tag)
            grown = [run_id for run_id in self._grown if rows.row_of(run_id) is not None]
            if ids := list(dict.fromkeys([*missing, *grown]))[:PAGE]:
                self._grown.difference_update(ids)
                self._ask(ids, tag=tag)
                return

    def _ask(self, ids: Sequence[str], *, settings: bool = False, tag: str = "") -> None:
        self._asking = True
        metrics = [tag] if tag else []

        def ask(client: Client) -> list[RunValues]:
            return next(fetched_values.pages(client, ids, settings=settings, metrics=metrics, tags=bool(tag)))

        def came(page: list[RunValues]) -> None:
            self._asking = False
            rows = self._table.rows
            named = len(rows.setting_names)
            fetched_values.put(rows, page)
            there = {run.run_id for run in page}
            if settings:
                # One that cannot be read is not asked for again and again.
                for run_id in ids[: max(1, len(page))]:
                    if run_id not in there:
                        rows.take_settings(run_id, {})
            if len(rows.setting_names) != named:
                self._table.understand_again()
            names = list(rows.setting_names) if settings else [f"{tag}.{end}" for end in WANTED]
            self._table.values_came([run.run_id for run in page], names)
            self.progressed.emit()
            self._go_on()

        def failed(error: MosaicError) -> None:  # noqa: ARG001 (the status bar says that the daemon is gone)
            self._asking = False

        self._link.call(ask, came, failed)
