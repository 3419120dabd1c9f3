"""The window of differences: runs side by side, from any selection of them."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import chip_button, column, copy_button, label, push, row
from mosaic.gui.widgets.table.differences_view import DifferencesView
from mosaic.rpc.client import Client
from mosaic.run_table import run_differences
from mosaic.run_table.run_differences import Differences
from mosaic.spec.run_record import RunRecord

MOST = 20
"""Runs beside each other; of a larger selection these are the first."""


class DifferencesDialog(QDialog):
    """Stays open beside the window; another comparison takes the place of the one before."""

    def __init__(self, parent: QWidget, studio: Studio, theme: Theme) -> None:
        super().__init__(parent)
        self.setWindowTitle("Differences")
        self.resize(920, 620)
        self._studio = studio
        self._found: Differences | None = None
        self._asked: tuple[str, ...] = ()
        self.said = label("", "muted")
        self.everything = chip_button("Also what is the same", checked=False, toggled=self._toggle)
        self.view = DifferencesView(theme)
        above = row(self.said, 1, self.everything, copy_button(theme, "Copy", self.view.as_text))
        below = row(label("Bold: not as by default", "faint"), 1, push("Close", self._close))
        column(self, above, (self.view, 1), below, spacing=None, margins=None)

    def compare(self, run_ids: Sequence[str]) -> None:
        runs = self._studio.runs.of(run_ids[:MOST])
        if not runs:
            return
        asked = self._asked = tuple(run.run_id for run in runs)
        left = len(run_ids) - len(runs)
        self.said.setText(f"reading {len(runs)} runs …")

        def ask(client: Client) -> Differences:
            return run_differences.compared(run_differences.read(client, runs))

        def came(found: Differences) -> None:
            if self._asked == asked:
                self._found = found
                self._say(runs, left)
                self._fill()

        def failed(error: MosaicError) -> None:
            if self._asked == asked:
                self.said.setText(str(error))

        self._studio.link.call(ask, came, failed, brings_back=True)
        self.show()
        self.raise_()
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def _say(self, runs: Sequence[RunRecord], left: int) -> None:
        more = f" of {len(runs) + left:,} selected" if left > 0 else ""
        self.said.setText("1 run against the defaults" if len(runs) == 1 else f"{len(runs)} runs{more}")

    def _toggle(self, _: bool) -> None:
        self._fill()

    def _close(self) -> None:
        self.close()

    def _fill(self) -> None:
        if self._found is not None:
            lines = self._found.shown(everything=self.everything.isChecked())
            drawn = self._studio.selected
            colours = [self._studio.colour_of(one) if one in drawn else None for one in self._found.run_ids]
            self.view.show_lines(self._found, lines, colours)
