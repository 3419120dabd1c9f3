"""The Log tab: what the current run printed and what its events say, in one order of time, as it happens."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QMenu, QPushButton

from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import (
    ElidedLabel,
    Panel,
    chip,
    chip_button,
    column,
    label,
    row,
    search_field,
)
from mosaic.gui.widgets.runs.log_view import LogView
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.spec.logs.log_line import LONGEST_SEARCH, SOURCES, Level, LogLine, LogSource

LEVELS: Mapping[str, Level] = {"all": "", "warnings": "WARN", "errors": "ERR"}
CHOICES = {
    "all": ("all", "All levels"),
    "warnings": ("warnings", "Warnings and errors"),
    "errors": ("errors", "Errors only"),
}

NARROW = 820
"""Pixels of width below which the sources are a menu, so that there is room to type what is looked for."""
SMALLEST = QSize(560, 96)


class LogTab(Panel):
    """Chips choose the sources, a menu the level; a field finds a text, a button keeps the end in view."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.view = LogView(studio.log, theme)
        self._name, self.count = ElidedLabel("faint"), label("", "faint")
        self.chips = [
            chip_button(source, checked=source in studio.log.filter.sources, toggled=partial(self._show_source, source))
            for source in SOURCES
        ]
        self.sources = self._sources_menu()
        self._name_sources()
        self.level = ChoiceChip("level", CHOICES, self._show_level)
        self.search = search_field(theme, "Find in the log…", self._look_for)
        self.search.setMaximumWidth(240)
        self.search.setMaxLength(LONGEST_SEARCH)
        self.previous = IconTool(theme, "chevron-up", "Previous line with this text (Shift+Return)", self._to_previous)
        self.next = IconTool(theme, "chevron-down", "Next line with this text (Return)", self._to_next)
        self.only = chip_button("only these", checked=False, toggled=self._show_only_found)
        self.only.setToolTip("Show only the lines with this text")
        self.follow = IconTool(theme, "arrow-down-to-line", "Follow: keep the newest line in view")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.toggled.connect(self.view.follow)
        self.view.left_end.connect(partial(self.follow.setChecked, False))
        self.search.returnPressed.connect(self._go_on)
        left = (*self.chips, self.sources, self.level, (self._name, 1))
        right = (self.count, self.search, self.previous, self.next, self.only, self.follow)
        column(self, row(*left, *right, spacing=6, margins=(12, 8, 12, 6)), (self.view, 1))
        studio.selection_changed.connect(self._show_name)
        studio.runs_changed.connect(self._show_name)
        studio.log.changed.connect(self._show_count)
        self._show_count()

    def minimumSizeHint(self) -> QSize:
        """The same at all times: a dock never becomes narrower again than what it once had to hold."""
        return SMALLEST

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < NARROW
        self.sources.setVisible(is_narrow)
        self._name.setVisible(not is_narrow)
        for each in self.chips:
            each.setVisible(not is_narrow)

    def _sources_menu(self) -> QPushButton:
        """The chips of the sources as one with a menu; each follows the other."""
        made = chip("")
        menu = QMenu(made)
        for each in self.chips:
            action = menu.addAction(each.text())
            action.setCheckable(True)
            action.setChecked(each.isChecked())
            action.toggled.connect(each.setChecked)
            each.toggled.connect(action.setChecked)
            each.toggled.connect(self._name_sources)
        made.setMenu(menu)
        return made

    def _name_sources(self) -> None:
        shown = [each.text() for each in self.chips if each.isChecked()]
        said = "all" if len(shown) == len(self.chips) else ", ".join(shown) or "none"
        self.sources.setText(f"sources: {said}")
        self.sources.setAccessibleName(self.sources.text())

    @property
    def _near(self) -> LogLine | None:
        """What is looked at stays in view when other lines are shown, unless the end is followed."""
        return None if self.view.follows else self.view.line_beside()

    def _show_source(self, source: LogSource, shown: bool) -> None:
        before = self._studio.log.filter.sources
        chosen: list[LogSource] = [each for each in SOURCES if (shown if each == source else each in before)]
        self._studio.log.narrow(sources=chosen, near=self._near)

    def _show_level(self) -> None:
        self._studio.log.narrow(level=LEVELS[self.level.chosen], near=self._near)

    def _look_for(self, text: str) -> None:
        self._studio.log.look_for(text, near=self._near)

    def _show_only_found(self, only: bool) -> None:
        self._studio.log.show_only_found(only, near=self._near)

    def _go_on(self) -> None:
        if QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._to_previous()
        else:
            self._to_next()

    def _to_next(self) -> None:
        self._studio.log.to_next(self.view.place_beside(backwards=False), backwards=False)

    def _to_previous(self) -> None:
        self._studio.log.to_next(self.view.place_beside(backwards=True), backwards=True)

    def _show_name(self) -> None:
        record = self._studio.record()
        self._name.setText(name_of(record) if record else "")

    def _show_count(self) -> None:
        log, has_text = self._studio.log, bool(self._studio.log.text)
        self.count.setText(" · ".join(part for part in (log.outcome, self._counted()) if part))
        for tool in (self.previous, self.next, self.only):
            tool.setEnabled(has_text or (tool is self.only and self.only.isChecked()))

    def _counted(self) -> str:
        log = self._studio.log
        if not log.run_id:
            return ""
        counted = log.count
        if counted is None:
            return "counting…"
        narrowed = not counted.filter.is_open
        fitting = counted.fitting if counted.filter.sources else 0
        if counted.whole:
            return f"{fitting:,} of {counted.lines:,} lines" if narrowed else f"{counted.lines:,} lines"
        found = f"{fitting:,} found in " if narrowed else ""
        return f"{found}{counted.lines:,} lines so far, {int(100 * counted.part)} % counted"
