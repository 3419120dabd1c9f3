"""Which columns the table of runs has, in which order: a list to search, tick and move, by keys or mouse."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QDialog, QListWidget, QListWidgetItem, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column, label, push, row, search_field
from mosaic.plain_text import plain_line
from mosaic.run_table.arrangement import DEFAULT
from mosaic.run_table.run_columns import FACTS, WANTED, title_of_column

NAME = int(Qt.ItemDataRole.UserRole)
ENDINGS = tuple(end for end in WANTED if end != "highest")


class ColumnChooser(QDialog):
    """Ticked columns come first, in their order; every change is shown at once behind it."""

    changed = Signal(object)
    """The chosen columns, in order."""

    def __init__(self, parent: QWidget, theme: Theme) -> None:
        super().__init__(parent)
        self.setWindowTitle("Columns")
        self.resize(430, 560)
        self._chosen: list[str] = []
        self._names: list[str] = []
        self._is_filling = False
        self.search = search_field(theme, "Find a column…", self._search)
        self.list = QListWidget()
        self.list.setAccessibleName("Columns")
        self.list.itemChanged.connect(self._ticked)
        self.list.currentRowChanged.connect(self._went)
        self._up, self._down = push("Move up", partial(self._move, -1)), push("Move down", partial(self._move, 1))
        self._up.setToolTip("Ctrl+Up")
        self._down.setToolTip("Ctrl+Down")
        default = push("Default columns", lambda: self._become(list(DEFAULT)))
        below = row(self._up, self._down, 1, default, push("Close", self.close, default=True))
        hint = label("Space ticks, Ctrl+Up and Ctrl+Down move", "faint")
        column(self, self.search, (self.list, 1), hint, below, spacing=None, margins=None)

    def open_for(self, chosen: Sequence[str], settings: Sequence[str], tags: Sequence[str]) -> None:
        self._chosen = list(chosen)
        self.offer(settings, tags)
        self.search.clear()
        self.open()
        self.search.setFocus()

    def offer(self, settings: Sequence[str], tags: Sequence[str]) -> None:
        """What there is; metrics come a moment later than the rest."""
        metrics = [f"{tag}.{end}" for tag in sorted(tags) for end in ENDINGS]
        self._names = list(dict.fromkeys([*FACTS, *sorted(settings), *metrics]))
        self._fill()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, ctrl = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        if ctrl and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self._move(-1 if key == Qt.Key.Key_Up else 1)
        elif self.search.hasFocus() and key == Qt.Key.Key_Down:
            self.list.setFocus()
        elif self.list.hasFocus() and key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.close()
        else:
            super().keyPressEvent(event)

    def _search(self, _: str) -> None:
        self._fill()

    def _went(self, _: int) -> None:
        self._enable()

    def _fill(self) -> None:
        words = self.search.text().lower().split()
        now = self._current()
        self._is_filling = True
        self.list.clear()
        for name in [*self._chosen, *(name for name in self._names if name not in self._chosen)]:
            title = title_of_column(name)
            if not all(word in f"{title} {name}".lower() for word in words):
                continue
            shown = title if title == name else f"{title}   {name}"
            item = QListWidgetItem(plain_line(shown), self.list)
            item.setData(NAME, name)
            item.setToolTip(tip(name))
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if name in self._chosen else Qt.CheckState.Unchecked)
            if name == now:
                self.list.setCurrentItem(item)
        if self.list.currentRow() < 0:
            self.list.setCurrentRow(0)
        self._is_filling = False
        self._enable()

    def _ticked(self, item: QListWidgetItem) -> None:
        if self._is_filling:
            return
        name = str(item.data(NAME))
        is_on = item.checkState() == Qt.CheckState.Checked
        chosen = [other for other in self._chosen if other != name] + ([name] if is_on else [])
        if not chosen:  # A table without a column shows nothing: its first one stays.
            chosen = [name]
            self._is_filling = True
            item.setCheckState(Qt.CheckState.Checked)
            self._is_filling = False
        self._chosen = chosen
        self._enable()
        self.changed.emit(tuple(chosen))

    def _move(self, by: int) -> None:
        name = self._current()
        if name not in self._chosen:
            return
        place = self._chosen.index(name)
        to = max(0, min(len(self._chosen) - 1, place + by))
        self._chosen.insert(to, self._chosen.pop(place))
        self._become(self._chosen)

    def _become(self, chosen: list[str]) -> None:
        self._chosen = chosen
        self._fill()
        self.changed.emit(tuple(chosen))

    def _current(self) -> str:
        return str(self.list.currentItem().data(NAME)) if self.list.currentRow() >= 0 else ""

    def _enable(self) -> None:
        name = self._current()
        self._up.setEnabled(name in self._chosen and name != self._chosen[0])
        self._down.setEnabled(name in self._chosen and name != self._chosen[-1])
