"""The moves that the rules allow, by name, where there are too many for keys: a double click makes one."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import label, row, search_field
from mosaic.plain_text import plain_line


class MoveList(QWidget):
    made = Signal(int)
    """This action."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._moves: Sequence[tuple[int, str]] = ()
        self.search = search_field(theme, "Find a move", self._filter)
        self.search.returnPressed.connect(self._make_first)
        self.list = QListWidget()
        self.list.setAccessibleName("Moves that are allowed")
        self.list.itemActivated.connect(self._make)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addLayout(row(label("MOVES", "section"), 1))
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)

    def show_moves(self, moves: Sequence[Any] | None) -> None:
        self.setVisible(bool(moves))
        found = [(int(action), plain_line(str(name))) for action, name in moves or ()]
        if found != self._moves:
            self._moves = found
            self.search.clear()
            self._fill()

    def _filter(self, _: str) -> None:
        self._fill()

    def _fill(self) -> None:
        self.list.clear()
        wanted = self.search.text().strip().casefold()
        for action, name in self._moves:
            if wanted in name.casefold():
                item = QListWidgetItem(name)
                item.setData(Qt.ItemDataRole.UserRole, action)
                self.list.addItem(item)

    def _make(self, item: QListWidgetItem) -> None:
        self.made.emit(int(item.data(Qt.ItemDataRole.UserRole)))

    def _make_first(self) -> None:
        """The one that is typed whole, else the first that it could become."""
        typed = self.list.findItems(self.search.text().strip(), Qt.MatchFlag.MatchExactly)
        if typed or self.list.count():
            self._make(typed[0] if typed else self.list.item(0))
