"""The trials of a sweep as a table, best first, and the settings that fresh seeds confirm."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QBrush
from PySide6.QtWidgets import QTreeWidget, QTreeWidgetItem, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import fit, list_of, to_the_right
from mosaic.gui.widgets.labels_and_buttons import column
from mosaic.numbers import show_number
from mosaic.spec.setting_values import shown
from mosaic.sweep import confirmation
from mosaic.sweep.space import Value
from mosaic.sweep.sweep_state import SweepState, Trial

COLOURS = {
    "finished": "text",
    "running": "info",
    "paused": "warn",
    "stopped": "warn",
    "pruned": "muted",
    "failed": "bad",
}
CONFIRMED = ("Settings", "Seeds", "IQM [95 %]", "Better than the default [95 %]")


class TrialTable(QWidget):
    """A line selected is a run to look at: Return, or a double click."""

    run_asked = Signal(str)
    """Id of a run of the trial."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._names: Sequence[str] = ()
        self._state: SweepState | None = None
        self.tree = list_of((), "Trials")
        self.tree.header().setStretchLastSection(False)
        self.tree.itemActivated.connect(self._ask)
        column(self, self.tree)
        theme.changed.connect(self._paint_again)

    def show_trials(self, state: SweepState) -> None:
        self._state = state
        names = [one.name for one in state.plan.space]
        self._names = names
        self.tree.setColumnCount(3 + len(names))
        self.tree.setHeaderLabels(["Trial", "State", state.plan.value_title.capitalize(), *names])
        chosen = self.tree.currentItem()
        before = chosen.text(0) if chosen is not None else ""
        self.tree.clear()
        spec = state.value_spec
        for trial in state.arranged:
            item = self._item(trial, spec)
            self.tree.addTopLevelItem(item)
            if item.text(0) == before:
                self.tree.setCurrentItem(item)
        fit(self.tree)

    def texts(self) -> list[list[str]]:
        rows = [self.tree.topLevelItem(at) for at in range(self.tree.topLevelItemCount())]
        return [[item.text(at) for at in range(self.tree.columnCount())] for item in rows if item is not None]

    def _item(self, trial: Trial, spec: str) -> QTreeWidgetItem:
        value = trial.shown_value
        cells = ["0 · default" if trial.number == 0 else str(trial.number), trial.told_state]
        cells += ["" if value is None else format(value, spec)]
        cells += [show_value(trial.params[name]) if name in trial.params else "" for name in self._names]
        item = QTreeWidgetItem(cells)
        to_the_right(item, range(2, len(cells)))
        item.setForeground(1, QBrush(self._theme.colour(COLOURS[trial.shown_state])))
        item.setData(0, 256, next((run.run_id for run in trial.runs.values() if run.run_id), ""))
        if trial.reason:
            item.setToolTip(1, tip(trial.reason))
        return item

    def _paint_again(self) -> None:
        """The colours of states are those of the theme."""
        if self._state is not None:
            self.show_trials(self._state)

    def _ask(self, item: QTreeWidgetItem, _: int) -> None:
        if run_id := str(item.data(0, 256) or ""):
            self.run_asked.emit(run_id)


class ConfirmedTable(QWidget):
    """Settings with fresh seeds, best first."""

    def __init__(self) -> None:
        super().__init__()
        self.tree: QTreeWidget = list_of(CONFIRMED, "Confirmed settings")
        self.tree.header().setStretchLastSection(False)
        column(self, self.tree)

    def show_state(self, state: SweepState) -> None:
        self.tree.clear()
        for one in confirmation.results(state):
            name = "0 · default" if one.trial.number == 0 else f"trial {one.trial.number}"
            better = one.improvement_text
            self.tree.addTopLevelItem(QTreeWidgetItem([name, one.seeds_text, one.iqm_text, better]))
        fit(self.tree)


def show_value(value: Value) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return show_number(value)
    return shown(value)
