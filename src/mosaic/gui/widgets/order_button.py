"""The button beside the list of runs that chooses its order and its groups."""

from collections.abc import Callable, Iterable
from typing import cast

from PySide6.QtCore import QSettings
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from mosaic.gui.models.arranged_runs import ArrangedRuns
from mosaic.gui.models.arrangement import GROUPINGS, SORTS, Grouping, Sort
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.tool_button import IconTool


class OrderButton(IconTool):
    """Its menu acts on the list at once."""

    def __init__(self, theme: Theme, arranged: ArrangedRuns) -> None:
        super().__init__(theme, "arrow-up-down", "Sort and group")
        self._arranged = arranged
        self.choices = QMenu(self)
        self._sorts = self._add("Sort by", SORTS.items(), lambda name: arranged.show_by(sort=cast(Sort, name)))
        self.choices.addSeparator()
        self._groupings = self._add(
            "Group by", GROUPINGS.items(), lambda name: arranged.show_by(grouping=cast(Grouping, name))
        )
        self.choices.addSeparator()
        self.choices.addAction("Collapse all", lambda: arranged.collapse_all(collapsed=True))
        self.choices.addAction("Expand all", lambda: arranged.collapse_all(collapsed=False))
        self.setMenu(self.choices)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)

    def save(self, settings: QSettings) -> None:
        settings.setValue("runs/sort", self._arranged.sorting)
        settings.setValue("runs/grouping", self._arranged.grouping)

    def restore(self, settings: QSettings) -> None:
        """As it was saved; what this version does not know is left as it is."""
        for name, choices in (("runs/sort", self._sorts), ("runs/grouping", self._groupings)):
            for action in choices.actions():
                if action.data() == settings.value(name):
                    action.trigger()

    def _add(self, title: str, choices: Iterable[tuple[str, str]], choose: Callable[[str], object]) -> QActionGroup:
        # Not addSection: its text does not survive a style sheet.
        self.choices.addAction(title).setEnabled(False)
        made = QActionGroup(self.choices)
        for place, (name, text) in enumerate(choices):
            action = self.choices.addAction(text)
            action.setCheckable(True)
            action.setChecked(place == 0)
            action.setData(name)
            made.addAction(action)

        def chosen(action: QAction) -> None:
            choose(str(action.data()))

        made.triggered.connect(chosen)
        return made
