"""What a command that runs beside the window has found: a sentence, and lines in columns that can be copied."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QTreeWidgetItem, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import fit, list_of
from mosaic.gui.widgets.labels_and_buttons import column, copy_button, label, push, row
from mosaic.plain_text import plain_line

WIDTH, HEIGHT = 820, 460
TONES = {"damaged": "bad", "broken": "bad", "skipped": "warn", "warning": "warn", "ok": "ok", "imported": "ok"}
"""Colours of words that say how something is."""


class ResultDialog(QDialog):
    """Escape closes it."""

    def __init__(
        self,
        parent: QWidget,
        theme: Theme,
        title: str,
        said: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.resize(WIDTH, HEIGHT)
        self._rows = [[plain_line(cell) for cell in cells] for cells in rows]
        self.said = label(said, "heading", selectable=True, wraps=True)
        self.said.setTextFormat(Qt.TextFormat.PlainText)
        self.list = list_of(columns, title)
        for cells in self._rows:
            item = QTreeWidgetItem(cells)
            for place, cell in enumerate(cells):
                item.setToolTip(place, tip(cell))
                if cell in TONES:
                    item.setForeground(place, theme.colour(TONES[cell]))
            self.list.addTopLevelItem(item)
        fit(self.list)
        self.list.setVisible(bool(rows))
        below = row(copy_button(theme, "Copy", self.as_text), 1, push("Close", self.close, default=True))
        column(self, self.said, (self.list, 1), below, margins=(14, 14, 14, 12), spacing=10)

    def as_text(self) -> str:
        return "\n".join([self.said.text(), *("\t".join(cells) for cells in self._rows)])
