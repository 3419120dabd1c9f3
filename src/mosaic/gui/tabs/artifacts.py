"""The Artifacts tab: what the current run left behind, as a tree; videos and texts are shown beside it."""

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QWidget

from mosaic.errors import MosaicError
from mosaic.gui.models.runs.artifacts import Kept, listed
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs.artifact_page import ArtifactPage
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column, split
from mosaic.gui.widgets.runs.artifact_tree import ArtifactTree
from mosaic.gui.widgets.visibility import Visibility

REFRESH_S = 2.0
"""Between two lists of a run that moves on."""

TREE_WIDTH = 290


class ArtifactsTab(QWidget):
    """The tree on the left, what is selected in it on the right."""

    resume_asked = Signal(str, int)
    """Go on with this run from the checkpoint of this step; in a new run, if there are newer ones."""
    discard_asked = Signal(str, int)
    """The same in this run itself, which loses the newer ones."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self._run_id = ""
        self._listed: tuple[int, str] | None = None
        """Newest event and state of the run when its list was asked for."""
        self._listed_at = -REFRESH_S
        self.tree = ArtifactTree(theme)
        self.page = ArtifactPage(studio, theme)
        self.tree.setMinimumWidth(TREE_WIDTH)
        column(self, split(self.tree, self.page, sizes=[300, 700]), spacing=None)
        self._later = QTimer(self, singleShot=True)
        self._later.timeout.connect(self.refresh)
        self._seen = Visibility(self)
        self._seen.changed.connect(self.refresh)
        self.tree.chosen.connect(self._choose)
        self.page.resume_asked.connect(self.resume_asked)
        self.page.discard_asked.connect(self.discard_asked)
        studio.selection_changed.connect(self.refresh)
        studio.runs_changed.connect(self.refresh)
        studio.link.state_changed.connect(self.refresh)

    def closeEvent(self, event: QCloseEvent) -> None:
        """With the window."""
        self.page.close_view()
        super().closeEvent(event)

    def refresh(self) -> None:
        """Ask for the list if the run is another or has moved on, every two seconds at most."""
        record = self._studio.record()
        if self._studio.current != self._run_id:
            self._run_id, self._listed, self._listed_at = self._studio.current, None, -REFRESH_S
            self.tree.show_items(())
            self.page.show_kept(record, None)
        self.page.show_buttons(record)
        if record is None or not self._seen.now or self._studio.link.state != "connected":
            return
        if (record.last_seq, record.state) == self._listed:
            return
        wait_s = self._listed_at + REFRESH_S - time.monotonic()
        if wait_s > 0:
            if not self._later.isActive():
                self._later.start(int(1000 * wait_s) + 1)
            return
        self._listed, self._listed_at = (record.last_seq, record.state), time.monotonic()
        run_id, folder = record.run_id, None if self._studio.link.is_remote else Path(record.run_dir)
        self._studio.link.call(
            lambda client: listed(client, run_id, folder), partial(self._take, run_id), partial(self._failed, run_id)
        )

    def _take(self, run_id: str, found: Sequence[Kept]) -> None:
        if run_id != self._run_id:
            return
        self.tree.show_items(found)
        shown = self.page.kept
        there = {one.path: one for one in found}
        if shown is None or shown.path not in there:
            self.page.show_kept(self._studio.record(), None)
        elif there[shown.path].newer != shown.newer:
            self.page.show_kept(self._studio.record(), there[shown.path])

    def _failed(self, run_id: str, error: MosaicError) -> None:
        if run_id != self._run_id:
            return
        self._listed = None  # asked again with the run's next change, or when the daemon is back
        if self.page.kept is None:
            self.page.blank.say(str(error))

    def _choose(self, kept: Kept | None) -> None:
        shown = self.page.kept
        if kept is None or shown is None or kept.path != shown.path:
            self.page.show_kept(self._studio.record(), kept)
