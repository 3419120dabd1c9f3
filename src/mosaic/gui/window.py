"""The window: runs on the left, tabs in the centre, the log at the bottom. Closing it touches no run."""

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QSettings, QSize, Qt
from PySide6.QtGui import QAction, QCloseEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QMessageBox, QStackedWidget, QTabWidget, QWidget

from mosaic import __version__
from mosaic.gui.assets import keep_icon
from mosaic.gui.models.studio import Studio
from mosaic.gui.tabs import TABS
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.empty_state import EmptyState
from mosaic.gui.widgets.runs_panel import RunsPanel
from mosaic.gui.widgets.status_line import StatusLine

LAYOUT_VERSION = 1
"""Raised when docks change: an older remembered layout is then not used."""


class Window(QMainWindow):
    """Puts the parts together and remembers where they were."""

    def __init__(self, studio: Studio, theme: Theme, settings: QSettings, *, example: str) -> None:
        super().__init__()
        self._studio, self._theme, self._settings = studio, theme, settings
        self.setWindowTitle("MOSAIC")
        self.resize(1600, 960)
        self.setMinimumSize(QSize(900, 560))
        self.runs = RunsPanel(studio, theme)
        self.centre, self.bottom = _tab_widget(), _tab_widget()
        self.tabs = {tab.title: tab.make(studio, theme) for tab in TABS}
        for tab in TABS:
            place = self.centre if tab.area == "centre" else self.bottom
            index = place.addTab(self.tabs[tab.title], tab.title)
            keep_icon(theme, tab.icon, lambda icon, place=place, index=index: place.setTabIcon(index, icon))
        self._stack = QStackedWidget()
        self._stack.addWidget(EmptyState(theme, example))
        self._stack.addWidget(self.centre)
        self.setCentralWidget(self._stack)
        left = self._dock("Runs", self.runs, Qt.DockWidgetArea.LeftDockWidgetArea)
        below = self._dock("Log", self.bottom, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.LeftDockWidgetArea)
        self.resizeDocks([left], [272], Qt.Orientation.Horizontal)
        self.resizeDocks([below], [210], Qt.Orientation.Vertical)
        self.setStatusBar(StatusLine(studio, theme))
        self._make_menus(left, below)
        self._first_layout = self.saveState(LAYOUT_VERSION)
        self._restore()
        studio.runs_changed.connect(self._show_page)

    def closeEvent(self, event: QCloseEvent) -> None:
        self._settings.setValue("geometry", self.saveGeometry())
        self._settings.setValue("layout", self.saveState(LAYOUT_VERSION))
        self._settings.setValue("tab", self.centre.currentIndex())
        self._settings.setValue("scheme", self._theme.scheme)
        self._settings.sync()
        super().closeEvent(event)

    def _restore(self) -> None:
        geometry, layout = self._settings.value("geometry"), self._settings.value("layout")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(layout, QByteArray):
            self.restoreState(layout, LAYOUT_VERSION)
        self.centre.setCurrentIndex(int(str(self._settings.value("tab", 0))))

    def _show_page(self) -> None:
        self._stack.setCurrentIndex(1 if self._studio.runs.rowCount() else 0)

    def _dock(self, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title)
        dock.setObjectName(title)  # by which saveState finds it
        dock.setWidget(content)
        dock.setTitleBarWidget(QWidget(dock))
        self.addDockWidget(area, dock)
        return dock

    def _make_menus(self, left: QDockWidget, below: QDockWidget) -> None:
        file, run, view, about = (self.menuBar().addMenu(name) for name in ("&File", "&Run", "&View", "&Help"))
        self._action(file, "&Quit", self.close, QKeySequence.StandardKey.Quit)
        self._action(run, "&Find a run", self.runs.filter.setFocus, QKeySequence.StandardKey.Find)
        run.addSeparator()
        self._action(run, "Copy run &id", lambda: self._copy(self._studio.current), "Ctrl+Shift+C")
        self._action(run, "Copy &evaluate command", lambda: self._copy(f"mosaic evaluate {self._studio.current}"))
        self._action(view, "Dark or &light", self._theme.toggle, "Ctrl+Shift+T")
        view.addSeparator()
        for dock, keys in ((left, "Ctrl+B"), (below, "Ctrl+J")):
            toggle = dock.toggleViewAction()
            toggle.setShortcut(QKeySequence(keys))
            view.addAction(toggle)
        self._action(view, "&Reset layout", lambda: self.restoreState(self._first_layout, LAYOUT_VERSION))
        for number, tab in enumerate((tab for tab in TABS if tab.area == "centre"), start=1):
            self._action(
                view, tab.title, lambda tab=tab: self.centre.setCurrentWidget(self.tabs[tab.title]), f"Ctrl+{number}"
            )
        self._action(about, "&About MOSAIC", self._about)

    def _action(
        self, menu: QMenu, text: str, does: Callable[[], object], keys: "QKeySequence.StandardKey | str | None" = None
    ) -> None:
        action = QAction(text, self)
        action.triggered.connect(lambda _=False: does())
        if keys is not None:
            action.setShortcut(QKeySequence(keys))
        menu.addAction(action)

    @staticmethod
    def _copy(text: str) -> None:
        QGuiApplication.clipboard().setText(text)

    def _about(self) -> None:
        QMessageBox.about(
            self,
            "About MOSAIC",
            f"MOSAIC {__version__}\nA reinforcement-learning studio.\n\n"
            "Inter and JetBrains Mono: SIL Open Font License. Lucide icons: ISC.",
        )


def _tab_widget() -> QTabWidget:
    made = QTabWidget()
    made.setDocumentMode(True)
    made.setIconSize(QSize(15, 15))
    return made
