"""The Table tab: all runs with the columns, filter, order and groups of the user, and what is done with many."""

import json
from dataclasses import replace
from typing import Any

from PySide6.QtCore import QSettings, QTimer, Signal

from mosaic import config
from mosaic.errors import ConfigError
from mosaic.gui.models.studio import MOST_DRAWN, Studio
from mosaic.gui.models.table.run_table_model import RunTableModel
from mosaic.gui.models.table.table_values import TableValues
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import Panel, column
from mosaic.gui.widgets.table.bulk_actions import BulkActions
from mosaic.gui.widgets.table.column_chooser import ColumnChooser
from mosaic.gui.widgets.table.run_table_view import RunTableView
from mosaic.gui.widgets.table.table_bar import TableBar
from mosaic.gui.widgets.visibility import Visibility
from mosaic.run_table.arrangement import Arrangement
from mosaic.run_table.run_columns import source_of
from mosaic.spec.run_record import RunRecord

TYPED_MS = 150
"""After the last letter of a filter it is followed."""


class TableTab(Panel):
    """What is selected here is selected everywhere, in the same colours."""

    run_asked = Signal(str)
    compare_asked = Signal(object)

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self.table = RunTableModel()
        self.values = TableValues(studio.link, self.table)
        self.bar = TableBar(theme)
        self.view = RunTableView(self.table, studio, theme)
        self.actions_on_chosen = BulkActions(studio, theme, lambda: self.view.chosen)
        self._chooser: ColumnChooser | None = None
        self._is_open = False
        self._typed = QTimer(self, singleShot=True)
        self._typed.timeout.connect(self._filter)
        column(self, self.bar, (self.view, 1), self.actions_on_chosen)
        self.bar.filter_changed.connect(self._type)
        self.bar.group_changed.connect(self._group)
        self.bar.differing_changed.connect(self._show_differing)
        self.bar.columns_asked.connect(self.choose_columns)
        self.bar.left.connect(self._leave_filter)
        self.view.sort_asked.connect(self._sort)
        self.view.group_asked.connect(self._group_or_not)
        self.view.hide_asked.connect(self._hide)
        self.view.move_asked.connect(self._move)
        self.view.columns_asked.connect(self.choose_columns)
        self.view.find_asked.connect(self.find_runs)
        self.view.chosen_changed.connect(self._select)
        self.view.open_asked.connect(self.run_asked)
        self.view.menu_asked.connect(self.actions_on_chosen.open_menu)
        self.view.delete_asked.connect(self.actions_on_chosen.delete)
        self.actions_on_chosen.compare_asked.connect(self.compare_asked)
        self.table.refused.connect(self.bar.refuse)
        self.table.changed.connect(self._say_count)
        self.values.progressed.connect(self._say_count)
        self.values.tags_came.connect(self._offer)
        studio.records_came.connect(self._take)
        studio.selection_changed.connect(self._follow)
        self._seen = Visibility(self)
        self._seen.changed.connect(self._open)
        self.show_arrangement(Arrangement())

    def show_arrangement(self, wanted: Arrangement) -> None:
        """As it was saved."""
        self.bar.filter.blockSignals(True)
        self.bar.filter.setText(wanted.filter)
        self.bar.filter.blockSignals(False)
        self.bar.differing.blockSignals(True)
        self.bar.differing.setChecked(wanted.only_differing)
        self.bar.differing.blockSignals(False)
        self.table.show_as(wanted)
        self._show_group()
        self.view.show_arrangement()

    def choose_columns(self) -> None:
        if self._chooser is None:
            self._chooser = ColumnChooser(self.window(), self._theme)
            self._chooser.changed.connect(self._show_columns)
        rows = self.table.rows
        self._chooser.open_for(self.table.arrangement.columns, list(rows.setting_names), list(rows.metric_tags))
        self.values.ask_tags()

    def save(self, settings: QSettings) -> None:
        settings.setValue("table/arrangement", json.dumps(config.to_json(self.table.arrangement)))
        settings.setValue("table/widths", json.dumps(self.view.widths))

    def restore(self, settings: QSettings) -> None:
        """As it was saved; what this version does not know is left out."""
        self.view.widths |= _widths(str(settings.value("table/widths") or ""))
        self.show_arrangement(_arrangement(str(settings.value("table/arrangement") or "")))

    def find_runs(self) -> None:
        """The cursor goes to the filter."""
        self.bar.filter.setFocus()
        self.bar.filter.selectAll()

    def _open(self, is_seen: bool) -> None:
        if is_seen and not self._is_open:
            self._is_open = True
            self.table.take(self._studio.runs.records())
            self.table.arrange()
            self._follow()
        self.values.open(is_seen)
        self._say_count()

    def _take(self, records: tuple[RunRecord, ...], removed: tuple[str, ...]) -> None:
        if self._is_open:
            self.table.take(records, removed)
            self.values.runs_came(records)

    def _show(self, **changes: Any) -> None:
        self.table.show_as(replace(self.table.arrangement, **changes))
        self._show_group()

    def _show_columns(self, columns: tuple[str, ...]) -> None:
        self._show(columns=columns)

    def _show_differing(self, on: bool) -> None:
        self._show(only_differing=on)

    def _group_or_not(self, name: str) -> None:
        self._group("" if self.table.arrangement.group == name else name)

    def _type(self, _: str) -> None:
        self._typed.start(TYPED_MS)

    def _filter(self) -> None:
        self._show(filter=self.bar.filter.text())

    def _leave_filter(self) -> None:
        self._typed.stop()
        self._filter()
        self.view.setFocus()

    def _sort(self, name: str) -> None:
        """Up, down, and then newest first again."""
        wanted = self.table.arrangement
        if wanted.sort != name:
            # What is measured is looked at from the best on.
            self._show(sort=name, downwards=name in ("return", "best") or source_of(name) == "metric")
        elif wanted.downwards == (name in ("return", "best") or source_of(name) == "metric"):
            self._show(downwards=not wanted.downwards)
        else:
            self._show(sort="", downwards=False)

    def _group(self, name: str) -> None:
        self._show(group=name)

    def _hide(self, name: str) -> None:
        columns = tuple(column for column in self.table.arrangement.columns if column != name)
        if columns:
            self._show(columns=columns)

    def _move(self, name: str, by: int) -> None:
        columns = list(self.table.columns)
        place = columns.index(name)
        to = max(0, min(len(columns) - 1, place + by))
        columns.insert(to, columns.pop(place))
        hidden = [column for column in self.table.arrangement.columns if column not in columns]
        self._show(columns=(*columns, *hidden))

    def _show_group(self) -> None:
        offered = [*self.table.columns, "algo", "env", "state", "group"]
        self.bar.show_group(self.table.arrangement.group, [name for name in offered if name != "label"])

    def _offer(self) -> None:
        if self._chooser is not None and self._chooser.isVisible():
            self._chooser.offer(list(self.table.rows.setting_names), list(self.table.rows.metric_tags))

    def _select(self) -> None:
        self._studio.select(self.view.chosen)
        self.actions_on_chosen.refresh_soon()

    def _follow(self) -> None:
        """Another part of the window may have selected runs."""
        if list(self._studio.selected) != self.view.chosen[:MOST_DRAWN]:
            self.view.choose(self._studio.selected)
        self.actions_on_chosen.refresh_soon()

    def _say_count(self) -> None:
        total, fitting = len(self.table.rows), self.table.fitting
        said = f"{fitting:,} of {total:,} runs" if fitting != total else f"{total:,} runs"
        if self.table.arrangement.group:
            said += f" in {self.table.group_count:,} groups"
        if missing := self.values.missing:
            said += f" · settings of {total - missing:,} read"
        self.bar.count.setText(said)


def _arrangement(text: str) -> Arrangement:
    try:
        return config.from_json_text(Arrangement, text, what="table") if text else Arrangement()
    except ConfigError:
        return Arrangement()


def _widths(text: str) -> dict[str, int]:
    try:
        found = config.loads(text, what="widths") if text else {}
    except ConfigError:
        return {}
    return {name: width for name, width in found.items() if isinstance(width, int)}
