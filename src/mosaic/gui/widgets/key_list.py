"""Which keys mean what, on screen: a click on a key and a press of another one changes it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from mosaic.gui.widgets.parts import label, row
from mosaic.gui.widgets.play_board import key_name

WIDTH = 190
ASKING = "press a key…"
ARROWS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}


class KeyList(QWidget):
    edited = Signal(object)
    """A whole map, changed."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setFixedWidth(WIDTH)
        self._map: Mapping[str, Any] | None = None
        self._names: Sequence[str] = ()
        self.buttons: dict[str, KeyButton] = {}
        self._reset = QPushButton("As it was")
        self._reset.setProperty("chip", True)
        self._reset.setToolTip("The keys that this environment begins with")
        self._first: Mapping[str, Any] | None = None
        self._reset.clicked.connect(lambda: self._first is not None and self.edited.emit(dict(self._first)))
        self._idle = label("", "faint")
        self._idle.setWordWrap(True)
        self._rows = QWidget()
        self._rows.setProperty("panel", True)
        self._grid = QGridLayout(self._rows)
        self._grid.setContentsMargins(0, 0, 6, 0)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        scroll = QScrollArea()
        scroll.setWidgetResizable(True)
        scroll.setWidget(self._rows)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 6, 8)
        layout.addLayout(row(label("KEYS", "section"), 1, self._reset))
        layout.addWidget(scroll, 1)
        layout.addWidget(self._idle)

    def forget(self) -> None:
        """Another session: the first map that comes is the one that it begins with."""
        self._first = None
        self.show_map(None, ())

    def show_map(self, key_map: Mapping[str, Any] | None, names: Sequence[str]) -> None:
        if key_map is not None and self._first is None:
            self._first = key_map
        if key_map == self._map and names == self._names:
            return
        self._map, self._names = key_map, names
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.buttons = {}
        for at, (key, action) in enumerate((key_map or {}).get("keys", {}).items()):
            button = self.buttons[key] = KeyButton(key, partial(self._rebind, key))
            self._grid.addWidget(button, at, 0)
            self._grid.addWidget(label(self._name_of(action), "muted"), at, 1)
        self._grid.setRowStretch(len(self.buttons), 1)
        self._idle.setText(self._idle_text())
        self._reset.setVisible(key_map is not None and key_map != self._first)

    def _rebind(self, before: str, after: str) -> None:
        if self._map is None or after == before:
            return
        keys: dict[str, Any] = {}
        for key, action in self._map["keys"].items():
            if key == before:
                keys[after] = action
            elif key != after:
                keys[key] = action
        self.edited.emit({"keys": keys, "idle": self._map["idle"]})

    def _name_of(self, action: Any) -> str:
        if isinstance(action, int):
            return self._names[action] if 0 <= action < len(self._names) else str(action)
        moved = [f"{'+' if part > 0 else '−'}{at}" for at, part in enumerate(action) if part]
        return f"axis {' '.join(moved)}"

    def _idle_text(self) -> str:
        if self._map is None:
            return "No keys: nobody plays here."
        idle = self._map["idle"]
        if idle is None:
            return "Without a key it waits."
        return f"Without a key: {self._name_of(idle) if isinstance(idle, int) else 'nothing'}."


class KeyButton(QPushButton):
    """A key; clicked, it takes the next one that is pressed."""

    def __init__(self, key: str, pressed: "partial[None]") -> None:
        super().__init__(shown(key))
        self.setProperty("chip", True)
        self.setToolTip("Click, then press another key")
        self._key, self._pressed, self._asking = key, pressed, False
        self.clicked.connect(self._ask)

    def _ask(self) -> None:
        self._asking = True
        self.setText(ASKING)
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = key_name(event.key())
        if not self._asking:
            super().keyPressEvent(event)
        elif name == "Esc":
            self._calm()
        elif name:
            self._calm()
            self._pressed(name)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._calm()

    def _calm(self) -> None:
        self._asking = False
        self.setText(shown(self._key))


def shown(key: str) -> str:
    return " ".join(ARROWS.get(part, part) for part in key.split("+"))
