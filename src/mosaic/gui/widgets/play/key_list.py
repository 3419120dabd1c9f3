"""Which keys mean what, on screen, and what a gamepad does: a click on one and a press of another changes it."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QGridLayout, QPushButton, QWidget

from mosaic.gui.widgets.labels_and_buttons import Panel, chip, column, label, row, scrolled
from mosaic.gui.widgets.play.play_picture import key_name

NO_PAD = "No gamepad found."
ASKING = "press a key…"
ARROWS = {"Left": "←", "Right": "→", "Up": "↑", "Down": "↓"}
PADS = {"Left": "✚ ←", "Right": "✚ →", "Up": "✚ ↑", "Down": "✚ ↓"}


class KeyList(Panel):
    edited = Signal(object)
    """A whole map, changed."""

    def __init__(self) -> None:
        super().__init__()
        self._map: Mapping[str, Any] | None = None
        self._names: Sequence[str] = ()
        self._of = ""
        self._pads: Sequence[str] = ()
        self.buttons: dict[str, KeyButton] = {}
        self._first: Mapping[str, Any] | None = None
        self._reset = chip("Default keys", self._edit_first, about="Restore the default keys of this environment")
        self._idle = label("", "faint", wraps=True)
        self.pad = label(NO_PAD, "faint", wraps=True)
        self._rows = QWidget()
        self._rows.setProperty("panel", True)
        self._grid = QGridLayout(self._rows)
        self._grid.setContentsMargins(0, 0, 6, 0)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        self._filled = 0
        column(
            self,
            row(label("KEYS", "section"), 1, self._reset),
            (scrolled(self._rows), 1),
            self._idle,
            self.pad,
            spacing=None,
        )

    def _edit_first(self) -> None:
        if self._first is not None:
            self.edited.emit(dict(self._first))

    def show_pads(self, names: Sequence[str], problem: str) -> None:
        """The gamepads that were found; what they do is shown only then."""
        self.pad.setText(", ".join(names) if names else problem or NO_PAD)
        if list(names) != list(self._pads):
            self._pads = list(names)
            self._fill()

    def press(self, down: Sequence[str], axes: Mapping[str, float]) -> bool:
        """Something of a gamepad was moved; True if a key that asks has taken it."""
        asking = next((key for key, button in self.buttons.items() if button.asks), None)
        if asking is None:
            return False
        is_axis = self._map is not None and asking in self._map.get("axes", {})
        taken = next(iter(sorted(axes, key=lambda axis: -abs(axes[axis])) if is_axis else down), None)
        if taken is not None:
            # A stick that is pushed far is the cross of the gamepad.
            self.buttons[asking].take(taken if is_axis else taken.replace("Stick", "Pad"))
        return True

    def show_map(self, key_map: Mapping[str, Any] | None, names: Sequence[str], of: str) -> None:
        """Of this session; the first map that comes is the one that it begins with."""
        if of != self._of:
            self._of, self._first = of, None
        if key_map is not None and self._first is None:
            self._first = key_map
        if key_map == self._map and names == self._names:
            return
        self._map, self._names = key_map, names
        self._fill()

    def _fill(self) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self.buttons = {}
        self._grid.setRowStretch(self._filled, 0)
        self._filled = 0
        key_map = self._map or {}
        keys: Mapping[str, Any] = key_map.get("keys", {})
        self._add({key: action for key, action in keys.items() if not is_pad(key)})
        if self._pads:
            self._grid.addWidget(label("GAMEPAD", "section"), self._filled, 0, 1, 2)
            self._filled += 1
            self._add({key: action for key, action in keys.items() if is_pad(key)} | dict(key_map.get("axes", {})))
        self._grid.setRowStretch(self._filled, 1)
        self._idle.setText(self._idle_text())
        self._reset.setVisible(self._map is not None and self._map != self._first)

    def _add(self, meanings: Mapping[str, Any]) -> None:
        for key, action in meanings.items():
            button = self.buttons[key] = KeyButton(key, partial(self._rebind, key))
            self._grid.addWidget(button, self._filled, 0)
            self._grid.addWidget(label(self._name_of(action), "muted"), self._filled, 1)
            self._filled += 1

    def _rebind(self, before: str, after: str) -> None:
        if self._map is None or after == before:
            return
        parts = {part: dict(self._map.get(part, {})) for part in ("keys", "axes")}
        part = "axes" if before in parts["axes"] else "keys"
        changed: dict[str, Any] = {}
        for key, action in parts[part].items():
            if key == before:
                changed[after] = action
            elif key != after:
                changed[key] = action
        self.edited.emit({**parts, part: changed, "idle": self._map["idle"]})

    def _name_of(self, action: Any) -> str:
        if isinstance(action, int):
            return self._names[action] if 0 <= action < len(self._names) else str(action)
        moved = [f"{'+' if part > 0 else '−'}{at}" for at, part in enumerate(action) if part]
        return f"axis {' '.join(moved)}"

    def _idle_text(self) -> str:
        if self._map is None:
            return "No keys: no person plays here."
        idle = self._map["idle"]
        if idle is None:
            return "The game waits for a key."
        return f"Without a key: {self._name_of(idle) if isinstance(idle, int) else 'nothing'}."


class KeyButton(QPushButton):
    """A key; clicked, it takes the next one that is pressed."""

    def __init__(self, key: str, pressed: "partial[None]") -> None:
        super().__init__(shown(key))
        self.setProperty("chip", True)
        self.setToolTip("Click, then press another key")
        self._key, self._pressed, self.asks = key, pressed, False
        if is_pad(key):
            self.setToolTip("Click, then press or push something else on the gamepad")
        self.clicked.connect(self._ask)

    def take(self, name: str) -> None:
        """What was pressed instead."""
        self._calm()
        self._pressed(name)

    def _ask(self) -> None:
        self.asks = True
        self.setText(ASKING)
        self.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        name = key_name(event.key())
        if not self.asks:
            super().keyPressEvent(event)
        elif name == "Esc":
            self._calm()
        elif name and not is_pad(self._key):
            self.take(name)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._calm()

    def _calm(self) -> None:
        self.asks = False
        self.setText(shown(self._key))


def is_pad(key: str) -> bool:
    """Whether it is something of a gamepad."""
    return key.startswith(("Pad ", "Stick ", "Trigger "))


def shown(key: str) -> str:
    if is_pad(key):
        return " ".join(PADS.get(part, part) for part in key.removeprefix("Pad ").replace("+Pad ", "+").split("+"))
    return " ".join(ARROWS.get(part, part) for part in key.split("+"))
