"""A page of cards in as many columns as fit; the first one is twice as large where there is room.

A card is made when it comes into view, so that a run with hundreds of tags opens as fast as any.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea

from mosaic.gui.widgets.charts.chart_card import LOWEST, ChartCard
from mosaic.gui.widgets.labels_and_buttons import Panel, label

NARROWEST = 300
"""Pixels of a card, below which there is one column fewer."""
MOST = 60
"""Cards that are kept; of more, those out of view are made again when they are looked at, unless they are zoomed."""
NARROWEST_IN_LINE, LOWEST_IN_LINE, FIRST_IN_LINE = 200, 118, 1.4
"""Where the page is so low that only one line of cards is seen at a time: pixels, pixels, and the first to another."""
MARGIN, TOP, SPACING = 12, 4, 10


class CardGrid(QScrollArea):
    """Cards by tag, always in the order of the tags; one that is still wanted is kept with its zoom."""

    def __init__(self, make: Callable[[str], ChartCard]) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.full = ""
        """The tag that has all the room, if any."""
        self._make = make
        self._cards: dict[str, ChartCard] = {}
        self._places: dict[str, QRect] = {}
        self._scrolled = 0
        self._page = Panel()
        self.setWidget(self._page)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.empty = label("", "muted")
        """What is said where there is no card."""
        self.empty.setParent(self.viewport())
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)

    def cards(self) -> Sequence[ChartCard]:
        """Those that were made, in their order."""
        return [card for tag in self.tags if (card := self._cards.get(tag))]

    def seen(self) -> Sequence[ChartCard]:
        """Those in view, which are made if need be."""
        view = self.viewport().rect().translated(0, self.verticalScrollBar().value())
        tags = [tag for tag, place in self._places.items() if place.intersects(view)]
        for tag in tags:
            if tag not in self._cards:
                self._cards[tag] = card = self._make(tag)
                card.setParent(self._page)
                card.setGeometry(self._places[tag])
                card.show()
        self._forget_some(tags)
        return [self._cards[tag] for tag in tags]

    def show_tags(self, tags: Sequence[str]) -> None:
        for tag in set(self._cards) - set(tags):
            self._drop(tag)
        self.tags = list(tags)
        if self.full not in tags:
            self.full = ""
        self.place()

    def show_full(self, tag: str) -> None:
        """Give one card all the room; nothing gives it back, and the page is where it was."""
        if not self.full:
            self._scrolled = self.verticalScrollBar().value()
        self.full = tag
        self.place()
        self.verticalScrollBar().setValue(0 if tag else self._scrolled)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.place()

    def place(self) -> None:
        size = self.viewport().size()
        if self.full:
            whole = QRect(MARGIN, TOP, size.width() - 2 * MARGIN, size.height() - TOP - MARGIN)
            self._places = {self.full: whole}
        else:
            places = places_of(len(self.tags), size.width(), size.height())
            self._places = dict(zip(self.tags, places, strict=True))
        bottom = max((place.bottom() for place in self._places.values()), default=0) + 1 + MARGIN
        self._page.resize(size.width(), max(bottom, size.height()))
        self.empty.resize(size)
        self.empty.setVisible(not self.tags)
        for tag, card in self._cards.items():
            card.setVisible(tag in self._places)
            card.is_full = tag == self.full
            if tag in self._places:
                card.setGeometry(self._places[tag])

    def _forget_some(self, seen: Sequence[str]) -> None:
        spare = [tag for tag, card in self._cards.items() if tag not in seen and not card.is_zoomed]
        for tag in spare[: max(len(self._cards) - MOST, 0)]:
            self._drop(tag)

    def _drop(self, tag: str) -> None:
        card = self._cards.pop(tag)
        card.left.emit(card)
        card.hide()
        card.deleteLater()


def places_of(count: int, width: int, height: int) -> Sequence[QRect]:
    """Where so many cards lie on a page of this width; they fill its height if they can."""
    low = height < 2 * LOWEST + SPACING + TOP + MARGIN
    in_line = int((width - 2 * MARGIN) / (NARROWEST_IN_LINE + SPACING) - FIRST_IN_LINE + 1)
    columns = max(in_line if low else width // NARROWEST, 1)
    # The first card is twice as large, or where there is one line of cards, somewhat wider.
    large = not low and columns > 2 and count > 2
    lines = max(-(-(count + 3 if large else count) // columns), 2 if large else 1)
    fitting = 1 if low else lines
    high = max((height - TOP - MARGIN - (fitting - 1) * SPACING) // fitting, LOWEST_IN_LINE if low else LOWEST)
    first = FIRST_IN_LINE if low and columns > 2 else 1.0
    unit = (width - 2 * MARGIN - (columns - 1) * SPACING) / (columns - 1 + first)
    edges = [MARGIN, *(MARGIN + round((first + n) * unit) + (n + 1) * SPACING for n in range(columns))]
    taken = {(0, 0), (0, 1), (1, 0), (1, 1)} if large else set[tuple[int, int]]()
    free = ((n // columns, n % columns) for n in range(columns * (lines + 1)))
    spots = [(0, 0, 2)] if large else []
    spots += [(line, column, 1) for line, column in free if (line, column) not in taken]
    return [
        QRect(
            edges[column],
            TOP + line * (high + SPACING),
            edges[column + span] - SPACING - edges[column],
            span * high + (span - 1) * SPACING,
        )
        for line, column, span in spots[:count]
    ]
