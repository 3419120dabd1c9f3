"""How much each setting mattered, as bars; where that is not known, why."""

from collections.abc import Mapping

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.dot_plot import TO_THE_RIGHT, small_font

LINE = 20
NAMES = 110
MARGIN = 8


class ImportanceView(QWidget):
    """A bar for each setting, the longest first."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.shares: Mapping[str, float] = {}
        self.why_not = ""
        self.setMinimumSize(QSize(180, 120))
        self.setAccessibleName("Importance of the settings")
        theme.changed.connect(self.update)

    def show_shares(self, shares: Mapping[str, float], why_not: str) -> None:
        self.shares, self.why_not = shares, why_not
        said = ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
        self.setAccessibleDescription(said or why_not)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.colour("panel"))
        painter.setFont(small_font())
        if not self.shares:
            painter.setPen(self._theme.colour("muted"))
            inside = self.rect().adjusted(MARGIN, MARGIN, -MARGIN, -MARGIN)
            flags = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
            painter.drawText(inside, int(flags), self.why_not)
            return
        most = max(self.shares.values()) or 1.0
        line = min(LINE, max((self.height() - 2 * MARGIN) // len(self.shares), 12))
        room = max(self.width() - NAMES - 3 * MARGIN - 34, 20)
        for place, (name, share) in enumerate(self.shares.items()):
            y = MARGIN + place * line
            painter.setPen(self._theme.colour("text"))
            shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideRight, NAMES)
            painter.drawText(QRectF(MARGIN, y, NAMES, line), TO_THE_RIGHT, shown)
            bar = QRectF(2 * MARGIN + NAMES, y + 3, room * share / most, line - 6)
            painter.fillRect(bar, self._theme.colour("accent"))
            painter.setPen(self._theme.colour("muted"))
            painter.drawText(QRectF(bar.right() + 6, y, 34, line), Qt.AlignmentFlag.AlignVCenter, f"{share:.0%}")
