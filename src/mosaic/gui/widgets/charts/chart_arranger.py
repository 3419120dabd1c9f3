"""Adds, removes, moves and resizes charts, as keys, the mouse and the menu of a chart ask for it."""

from typing import Protocol

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.models.charts.chart_layout import ChartLayout, ChartSpec
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.charts.add_chart_dialog import AddChartDialog
from mosaic.gui.widgets.charts.card_contents import CardContents
from mosaic.gui.widgets.charts.chart_actions import ARROWS, Does, action_of, open_menu
from mosaic.gui.widgets.charts.chart_card import ChartCard
from mosaic.gui.widgets.charts.chart_card_grid import CardGrid
from mosaic.run_table.table_rows import differing


class Page(Protocol):
    """What it needs of the tab of charts."""

    def refresh(self) -> None: ...

    def show_full(self, tag: str) -> None: ...

    def show_every_chart(self) -> None:
        """Without the filter."""
        ...


class ChartArranger:
    """Changes the layout of the charts, and has it shown."""

    def __init__(
        self,
        widget: QWidget,
        page: Page,
        studio: Studio,
        theme: Theme,
        layout: ChartLayout,
        grid: CardGrid,
        contents: CardContents,
    ) -> None:
        self._widget, self._page, self._studio, self._theme = widget, page, studio, theme
        self._layout, self._grid, self._contents = layout, grid, contents
        self._dialog: AddChartDialog | None = None
        """The open one."""
        grid.moved.connect(self._move)
        grid.resized.connect(self._resize)

    def ask_for_chart(self) -> AddChartDialog:
        """Which chart to add; it is shown in front of the others."""
        histograms = self._contents.histograms
        dialog = AddChartDialog(
            self._widget,
            self._theme,
            tags=self._studio.curves.tags(),
            parameters={"weights": histograms.names("weights"), "gradients": histograms.names("gradients")},
            then=self.add_chart,
        )
        self._dialog = dialog
        dialog.finished.connect(self._dialog_closed)
        dialog.open()
        self._contents.values.want_settings(self.offer_settings)
        return dialog

    def _dialog_closed(self) -> None:
        self._dialog = None

    def offer_settings(self) -> None:
        """To the dialog, if it is still open."""
        if self._dialog is not None:
            rows = self._contents.values.rows
            found = [rows.settings_of(run_id) for run_id in self._studio.selected]
            self._dialog.offer(list(rows.setting_names), differing(found, rows.setting_names))

    def add_chart(self, spec: ChartSpec) -> None:
        self._page.show_every_chart()
        self._layout.add(spec.key)
        if spec.kind != "curve":
            self._layout.move(spec.key, 1 if self._grid.tags else 0, self._grid.tags)
        self._grid.show_full("")
        self._page.refresh()
        if spec.key in self._grid.tags:
            self._grid.focus_card(spec.key)

    def do_to(self, key: str, does: Does) -> None:
        """What a key or the menu asks for."""
        shown = self._grid.tags
        match does:
            case "enlarge":
                self._page.show_full(key)
            case "read":
                card = next((card for card in self._grid.cards() if card.tag == key), None)
                if card is not None and card.body is not None:
                    card.body.setFocus()
            case "earlier" | "later":
                self._move(key, shown.index(key) + (1 if does == "later" else -1))
            case "up" | "down":
                self._move(key, self._grid.place_beside(key, 1 if does == "down" else -1))
            case "wider" | "narrower" | "higher" | "lower":
                wide, high = self._grid.span_shown(key)
                more = 1 if does in ("wider", "higher") else -1
                self._resize(key, *((wide + more, high) if does in ("wider", "narrower") else (wide, high + more)))
            case "remove":
                place = shown.index(key)
                self._layout.remove(key)
                self._page.refresh()
                if self._grid.tags:
                    self._grid.focus_card(self._grid.tags[min(place, len(self._grid.tags) - 1)])
            case "add":
                self.ask_for_chart()
            case "reset":
                self._layout.reset()
                self._page.refresh()
                self._grid.place()

    def _move(self, key: str, place: int) -> None:
        self._layout.move(key, place, self._grid.tags)
        self._page.refresh()
        self._grid.focus_card(key)

    def _resize(self, key: str, wide: int, high: int) -> None:
        self._layout.resize(key, (wide, high))
        self._grid.place()
        self._page.refresh()

    def press(self, card: ChartCard, event: QKeyEvent) -> None:
        arrow = ARROWS.get(Qt.Key(event.key()))
        does = action_of(event)
        if does is not None:
            event.accept()
            self.do_to(card.tag, does)
        elif arrow is not None and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            event.accept()
            self._grid.go(*arrow)

    def open_menu_of(self, card: ChartCard, at: QPoint) -> None:
        without: list[Does] = [] if card.body is not None else ["read"]
        if not self._layout.is_changed:
            without.append("reset")
        open_menu(self._widget, at, lambda does: self.do_to(card.tag, does), without=without, is_full=card.is_full)
