"""Whether a widget can be seen: shown, in a window that is not minimised, in front of the tabs that share its place."""

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QDockWidget, QWidget


class Visibility(QObject):
    """Tells when that changes. A dock behind another is not hidden by Qt but moved out of sight."""

    changed = Signal(bool)

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.now = False
        self._widget = widget
        self._window: QWidget | None = None
        self._dock: QDockWidget | None = None
        # After the event that tells of a change, when everything has its new place.
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.check)
        widget.installEventFilter(self)

    def check(self) -> None:
        widget = self._widget
        seen = widget.isVisible() and not widget.window().isMinimized() and not widget.visibleRegion().isEmpty()
        if seen != self.now:
            self.now = seen
            self.changed.emit(seen)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if watched is self._widget and kind == QEvent.Type.Hide:
            self.check()
        elif watched is self._widget and kind == QEvent.Type.Show:
            self._look_around()
            self._soon.start()
        elif watched is self._window and kind == QEvent.Type.WindowStateChange:
            self._soon.start()
        return False

    def _look_around(self) -> None:
        """The window and the dock that it is in now."""
        if self._window is not self._widget.window():
            if self._window is not None:
                self._window.removeEventFilter(self)
            self._window = self._widget.window()
            self._window.installEventFilter(self)
        place = self._widget.parentWidget()
        while place is not None and not isinstance(place, QDockWidget):
            place = place.parentWidget()
        if place is not None and place is not self._dock:
            self._dock = place
            place.visibilityChanged.connect(self._move)

    def _move(self, _: bool) -> None:
        self._soon.start()
