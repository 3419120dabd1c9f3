"""Beside the picture: the seats and who sits in them, the keys, and the moves that are allowed."""

from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.models.play import Play
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.key_list import KeyList
from mosaic.gui.widgets.move_list import MoveList
from mosaic.gui.widgets.seat_list import SeatList

WIDTH = 224


class PlaySide(QWidget):
    def __init__(self, play: Play, theme: Theme) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(WIDTH)
        self.seats, self.keys, self.moves = SeatList(play, theme), KeyList(), MoveList(theme)
        self._scroll = QScrollArea()
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self.seats)
        self._scroll.setMinimumHeight(60)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self._scroll, 3)
        layout.addWidget(self.keys, 2)
        layout.addWidget(self.moves, 3)
        layout.addStretch(0)

    def show_state(self, state: Mapping[str, Any], *, of: str, lives: bool, plays: bool) -> None:
        """`of` is the session; `plays`: somebody may use the keys."""
        self.seats.show_state(state, lives=lives)
        self.keys.setVisible(plays and not state.get("moves"))
        self.keys.show_map(state.get("keys"), state.get("actions") or (), of)
        self.moves.show_moves(state.get("moves") if plays else None)
        self.setVisible(self.seats.is_needed or plays)
        self._scroll.setVisible(self.seats.is_needed)
        # No more than it needs; with less it scrolls, so that a low window stays possible.
        self._scroll.setMaximumHeight(self.seats.sizeHint().height())
