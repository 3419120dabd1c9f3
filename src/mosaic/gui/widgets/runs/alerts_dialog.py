"""The alerts there were: when, which run, what happened, who was told."""

from collections.abc import Callable
from datetime import UTC, datetime

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QTreeWidgetItem, QWidget

from mosaic.gui.models.runs.alerts_model import Alerts
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import list_of
from mosaic.gui.widgets.labels_and_buttons import column, icon_button, label, row
from mosaic.rpc.client import AlertNews

WIDTH, HEIGHT = 900, 460
WIDTHS = (130, 100, 230)
BAD = frozenset({"nan", "collapse", "failure"})
WORDS = {"no_progress": "no progress"}
NONE_YET = "No alert so far. A run that fails, ends, collapses, meets NaN or makes no progress appears here."
HOW = "“mosaic alerts” on the daemon's machine says who else is told, and of what; in the form, Alerts does for a run."


class AlertsDialog(QDialog):
    """Return goes to the run; Escape closes. What is shown counts as seen."""

    run_asked = Signal(str)

    def __init__(self, parent: QWidget, theme: Theme, alerts: Alerts, *, why_no_desktop: Callable[[], str]) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Alerts")
        self._theme, self._alerts = theme, alerts
        self.tree = list_of(("When", "What", "Run", "In words"), "Alerts")
        for place, width in enumerate(WIDTHS):
            self.tree.setColumnWidth(place, width)
        self.tree.itemActivated.connect(self._go)
        self.tree.currentItemChanged.connect(self._show_one)
        self.none = label(NONE_YET, "muted", wraps=True)
        self.whole = label("", "muted", selectable=True, wraps=True)
        why = why_no_desktop()
        about = label(f"{HOW}\nNotifications on this desktop: {why or 'shown where asked for'}", "faint", wraps=True)
        self.go = icon_button(theme, "external-link", "Go to the run", self._go)
        self.go.setDefault(True)
        column(
            self,
            self.none,
            (self.tree, 1),
            self.whole,
            row((about, 1), self.go, spacing=12),
            margins=(14, 14, 14, 14),
            spacing=10,
        )
        self.resize(WIDTH, HEIGHT)
        alerts.changed.connect(self._fill)
        self._fill()
        if (newest := self.tree.topLevelItem(0)) is not None:
            self.tree.setCurrentItem(newest)
        self.tree.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._go()
        else:
            super().keyPressEvent(event)

    @property
    def chosen(self) -> AlertNews | None:
        item = self.tree.currentItem()
        return None if item is None else item.data(0, Qt.ItemDataRole.UserRole)

    def _fill(self) -> None:
        chosen = self.chosen
        self.tree.blockSignals(True)
        self.tree.clear()
        for alert in self._alerts.newest_first:
            item = QTreeWidgetItem(
                [moment_of(alert), WORDS.get(alert.cause, alert.cause), alert.title.rpartition(": ")[0], alert.text]
            )
            item.setData(0, Qt.ItemDataRole.UserRole, alert)
            colour = "bad" if alert.cause in BAD else "ok" if alert.cause == "end" else "warn"
            item.setForeground(1, self._theme.colour(colour))
            item.setToolTip(3, tip(alert.text))
            self.tree.addTopLevelItem(item)
            if chosen is not None and chosen.alert_id == alert.alert_id:
                self.tree.setCurrentItem(item)
        self.tree.blockSignals(False)
        is_empty = not self.tree.topLevelItemCount()
        self.none.setVisible(is_empty)
        self.tree.setVisible(not is_empty)
        self._show_one()
        if self._alerts.unseen:
            self._alerts.see_all()

    def _show_one(self, *_: object) -> None:
        alert = self.chosen
        told = "; ".join(one.spoken for one in alert.deliveries) if alert else ""
        self.whole.setText(f"{alert.title}\n{alert.text}\n{told}".rstrip() if alert else "")
        self.whole.setVisible(alert is not None)
        self.go.setEnabled(alert is not None)

    def _go(self, *_: object) -> None:
        if (alert := self.chosen) is not None:
            self.run_asked.emit(alert.run_id)
            self.close()


def moment_of(alert: AlertNews) -> str:
    return datetime.fromtimestamp(alert.time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
