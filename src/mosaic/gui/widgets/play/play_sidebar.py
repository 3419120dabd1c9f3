"""Beside the picture: the seats and who sits in them, the keys, and the moves that are allowed."""

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from mosaic.gui.models.play.copy_curves import CopyCurves
from mosaic.gui.models.play.play_model import Play
from mosaic.gui.models.play.play_session import PlaySession
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import Panel, column, label, row, scrolled, search_field
from mosaic.gui.widgets.play.copy_chart import CopyChart
from mosaic.gui.widgets.play.key_list import KeyList
from mosaic.gui.widgets.play.seat_list import SeatList
from mosaic.plain_text import plain_line

WIDTH = 224


class PlaySidebar(Panel):
    def __init__(self, play: Play, theme: Theme) -> None:
        super().__init__()
        self.setFixedWidth(WIDTH)
        self.seats, self.keys, self.moves = SeatList(play, theme), KeyList(), MoveList(theme)
        self.curves, self.chart = CopyCurves(), CopyChart(theme)
        self.course = QWidget()
        column(self.course, row(label("RETURN BY STEP", "section"), 1), self.chart, spacing=4)
        self._scroll = scrolled(self.seats)
        self._scroll.setMinimumHeight(60)
        layout = column(
            self, (self._scroll, 3), (self.course, 1), (self.keys, 2), (self.moves, 3), margins=(12, 8, 8, 8), spacing=8
        )
        layout.addStretch(0)

    def show_state(self, session: PlaySession | None, state: Mapping[str, Any], *, lives: bool, plays: bool) -> None:
        """`plays`: a person may use the keys."""
        self.seats.show_state(state, lives=lives)
        self.keys.setVisible(plays and not state.get("moves"))
        self.keys.show_map(state.get("keys"), state.get("actions") or (), session.record.run_id if session else "")
        if self.curves.take(session, state):
            self.chart.show_curves(self.curves.curves)
        self.course.setVisible(self.seats.is_needed and not self.curves.is_empty)
        self.moves.show_moves(state.get("moves") if plays else None)
        self.setVisible(self.seats.is_needed or plays)
        self._scroll.setVisible(self.seats.is_needed)
        # No more than it needs; with less it scrolls, so that a low window stays possible.
        self._scroll.setMaximumHeight(self.seats.sizeHint().height())


class MoveList(Panel):
    """The moves that the rules allow, by name, where there are too many for keys: a double click makes one."""

    made = Signal(int)
    """This action."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._moves: Sequence[tuple[int, str]] = ()
        self.search = search_field(theme, "Find a move", self._filter)
        self.search.returnPressed.connect(self._make_first)
        self.list = QListWidget()
        self.list.setAccessibleName("Moves that are allowed")
        self.list.itemActivated.connect(self._make)
        column(self, row(label("MOVES", "section"), 1), self.search, (self.list, 1), spacing=None)

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
