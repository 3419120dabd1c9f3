"""The parts of the window and where they are: runs on the left, tabs in the centre, a new run's form on the right."""

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QEvent, QObject, QPoint, QSettings, QSize, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QMouseEvent, QResizeEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QScrollArea, QWidget

from mosaic.config import JsonObject
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.evaluation.evaluation_actions import EvaluationActions
from mosaic.gui.models.runs.run_actions import RunActions
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs import TABS
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.gui.tabs.evaluate import EvaluateTab
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.sweeps import SweepsTab
from mosaic.gui.tabs.table import TableTab
from mosaic.gui.tabs.tensorboard import TensorBoardTab
from mosaic.gui.tabs.wandb import WandbTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.daemon.status_line import StatusLine
from mosaic.gui.widgets.documentation_window import DocumentationWindow
from mosaic.gui.widgets.edge_handle import EdgeHandle
from mosaic.gui.widgets.evaluation.policy_dialog import PolicyDialog
from mosaic.gui.widgets.focus_ring import FocusRing
from mosaic.gui.widgets.form.train_panel import TrainPanel
from mosaic.gui.widgets.labels_and_buttons import pages, row
from mosaic.gui.widgets.reading_order import neighbour
from mosaic.gui.widgets.runs.alerts_dialog import AlertsDialog
from mosaic.gui.widgets.runs.desktop_notices import DesktopNotices
from mosaic.gui.widgets.runs.empty_state import EmptyState
from mosaic.gui.widgets.runs.run_file_actions import RunFileActions
from mosaic.gui.widgets.runs.runs_panel import RunsPanel
from mosaic.gui.widgets.tab_docks import Page, TabDocks
from mosaic.gui.widgets.table.differences_dialog import DifferencesDialog
from mosaic.gui.widgets.table.views_menu import ViewsMenu
from mosaic.run_table.saved_views import MOST_RUNS, SavedView
from mosaic.track.export_state import WANDB

LAYOUT_VERSION = 3
"""Raised when docks change: an older remembered layout is then not used."""
RUNS_WIDTH, FORM_WIDTH = 272, 340
LOW = 840
"""Pixels of height below which charts are a tab beside the live view rather than below it."""
NARROW, NARROWEST = 1400, 1100
"""Pixels of width below which another layout is remembered, and below which the form gives way at first."""
COLLAPSES = 0.6
"""Of its least width: a side panel whose edge is dragged to less than that is put away."""
EDGE = 6
"""Pixels beside a panel in which its edge is taken."""
SETTLE_MS = 250
LAST = "last"
"""Stands for the size at which a window was closed, in the place of one that is not known yet."""


class Shell(QMainWindow):
    """Puts the parts together and remembers where they were."""

    def __init__(self, studio: Studio, theme: Theme, settings: QSettings) -> None:
        super().__init__()
        self.studio, self.theme, self._settings = studio, theme, settings
        self.setWindowTitle("MOSAIC")
        self.resize(1600, 960)
        self.setMinimumSize(QSize(960, 600))
        self.runs = RunsPanel(studio, theme)
        self.actions_on_runs = RunActions(studio, self.chosen_runs)
        self.form = TrainPanel(studio, theme, settings)
        self.tabs = {tab.title: tab.make(studio, theme) for tab in TABS}
        shown = [tab for tab in TABS if tab.is_shown(studio)]
        self.bench = TabDocks(theme, [Page(tab.title, tab.icon, tab.area, self.tabs[tab.title]) for tab in shown])
        self.focus_ring = FocusRing(theme, self)
        self._stack = pages(EmptyState(studio, theme), self.bench)
        left = self._dock("Runs", self.runs, Qt.DockWidgetArea.LeftDockWidgetArea)
        right = self._dock("New run", self.form, Qt.DockWidgetArea.RightDockWidgetArea)
        self.side_docks = (left, right)
        handles = [
            EdgeHandle(theme, left, "Ctrl+B", at_left=True),
            EdgeHandle(theme, right, "Ctrl+Shift+B", at_left=False),
        ]
        middle = QWidget()
        row(handles[0], (self._stack, 1), handles[1], of=middle, spacing=0)
        self.setCentralWidget(middle)
        self.installEventFilter(self)
        self._dragged: QDockWidget | None = None
        """The panel whose edge is being dragged."""
        self._size = ""
        """The kind of size whose layout is shown."""
        self._resized = QTimer(self, interval=SETTLE_MS, singleShot=True)
        self._resized.timeout.connect(self._change_layout)
        self._first_layout = QByteArray()
        self.resizeDocks([left, right], [RUNS_WIDTH, FORM_WIDTH], Qt.Orientation.Horizontal)
        self.status = StatusLine(studio, theme)
        self.status.alerts_asked.connect(self.open_alerts)
        self.setStatusBar(self.status)
        self.desktop_notices = DesktopNotices(theme, studio.alerts)
        self.alerts: AlertsDialog | None = None
        studio.runs_changed.connect(self._show_page)
        studio.notes.rowsInserted.connect(self._show_notes)
        self.policies: PolicyDialog | None = None
        """Made when it is first asked for."""
        evaluate = self.tabs["Evaluate"]
        assert isinstance(evaluate, EvaluateTab)
        evaluate.load_asked.connect(self.load_policy)
        artifacts = self.tabs["Artifacts"]
        assert isinstance(artifacts, ArtifactsTab)
        artifacts.resume_asked.connect(self.actions_on_runs.resume)
        artifacts.discard_asked.connect(self.actions_on_runs.resume_and_discard)
        sweeps = self.tabs["Sweeps"]
        assert isinstance(sweeps, SweepsTab)
        sweeps.train_asked.connect(self._train_best)
        self.form.sweep_started.connect(self._show_sweep)
        table = self.tabs["Table"]
        assert isinstance(table, TableTab)
        self.table = table
        self._had_form = True
        """Before the table took its place."""
        table.run_asked.connect(self._show_run)
        table.compare_asked.connect(self.compare)
        self._differences: DifferencesDialog | None = None
        self._docs: DocumentationWindow | None = None
        self.runs.table_asked.connect(self.switch_table)
        metrics = self.tabs["Metrics"]
        assert isinstance(metrics, MetricsTab)
        self.metrics = metrics
        self._had_sides: list[bool] | None = None
        """Which side panels were shown before a panel was maximised; None while none is."""
        self.views = ViewsMenu(self, studio.home, self.view_now)
        self.views.selected = lambda: len(self.chosen_runs())
        self.views.show_asked.connect(self.show_view)
        self.views.said.connect(studio.noticed)
        table.bar.views.setMenu(self.views)
        self.run_files = RunFileActions(self, studio, theme, self.chosen_runs)
        table.actions_on_chosen.export_asked.connect(self.run_files.export)
        table.actions_on_chosen.share_asked.connect(self.run_files.share)
        table.actions_on_chosen.track_asked.connect(self.run_files.track)
        wandb = self.tabs["W&B"]
        assert isinstance(wandb, WandbTab)
        wandb.export_asked.connect(self._export_to_wandb)

    def _export_to_wandb(self, run_id: str) -> None:
        self.run_files.track_to(WANDB, [run_id])

    @property
    def _alerts_seen(self) -> str:
        """The setting: of each daemon the newest alert that was seen."""
        return f"alerts/{(self.studio.link.target or 'home').replace('/', '_')}"

    def focusNextPrevChild(self, is_next: bool) -> bool:
        """Tab and Shift+Tab, from any widget of the window."""
        here = QApplication.focusWidget()
        if here is None or not here.isVisible():
            # No key: the window opens, or what had the focus is being hidden, perhaps only for a moment.
            QTimer.singleShot(0, self, self._focus_somewhere)
            return True
        stop = neighbour(self, self.focusWidget(), forward=is_next)
        if stop is None:
            return False
        stop.setFocus(Qt.FocusReason.TabFocusReason if is_next else Qt.FocusReason.BacktabFocusReason)
        self._scroll_to(stop)
        self.focus_ring.show_around(stop)
        return True

    def _focus_somewhere(self) -> None:
        """Where nothing has the focus: the arrow keys belong to the runs as long as they are shown."""
        here = QApplication.focusWidget()
        if here is None or not here.isVisible():
            stop = self.runs.view if self.runs.view.isVisible() else neighbour(self, None, forward=True)
            if stop is not None:
                stop.setFocus()

    @staticmethod
    def _scroll_to(widget: QWidget) -> None:
        around = widget.parentWidget()
        while around is not None:
            if isinstance(around, QScrollArea):
                around.ensureWidgetVisible(widget)
            around = around.parentWidget()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Of the window itself. Qt moves the edges of the panels, and stops at their least width.

        `event` is not overridden: the window is deleted in it, which must not happen below a call of Python.
        """
        if watched is self and isinstance(event, QMouseEvent) and event.button() == Qt.MouseButton.LeftButton:
            if event.type() == QEvent.Type.MouseButtonPress:
                self._dragged = self._edge_at(event.position().toPoint())
            elif event.type() == QEvent.Type.MouseButtonRelease and self._dragged is not None:
                dock, self._dragged = self._dragged, None
                at = event.position().x()
                width = at if dock is self.side_docks[0] else self.width() - at
                if width < COLLAPSES * dock.minimumSizeHint().width():
                    # After Qt has ended the drag.
                    QTimer.singleShot(0, dock, dock.hide)
        return False

    def _edge_at(self, point: QPoint) -> QDockWidget | None:
        left, right = (dock.geometry() for dock in self.side_docks)
        if self.side_docks[0].isVisible() and 0 <= point.x() - left.right() <= EDGE:
            return self.side_docks[0]
        if self.side_docks[1].isVisible() and 0 <= right.left() - point.x() <= EDGE:
            return self.side_docks[1]
        return None

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._size and self._kind_of_size() != self._size:
            self._resized.start()

    def _kind_of_size(self) -> str:
        width = "small" if self.width() < NARROWEST else "narrow" if self.width() < NARROW else "wide"
        return f"{width}-{'low' if self.height() < LOW else 'high'}"

    def _change_layout(self) -> None:
        """A window of another size has the layout that it had at this size."""
        if (now := self._kind_of_size()) != self._size:
            # What has all the room keeps it; the layout below it is that of the size.
            title, is_table = self.bench.maximised, self._had_sides is None
            if title:
                self.maximise_panel()
            self._keep_layout()
            self._size = now
            self._restore_layout()
            if title and is_table:
                self.switch_table()
            elif title:
                self._give_all_room_to(title)

    def _keep_layout(self) -> None:
        for size in (self._size, LAST):
            self._settings.setValue(f"layout/{size}", self.saveState(LAYOUT_VERSION))
            self._settings.setValue(f"tabs/{size}", self.bench.state())

    def _restore_layout(self, otherwise: str = "") -> None:
        """As it was at this size, else as it was at another."""
        size = self._size if self._settings.contains(f"layout/{self._size}") else otherwise
        layout, tabs = (self._settings.value(f"{name}/{size}") for name in ("layout", "tabs"))
        if not (isinstance(layout, QByteArray) and self.restoreState(layout, LAYOUT_VERSION)):
            self._first_sides()
        if not (isinstance(tabs, QByteArray) and self.bench.restore(tabs)):
            self.bench.arrange(is_low=self.height() < LOW)

    def _first_sides(self) -> None:
        self.restoreState(self._first_layout, LAYOUT_VERSION)
        # Where there is no room for all, the form gives way: a key brings it back.
        self.side_docks[1].setVisible(self.width() >= NARROWEST)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # Who comes back from an editor may have changed an algorithm, or written a new one.
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and hasattr(self, "form"):
            self.form.train_actions.catalogue.look_again()

    def closeEvent(self, event: QCloseEvent) -> None:
        # In a home that is gone nothing is remembered: that would begin another one in its place.
        if self.studio.link.state != "homeless":
            self._remember()
        self.desktop_notices.close()
        # What runs for a tab, such as TensorBoard, ends with it.
        for tab in self.tabs.values():
            tab.close()
        super().closeEvent(event)

    def _remember(self) -> None:
        if self.bench.maximised:
            self.maximise_panel()
        self._settings.setValue("geometry", self.saveGeometry())
        self._keep_layout()
        self._settings.setValue("scheme", self.theme.scheme)
        self._settings.setValue(self._alerts_seen, self.studio.alerts.seen)
        self.runs.save(self._settings)
        self.table.save(self._settings)
        self.metrics.save_charts(self._settings)
        self.form.remember()
        self._settings.sync()

    def bring_up(self, title: str) -> None:
        """Show a tab, or open elsewhere what has none."""
        if title in self.bench.docks:
            self._stack.setCurrentWidget(self.bench)  # without a run too: a person may play
            self.bench.bring_up(title)
            return
        tab = self.tabs[title]
        assert isinstance(tab, TensorBoardTab)
        tab.open_elsewhere()

    def configure(self) -> None:
        """Open the form, the cursor in its first field."""
        self.side_docks[1].show()
        self.form.view.algorithm.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def load_policy(self) -> None:
        """Open the form of an evaluation, with the current run's policy chosen if it has one."""
        if self.policies is None:
            train_actions = EvaluationActions(self.studio, self.form.train_actions.catalogue)
            self.policies = PolicyDialog(train_actions, self.theme, self, is_remote=self.studio.link.is_remote)
            self.policies.started.connect(self._show_evaluation)
        self.policies.open_for(self.studio.current)

    def open_alerts(self) -> None:
        """The alerts there were."""
        if self.alerts is None:
            why_none = self.desktop_notices.why_none
            self.alerts = AlertsDialog(self, self.theme, self.studio.alerts, why_no_desktop=why_none)
            self.alerts.run_asked.connect(self._show_run)
            self.alerts.destroyed.connect(self._forget_alerts)
            self.alerts.open()

    def _forget_alerts(self) -> None:
        self.alerts = None

    def show_docs(self) -> DocumentationWindow:
        """The pages of the documentation, in a window beside this one."""
        if self._docs is None:
            self._docs = DocumentationWindow(self.theme, self)
        self._docs.open()
        return self._docs

    def switch_table(self) -> None:
        """The runs as a table in all the room that there is, and back."""
        form = self.side_docks[1]
        if self.bench.maximised == "Table":
            self.bench.put_back()
            form.setVisible(self._had_form)
            self.runs.view.setFocus()
            return
        if self._had_sides is not None:
            self.maximise_panel()  # another panel has all the room
        self._had_form = form.isVisible()
        form.hide()
        self._stack.setCurrentWidget(self.bench)
        self.bench.maximise("Table")
        self.table.view.setFocus()

    def maximise_panel(self) -> None:
        """The panel that has the focus, or else the charts, in all the room that there is; and back."""
        if self.bench.maximised == "Table" and self._had_sides is None:
            self.switch_table()
        elif self._had_sides is not None:
            shown, self._had_sides = self._had_sides, None
            self.bench.put_back()
            for dock, was_shown in zip(self.side_docks, shown, strict=True):
                dock.setVisible(was_shown)
        else:
            self._give_all_room_to(self.bench.panel_of(QApplication.focusWidget()) or "Metrics")

    def _give_all_room_to(self, title: str) -> None:
        self._had_sides = [not dock.isHidden() for dock in self.side_docks]
        for dock in self.side_docks:
            dock.hide()
        self._stack.setCurrentWidget(self.bench)
        self.bench.maximise(title)

    def compare(self, run_ids: Sequence[str] = ()) -> None:
        """These runs, or the selected ones, side by side."""
        if self._differences is None:
            self._differences = DifferencesDialog(self, self.studio, self.theme)
        self._differences.compare(run_ids or self.chosen_runs())

    def view_now(self, name: str, keeps_runs: bool) -> SavedView:
        """What is shown, to be saved."""
        return SavedView(
            name=name,
            table=self.table.table.arrangement,
            widths=dict(self.table.view.widths),
            charts=self.metrics.as_view(),
            runs=tuple(self.chosen_runs()[:MOST_RUNS]) if keeps_runs else (),
            shows=self.bench.maximised,
        )

    def show_view(self, view: SavedView) -> None:
        """The table, the charts and the selection as they were saved; runs that are gone are said."""
        self._stack.setCurrentWidget(self.bench)
        if (view.shows == "Table") != (self.bench.maximised == "Table"):
            self.switch_table()
        self.table.view.widths |= view.widths
        self.table.show_arrangement(view.table)
        self.metrics.show_view(view.charts)
        there = [run_id for run_id in view.runs if self.studio.runs.get(run_id) is not None]
        if there:
            self.studio.select(there)
        if gone := len(view.runs) - len(there):
            text = f"{gone:,} of the {len(view.runs):,} runs of the view “{view.name}” are not here"
            self.studio.noticed.emit(Notice(text))

    def chosen_runs(self) -> list[str]:
        """What is selected in the table while it is looked at, else in the list; more may be selected than drawn."""
        return self.table.view.chosen if self.table.isVisible() and self.table.view.chosen else self.runs.chosen

    def _show_run(self, run_id: str) -> None:
        if self.bench.maximised:
            self.maximise_panel()
        self.studio.select([run_id])
        self.bench.bring_up("Overview")

    def reset_layout(self) -> None:
        # Of the size that there is now: a change that was not settled yet would come over it.
        self._resized.stop()
        self._change_layout()
        self._had_sides = None
        self._first_sides()
        self.bench.arrange(is_low=self.height() < LOW)

    def restore(self) -> None:
        """As it was closed; called once all parts are there."""
        self._first_layout = self.saveState(LAYOUT_VERSION)
        geometry = self._settings.value("geometry")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        self._size = self._kind_of_size()
        self._restore_layout(otherwise=LAST)
        seen = self._settings.value(self._alerts_seen, 0)
        self.studio.alerts.seen = int(seen) if str(seen).isdigit() else 0  # pyright: ignore[reportArgumentType]
        self.runs.view.setFocus()
        self.runs.restore(self._settings)
        self.table.restore(self._settings)
        self.metrics.restore_charts(self._settings)

    def _train_best(self, document: JsonObject, origin: str) -> None:
        self.configure()
        self.form.train_actions.fill(document, origin)

    def _show_sweep(self, sweep_id: str) -> None:
        sweeps = self.tabs["Sweeps"]
        assert isinstance(sweeps, SweepsTab)
        self._stack.setCurrentWidget(self.bench)
        self.bench.bring_up("Sweeps")
        sweeps.show_sweep(sweep_id)

    def _show_page(self) -> None:
        if self.studio.runs.rowCount() or self.studio.notes.rowCount():
            self._stack.setCurrentWidget(self.bench)
        else:
            self._stack.setCurrentIndex(0)

    def _show_evaluation(self) -> None:
        self._show_page()
        self.bench.bring_up("Evaluate")

    def _show_notes(self) -> None:
        self._show_page()
        self.bench.bring_up("Dry runs")

    def _dock(self, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title)
        dock.setObjectName(title)  # by which saveState finds it
        dock.setWidget(content)
        dock.setTitleBarWidget(QWidget(dock))
        self.addDockWidget(area, dock)
        return dock
