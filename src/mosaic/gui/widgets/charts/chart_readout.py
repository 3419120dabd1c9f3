"""The box beside the mouse that names every curve of a chart with its value there."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QWidget

from mosaic.gui.models.charts.plotted_curve import Plotted
from mosaic.gui.models.shown_text import in_html
from mosaic.gui.models.wording import number
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import PlainLabel

AWAY = 16
"""Pixels from the mouse."""


class Readout(PlainLabel):
    """The highest value on top, as the curves lie."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self._theme, self._around = theme, parent
        self.setProperty("readout", True)
        self.setTextFormat(Qt.TextFormat.RichText)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def show_values(self, where: str, x: float, curves: Sequence[Plotted], mouse: QPoint) -> None:
        """Right of the mouse (on the screen), or left of it where there is no room."""
        found = [(*curve.at(x), curve) for curve in curves]
        found.sort(key=lambda each: (each[0] == each[0], each[0]), reverse=True)
        muted = self._theme.tokens.muted
        lines = [
            f'<tr><td style="color:{self._theme.curve(curve.colour).name()}">━&nbsp;</td>'
            f"<td>{in_html(curve.name)}</td>"
            f'<td align="right">&nbsp;&nbsp;{number(value) if value == value else "–"}</td>'
            f'<td style="color:{muted}">{f"&nbsp;n&nbsp;=&nbsp;{n}" if curve.note else ""}</td></tr>'
            for value, n, curve in found
        ]
        head = f'<tr><td colspan="4" style="color:{muted}">{where}</td></tr>'
        self.setText(f"<table cellspacing=0 cellpadding=0>{head}{''.join(lines)}</table>")
        self.adjustSize()
        # The tab may be low, and may be in another window than before.
        if self.parentWidget() is not self._around.window():
            self.setParent(self._around.window())
        room, mouse = self._around.window().rect(), self._around.window().mapFromGlobal(mouse)
        x_place = (
            mouse.x() + AWAY if mouse.x() + AWAY + self.width() < room.right() else mouse.x() - AWAY - self.width()
        )
        y_place = min(max(mouse.y() - self.height() // 2, 0), room.bottom() - self.height())
        self.move(max(x_place, 0), max(y_place, 0))
        self.show()
        self.raise_()
