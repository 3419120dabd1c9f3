"""What can be done to a chart by keys and in its menu: one table for both, and for the sheet of shortcuts."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Literal, TypeAlias

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

Does: TypeAlias = Literal[
    "enlarge",
    "read",
    "earlier",
    "later",
    "up",
    "down",
    "wider",
    "narrower",
    "higher",
    "lower",
    "remove",
    "add",
    "reset",
]

_ALT, _SHIFT = Qt.KeyboardModifier.AltModifier, Qt.KeyboardModifier.ShiftModifier
_NONE = Qt.KeyboardModifier.NoModifier
ACTIONS: Mapping[Does, tuple[str, Qt.KeyboardModifier, Qt.Key]] = {
    "enlarge": ("Enlarge the chart, and back", _NONE, Qt.Key.Key_Return),
    "read": ("Into the chart, where it has a cursor", _NONE, Qt.Key.Key_Space),
    "earlier": ("Move the chart to the left", _ALT, Qt.Key.Key_Left),
    "later": ("Move the chart to the right", _ALT, Qt.Key.Key_Right),
    "up": ("Move the chart up", _ALT, Qt.Key.Key_Up),
    "down": ("Move the chart down", _ALT, Qt.Key.Key_Down),
    "wider": ("Make the chart wider", _SHIFT, Qt.Key.Key_Right),
    "narrower": ("Make the chart narrower", _SHIFT, Qt.Key.Key_Left),
    "higher": ("Make the chart higher", _SHIFT, Qt.Key.Key_Down),
    "lower": ("Make the chart lower", _SHIFT, Qt.Key.Key_Up),
    "remove": ("Remove the chart", _NONE, Qt.Key.Key_Delete),
    "add": ("Add a chart…", _NONE, Qt.Key.Key_Insert),
    "reset": ("Show all charts as they come", _NONE, Qt.Key.Key_unknown),
}
ARROWS: Mapping[Qt.Key, tuple[int, int]] = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, -1),
    Qt.Key.Key_Down: (0, 1),
}


def action_of(event: QKeyEvent) -> Does | None:
    pressed = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    key = Qt.Key.Key_Return if event.key() == Qt.Key.Key_Enter else event.key()
    return next((does for does, (_, keys, own) in ACTIONS.items() if (pressed, key) == (keys, own)), None)


def keys_of(does: Does) -> str:
    """As the menu and the sheet say it; empty for what has no key."""
    _, modifiers, key = ACTIONS[does]
    if key == Qt.Key.Key_unknown:
        return ""
    return QKeySequence(modifiers.value | key.value).toString(QKeySequence.SequenceFormat.NativeText)


def lines_of_sheet() -> Sequence[tuple[str, str]]:
    return [("Arrow keys on a chart", "From chart to chart")] + [
        (f"{keys_of(does)} on a chart", text) for does, (text, _, _) in ACTIONS.items() if keys_of(does)
    ]


def open_menu(
    parent: QWidget, at: QPoint, do: Callable[[Does], object], *, without: Sequence[Does] = (), is_full: bool = False
) -> QMenu:
    menu = QMenu(parent)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    for does, (text, _, _) in ACTIONS.items():
        if does in without:
            continue
        if does in ("earlier", "wider", "remove", "add"):
            menu.addSeparator()
        # With a tab behind it the key stands on the right, and is heard by the chart alone.
        title = "All charts" if does == "enlarge" and is_full else text
        menu.addAction(f"{title}\t{keys_of(does)}").triggered.connect(partial(_ask, do, does))
    menu.popup(at)
    return menu


def _ask(do: Callable[[Does], object], does: Does, checked: bool = False) -> None:  # noqa: ARG001, FBT (Qt gives it)
    do(does)
