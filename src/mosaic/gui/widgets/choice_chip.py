"""A chip with a few choices behind it: it says what it is about and what is chosen."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QPushButton


class ChoiceChip(QPushButton):
    """`Seeds: mean`; a click opens the choices."""

    def __init__(self, name: str, choices: Mapping[Any, tuple[str, str]], changed: Callable[[], object]) -> None:
        """`choices` are what it can be, the first to begin with; each with what chip and menu say of it."""
        super().__init__()
        self.setProperty("chip", True)
        self._name, self._choices, self._changed = name, choices, changed
        self.chosen: str = next(iter(choices))
        menu = QMenu(self)
        group = QActionGroup(self)
        self._actions = {value: menu.addAction(long) for value, (_, long) in choices.items()}
        for value, action in self._actions.items():
            action.setCheckable(True)
            action.setChecked(value == self.chosen)
            group.addAction(action)
            action.triggered.connect(lambda _=False, value=value: self.choose(value))
        self.setMenu(menu)
        self._say()

    def choose(self, value: str) -> None:
        if value != self.chosen:
            self.chosen = value
            self._actions[value].setChecked(True)
            self._say()
            self._changed()

    def _say(self) -> None:
        self.setText(f"{self._name}: {self._choices[self.chosen][0]}")
        self.setAccessibleName(self.text())
