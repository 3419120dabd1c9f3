"""A page of cards in as many columns as fit; the first one is twice as large where there is room."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from mosaic.gui.widgets.chart_card import ChartCard

NARROWEST = 300
"""Pixels of a card, below which there is one column fewer."""


class CardGrid(QScrollArea):
    """Cards by tag; one that is still wanted is kept with its zoom."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self._cards: dict[str, ChartCard] = {}
        self._columns = 0
        self._page = page = QWidget()
        page.setProperty("panel", True)
        page.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._layout = QGridLayout(page)
        self._layout.setContentsMargins(12, 4, 12, 12)
        self._layout.setSpacing(10)
        self.setWidget(page)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def cards(self) -> Sequence[ChartCard]:
        return list(self._cards.values())

    def show_cards(self, tags: list[str], make: Callable[[str], ChartCard]) -> None:
        for tag in set(self._cards) - set(tags):
            self._cards.pop(tag).deleteLater()
        self.tags = list(tags)
        self._cards = {tag: self._cards.get(tag) or make(tag) for tag in tags}
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._fitting() != self._columns:
            self._place()

    def _fitting(self) -> int:
        return max(self.viewport().width() // NARROWEST, 1)

    def _place(self) -> None:
        for column in range(self._layout.columnCount()):
            self._layout.setColumnStretch(column, 0)
        for line in range(self._layout.rowCount()):
            self._layout.setRowStretch(line, 0)
        while self._layout.takeAt(0) is not None:
            pass
        self._columns = columns = self._fitting()
        taken: set[tuple[int, int]] = set()
        for index, card in enumerate(self._cards.values()):
            span = 2 if index == 0 and columns > 2 and len(self._cards) > 2 else 1
            line, column = next(
                place for place in ((n // columns, n % columns) for n in range(10_000)) if place not in taken
            )
            taken |= {(line + down, column + across) for down in range(span) for across in range(span)}
            self._layout.addWidget(card, line, column, span, span)
        for column in range(columns):
            self._layout.setColumnStretch(column, 1)
        for line in {line for line, _ in taken}:
            self._layout.setRowStretch(line, 1)
        # At once, not with the next round of events: until then every card seems to be in view.
        viewport = self.viewport().size()
        self._page.resize(viewport.width(), max(viewport.height(), self._layout.minimumSize().height()))
        self._layout.activate()
