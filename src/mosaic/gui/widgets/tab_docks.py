"""The tabs of the window as docks: each can be dragged beside, below or out of the window, and put back."""

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QByteArray, QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QIcon, QResizeEvent
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QTabBar, QTabWidget, QWidget

from mosaic.gui.assets import keep_icon
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import icon_label, label, restyle, row

Area: TypeAlias = Literal["centre", "middle", "bottom"]
BESIDE_TITLE = 66
"""Pixels of a tab that are not its title, at most: the space at its ends, the icon, and what is between."""
SHARES: dict[Area, int] = {"centre": 37, "middle": 46, "bottom": 17}
"""Of the height, where there is room for all three."""


@dataclass(frozen=True)
class Page:
    """A tab to be shown."""

    title: str
    icon: str
    area: Area
    widget: QWidget


class TabDocks(QMainWindow):
    """A window within the window, because only a QMainWindow has docks; it has no menus of its own."""

    def __init__(self, theme: Theme, pages: Sequence[Page]) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._pages = list(pages)
        # A layout of other tabs is not restored: Qt would leave a dock that it does not know floating.
        self._version = zlib.crc32("|".join(page.title for page in pages).encode()) & 0x7FFF_FFFF
        self._icons: dict[str, QIcon] = {}
        self.maximised = ""
        """The tab that has the whole place; empty where none has."""
        self._before = QByteArray()
        self._bars = {page.title: _TitleBar(theme, page) for page in pages}
        self.docks = {page.title: self._dock(page) for page in pages}
        # Qt makes and moves the bars of tabs after the signal that tells of it.
        self._tidy_soon = QTimer(self, singleShot=True)
        self._tidy_soon.timeout.connect(self._tidy)
        for page in pages:
            keep_icon(theme, page.icon, self._icon_setter(page.title))
            dock = self.docks[page.title]
            for signal in (dock.dockLocationChanged, dock.topLevelChanged, dock.visibilityChanged):
                signal.connect(self._tidy_later)

    def arrange(self, *, is_low: bool) -> None:
        """The first layout: centre above middle above bottom; in a low window the middle joins the centre."""
        heads: dict[Area, QDockWidget] = {}
        self.maximised = ""
        for page in self._pages:
            dock = self.docks[page.title]
            dock.setFloating(False)
            self.removeDockWidget(dock)
        # splitDockWidget before tabifyDockWidget: the other way round Qt forgets which is in front.
        for page in self._pages:
            area = _area_of(page, is_low=is_low)
            if area not in heads:
                dock = self.docks[page.title]
                if not heads:
                    self.addDockWidget(Qt.DockWidgetArea.TopDockWidgetArea, dock)
                else:
                    self.splitDockWidget(list(heads.values())[-1], dock, Qt.Orientation.Vertical)
                heads[area] = dock
        for page in self._pages:
            dock, head = self.docks[page.title], heads[_area_of(page, is_low=is_low)]
            if dock is not head:
                self.tabifyDockWidget(head, dock)
        for dock in self.docks.values():
            dock.show()
        for head in heads.values():
            head.raise_()
        shares = [SHARES[area] + (SHARES["middle"] if is_low and area == "centre" else 0) for area in heads]
        self.resizeDocks(list(heads.values()), [10 * share for share in shares], Qt.Orientation.Vertical)
        self._tidy_soon.start()

    def bring_up(self, title: str) -> None:
        """Show a tab, wherever it is, also one that was closed."""
        dock = self.docks[title]
        if self.maximised and not dock.isFloating() and dock.isHidden():
            self.put_back()
        dock.show()
        dock.raise_()

    def maximise(self, title: str) -> None:
        """This tab has the whole place, and the others come back by `put_back`."""
        if self.maximised != title:
            self.put_back()
            self._before, self.maximised = self.saveState(self._version), title
            dock = self.docks[title]
            beside = {dock, *self.tabifiedDockWidgets(dock)}
            for other in self.docks.values():
                if other not in beside and not other.isFloating():
                    other.hide()
        self.bring_up(title)

    def panel_of(self, widget: QWidget | None) -> str:
        """The tab that a widget is in; empty if it is in none."""
        if widget is None:
            return ""
        return next((title for title, dock in self.docks.items() if dock.isAncestorOf(widget)), "")

    def put_back(self) -> None:
        """The tabs as they were before one of them was maximised; one that was looked at meanwhile stays in front."""
        if self.maximised:
            maximised, self.maximised = self.maximised, ""
            there = (title for title, dock in self.docks.items() if not dock.isFloating())
            front = next((title for title in there if not self.docks[title].visibleRegion().isEmpty()), maximised)
            self.restoreState(self._before, self._version)
            if front != maximised:
                self.docks[front].raise_()

    def state(self) -> QByteArray:
        return self._before if self.maximised else self.saveState(self._version)

    def restore(self, state: QByteArray) -> bool:
        self.maximised = ""
        return self.restoreState(state, self._version)

    def _dock(self, page: Page) -> QDockWidget:
        dock = QDockWidget(page.title.replace("&", "&&"), self)  # one alone would mark a letter
        dock.setObjectName(page.title)  # by which saveState finds it
        dock.setWidget(page.widget)
        dock.setTitleBarWidget(self._bars[page.title])
        dock.setMinimumSize(220, 96)
        return dock

    def _tidy_later(self) -> None:
        self._tidy_soon.start()

    def _icon_setter(self, title: str) -> Callable[[QIcon], None]:
        def keep(icon: QIcon) -> None:
            self._icons[title] = icon
            self._tidy_later()

        return keep

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tidy_soon.start()

    def _tidy(self) -> None:
        """A title is shown once: by the tab where there are tabs, by the title bar where a dock is alone."""
        for title, dock in self.docks.items():
            self._bars[title].fold(not dock.isFloating() and bool(self.tabifiedDockWidgets(dock)))
        for bar in self.findChildren(QTabBar):
            if bar.parent() is self:
                # After another layout Qt leaves empty ones behind, over those that are used.
                bar.setVisible(bar.count() > 0)
            bar.setDocumentMode(True)
            bar.setDrawBase(False)
            bar.setExpanding(False)
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            for place in range(bar.count()):
                title = bar.tabText(place).replace("&&", "&")
                bar.setTabToolTip(place, title)
                if (icon := self._icons.get(title)) is not None:
                    bar.setTabIcon(place, icon)
            self._fit(bar)

    @staticmethod
    def _fit(bar: QTabBar) -> None:
        """Where the titles have no room, only the tab in front keeps its own; the others are icons with tool tips."""
        needed = sum(
            bar.fontMetrics().horizontalAdvance(bar.tabText(place).replace("&&", "&")) + BESIDE_TITLE
            for place in range(bar.count())
        )
        is_narrow = needed > bar.width()
        if bool(bar.property("icons")) != is_narrow:
            restyle(bar, "icons", is_narrow)
            # A bar measures its tabs again for a new style, not for a property of the sheet.
            QApplication.sendEvent(bar, QEvent(QEvent.Type.StyleChange))


class _TitleBar(QWidget):
    """Looks like the tab that it stands for; what is dragged is the dock."""

    HEIGHT = 35

    def __init__(self, theme: Theme, page: Page) -> None:
        super().__init__()
        self.setProperty("lone", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._is_folded = False
        parts = (icon_label(theme, page.icon, size=15), label(page.title, "heading"), 1)
        row(*parts, of=self, margins=(14, 0, 14, 0), spacing=7)

    def fold(self, folded: bool) -> None:
        """Take no room, because there is a tab."""
        if folded != self._is_folded:
            self._is_folded = folded
            self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), 0 if self._is_folded else self.HEIGHT)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())


def _area_of(page: Page, *, is_low: bool) -> Area:
    return "centre" if is_low and page.area == "middle" else page.area
