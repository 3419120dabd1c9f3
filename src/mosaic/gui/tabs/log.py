"""The Log tab: what the current run printed and what its events say, as it happens."""

from collections.abc import Mapping
from functools import partial

from mosaic.gui.models.daemon.news import Level, LogSource
from mosaic.gui.models.runs.log_model import SOURCES
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import (
    ElidedLabel,
    Panel,
    chip_button,
    column,
    icon_button,
    label,
    row,
    search_field,
)
from mosaic.gui.widgets.runs.log_view import LogView

LEVELS: Mapping[str, Level] = {"all": "", "warnings": "WARN", "errors": "ERR"}
CHOICES = {
    "all": ("all", "All levels"),
    "warnings": ("warnings", "Warnings and errors"),
    "errors": ("errors", "Errors only"),
}


class LogTab(Panel):
    """Chips choose the sources, a menu the level, a field the text, a button whether the end is followed."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.view = LogView(studio.log, theme)
        self._name, self._count = ElidedLabel("faint"), label("", "faint")
        chips = [
            chip_button(source, checked=source in studio.log.sources, toggled=partial(self._show_source, source))
            for source in SOURCES
        ]
        self.level = ChoiceChip("level", CHOICES, self._show_level)
        self._search = search_field(theme, "Filter lines…", lambda text: studio.log.filter(text=text))
        self._search.setMaximumWidth(240)
        self.follow = icon_button(theme, "arrow-down-to-line", "Follow")
        self.follow.setCheckable(True)
        self.follow.setChecked(True)
        self.follow.setToolTip("Keep the newest line in view")
        self.follow.toggled.connect(self._follow)
        self.view.left_end.connect(partial(self.follow.setChecked, False))
        left, right = (*chips, self.level, (self._name, 1)), (self._count, self._search, self.follow)
        column(self, row(*left, *right, spacing=6, margins=(12, 8, 12, 6)), (self.view, 1))
        studio.selection_changed.connect(self._show_name)
        studio.runs_changed.connect(self._show_name)
        studio.log.searching_changed.connect(self._show_count)

    def _show_source(self, source: LogSource, shown: bool) -> None:
        before = self._studio.log.sources
        self._studio.log.filter(sources=[each for each in SOURCES if (shown if each == source else each in before)])

    def _show_level(self) -> None:
        self._studio.log.filter(level=LEVELS[self.level.chosen])

    def _follow(self, follows: bool) -> None:
        self.view.follows = follows
        self.view.to_end()

    def _show_name(self) -> None:
        record = self._studio.record()
        self._name.setText(name_of(record) if record else "")

    def _show_count(self) -> None:
        log = self._studio.log
        shown, total = log.rowCount(), log.total
        self._count.setText(f"{shown:,} of {total:,} lines{' …' if log.searching else ''}" if total else "")
