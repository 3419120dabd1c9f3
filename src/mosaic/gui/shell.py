"""The parts of the window and where they are: runs on the left, tabs in the centre, a new run's form on the right."""

from PySide6.QtCore import QByteArray, QEvent, QSettings, QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QWidget

from mosaic.config import JsonObject
from mosaic.gui.models.evaluation.evaluation_actions import EvaluationActions
from mosaic.gui.models.runs.run_actions import RunActions
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs import TABS
from mosaic.gui.tabs.artifacts import ArtifactsTab
from mosaic.gui.tabs.evaluate import EvaluateTab
from mosaic.gui.tabs.metrics import MetricsTab
from mosaic.gui.tabs.sweeps import SweepsTab
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.daemon.status_line import StatusLine
from mosaic.gui.widgets.evaluation.policy_dialog import PolicyDialog
from mosaic.gui.widgets.form.train_panel import TrainPanel
from mosaic.gui.widgets.labels_and_buttons import pages
from mosaic.gui.widgets.runs.empty_state import EmptyState
from mosaic.gui.widgets.runs.runs_panel import RunsPanel
from mosaic.gui.widgets.tab_docks import Page, TabDocks

LAYOUT_VERSION = 2
"""Raised when docks change: an older remembered layout is then not used."""
RUNS_WIDTH, FORM_WIDTH = 272, 340
LOW = 840
"""Pixels of height below which charts are a tab beside the live view rather than below it."""


class Shell(QMainWindow):
    """Puts the parts together and remembers where they were."""

    def __init__(self, studio: Studio, theme: Theme, settings: QSettings) -> None:
        super().__init__()
        self.studio, self.theme, self._settings = studio, theme, settings
        self.setWindowTitle("MOSAIC")
        self.resize(1600, 960)
        self.setMinimumSize(QSize(960, 600))
        self.runs = RunsPanel(studio, theme)
        self.actions_on_runs = RunActions(studio, lambda: self.runs.chosen)
        self.form = TrainPanel(studio, theme, settings)
        self.tabs = {tab.title: tab.make(studio, theme) for tab in TABS}
        self.bench = TabDocks(theme, [Page(tab.title, tab.icon, tab.area, self.tabs[tab.title]) for tab in TABS])
        self._stack = pages(EmptyState(studio, theme), self.bench)
        self.setCentralWidget(self._stack)
        left = self._dock("Runs", self.runs, Qt.DockWidgetArea.LeftDockWidgetArea)
        right = self._dock("New run", self.form, Qt.DockWidgetArea.RightDockWidgetArea)
        self.side_docks = (left, right)
        self._first_layout = QByteArray()
        self.resizeDocks([left, right], [RUNS_WIDTH, FORM_WIDTH], Qt.Orientation.Horizontal)
        self.setStatusBar(StatusLine(studio, theme))
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
        metrics = self.tabs["Metrics"]
        assert isinstance(metrics, MetricsTab)
        self._chart_controls = metrics.controls

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        # Who comes back from an editor may have changed an algorithm, or written a new one.
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and hasattr(self, "form"):
            self.form.train_actions.catalogue.look_again()

    def closeEvent(self, event: QCloseEvent) -> None:
        # In a home that is gone nothing is remembered: that would begin another one in its place.
        if self.studio.link.state != "homeless":
            self._remember()
        # What runs for a tab, such as TensorBoard, ends with it.
        for tab in self.tabs.values():
            tab.close()
        super().closeEvent(event)

    def _remember(self) -> None:
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("layout", self.saveState(LAYOUT_VERSION))
        self._settings.setValue("tabs", self.bench.state())
        self._settings.setValue("scheme", self.theme.scheme)
        self.runs.save(self._settings)
        self._chart_controls.save(self._settings)
        self.form.remember()
        self._settings.sync()

    def configure(self) -> None:
        """Open the form."""
        self.side_docks[1].show()
        self.form.setFocus()

    def load_policy(self) -> None:
        """Open the form of an evaluation, with the current run's policy chosen if it has one."""
        if self.policies is None:
            train_actions = EvaluationActions(self.studio, self.form.train_actions.catalogue)
            self.policies = PolicyDialog(train_actions, self.theme, self, is_remote=self.studio.link.is_remote)
            self.policies.started.connect(self._show_evaluation)
        self.policies.open_for(self.studio.current)

    def reset_layout(self) -> None:
        self.restoreState(self._first_layout, LAYOUT_VERSION)
        self.bench.arrange(is_low=self.height() < LOW)

    def restore(self) -> None:
        """As it was closed; called once all parts are there."""
        self._first_layout = self.saveState(LAYOUT_VERSION)
        geometry, layout, tabs = (self._settings.value(name) for name in ("geometry", "layout", "tabs"))
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(layout, QByteArray):
            self.restoreState(layout, LAYOUT_VERSION)
        if not (isinstance(tabs, QByteArray) and self.bench.restore(tabs)):
            self.bench.arrange(is_low=self.height() < LOW)
        self.runs.restore(self._settings)
        self._chart_controls.restore(self._settings)

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
        self.bench.bring_up("Notes")

    def _dock(self, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title)
        dock.setObjectName(title)  # by which saveState finds it
        dock.setWidget(content)
        dock.setTitleBarWidget(QWidget(dock))
        self.addDockWidget(area, dock)
        return dock
