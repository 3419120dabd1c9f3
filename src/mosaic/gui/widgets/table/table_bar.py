"""Above the table of runs: its filter with what is wrong with it, groups, columns, and how many runs there are."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import QMenu, QWidget

from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import (
    chip,
    chip_button,
    column,
    label,
    restyle,
    row,
    search_field,
    verdict_label,
)
from mosaic.run_table.filter_expression import FilterError
from mosaic.run_table.run_columns import title_of_column

EXAMPLE = "algo:ppo return>200"


class TableBar(QWidget):
    """Says what the user wants; the model does it."""

    filter_changed = Signal(str)
    group_changed = Signal(str)
    """A column; empty is none."""
    differing_changed = Signal(bool)
    columns_asked = Signal()
    left = Signal()
    """The user goes on from the filter to the rows."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.filter = search_field(theme, EXAMPLE, self.filter_changed.emit)
        self.filter.setAccessibleName("Filter of the table")
        self.filter.setToolTip(
            "algo:ppo,dqn · env:Walker* · lr<1e-3 · return>=200 · tag:paper · state:failed · time>2h · age<2d\n"
            "losses/value_loss.lowest<1 · env.is_slippery:false · -state:failed · (seed:1 or seed:2) · a word"
        )
        self.problem = verdict_label("bad")
        self.problem.hide()
        self.count = label("", "faint")
        self.group = chip("Group: none")
        self._groups = QMenu(self.group)
        self.group.setMenu(self._groups)
        self.differing = chip_button("Only what differs", checked=False, toggled=self.differing_changed.emit)
        self.differing.setToolTip("Only columns that are not the same in all runs, with every setting that differs")
        self.columns = chip("Columns…", self.columns_asked.emit)
        self.views = chip("Views", about="Saved views: what is shown here and in the charts, under a name")
        line = row(self.filter, self.group, self.differing, self.columns, self.views, self.count)
        column(self, line, self.problem, margins=(10, 8, 10, 6), spacing=4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self.filter.hasFocus() and event.key() == Qt.Key.Key_Escape and self.filter.text():
            self.filter.clear()
        elif self.filter.hasFocus() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def refuse(self, error: FilterError | None) -> None:
        """What is wrong, at the field; the rows stay as they were."""
        restyle(self.filter, "broken", error is not None)
        self.problem.setVisible(error is not None)
        if error is not None:
            text = self.filter.text()
            self.problem.setText(f"{error}   (at “{text[error.start : error.end]}”)")

    def show_group(self, name: str, columns: Sequence[str]) -> None:
        """The columns that may be grouped by, and which one is."""
        self.group.setText(f"Group: {title_of_column(name) if name else 'none'}")
        self.group.setAccessibleName(self.group.text())
        self._groups.clear()
        offered: dict[str, None] = dict.fromkeys([*columns, *([name] if name else [])])
        for choice in ("", *offered):
            action = QAction(title_of_column(choice) if choice else "No groups", self._groups)
            action.setCheckable(True)
            action.setChecked(choice == name)
            action.triggered.connect(lambda _=False, choice=choice: self.group_changed.emit(choice))
            self._groups.addAction(action)
