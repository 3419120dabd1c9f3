"""A page of cards in as many columns as fit; the first one is twice as large where there is room.

A card is made when it comes into view, so that a run with hundreds of tags opens as fast as any. Cards are moved by
their titles and resized by their corners, or by keys: the page tells how far in places, its owner keeps it.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, QRect, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QScrollArea

from mosaic.gui.models.charts.chart_layout import HIGHEST, WIDEST, Span
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
    """Cards by key, in the order of the keys; one that is still wanted is kept with its zoom."""

    moved = Signal(str, int)
    """A card is to be at this place."""
    resized = Signal(str, int, int)
    """A card is to take so many columns and lines."""

    def __init__(self, make: Callable[[str], ChartCard], span_of: Callable[[str], Span | None]) -> None:
        super().__init__()
        self.tags: list[str] = []
        """Keys of the charts; that of the curves of a tag is the tag."""
        self.current = ""
        """The card that Tab reaches; arrow keys go from it to the others."""
        self._span_of = span_of
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
                card.dragged.connect(self._drag)
                card.stretched.connect(self._stretch)
                card.focused.connect(self._focus_came)
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
        if self.current not in tags:
            self.current = self.tags[0] if self.tags else ""
        self.place()
        self._mark_current()

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
            places = places_of([self._span_of(tag) for tag in self.tags], size.width(), size.height())
            self._places = dict(zip(self.tags, places, strict=True))
        bottom = max((place.bottom() for place in self._places.values()), default=0) + 1 + MARGIN
        self._page.resize(size.width(), max(bottom, size.height()))
        self.empty.resize(size)
        self.empty.setVisible(not self.tags)
        for tag, card in self._cards.items():
            card.setFocusPolicy(Qt.FocusPolicy.StrongFocus if tag == self.current else Qt.FocusPolicy.ClickFocus)
            card.setVisible(tag in self._places)
            card.is_full = tag == self.full
            if tag in self._places:
                card.setGeometry(self._places[tag])

    def go(self, right: int, down: int) -> None:
        """Give the focus to the next card in this direction, and scroll there."""
        here = self._places.get(self.current)
        if here is None or self.full:
            return
        middle = here.center()

        def distance(tag: str) -> float:
            to = self._places[tag].center() - middle
            along, across = (to.x() * right, abs(to.y())) if right else (to.y() * down, abs(to.x()))
            return along + 3 * across if along > 4 else float("inf")

        best = min((tag for tag in self.tags if tag != self.current), key=distance, default=None)
        if best is not None and distance(best) < float("inf"):
            self.focus_card(best)

    def focus_card(self, tag: str, *, scrolls: bool = True) -> None:
        self.current = tag
        place = self._places[tag]
        bar, height = self.verticalScrollBar(), self.viewport().height()
        if scrolls and place.top() < bar.value():
            bar.setValue(max(place.top() - TOP, 0))
        elif scrolls and place.bottom() > bar.value() + height:
            bar.setValue(min(place.top() - TOP, place.bottom() + MARGIN - height))
        self.seen()
        self._mark_current()
        # A card out of view may not be made yet.
        (self._cards.get(tag) or self).setFocus(Qt.FocusReason.OtherFocusReason)

    def place_beside(self, tag: str, down: int) -> int:
        """Which place the card has that lies above or below this one."""
        here = self._places[tag]
        for other in self.tags[:: 1 if down > 0 else -1]:
            place = self._places[other]
            beyond = place.top() > here.bottom() if down > 0 else place.bottom() < here.top()
            if beyond and place.left() <= here.right() and place.right() >= here.left():
                return self.tags.index(other)
        return self.tags.index(tag)

    def span_shown(self, tag: str) -> Span:
        """How many columns and lines a card takes now."""
        place = self._places[tag]
        unit = self._unit()
        return max(1, round(place.width() / unit.x())), max(1, round(place.height() / unit.y()))

    def _unit(self) -> QPoint:
        """Width and height of the smallest cards, about, with the space behind them."""
        narrow = min((place.width() for place in self._places.values()), default=NARROWEST)
        low = min((place.height() for place in self._places.values()), default=LOWEST)
        return QPoint(max(narrow, 40) + SPACING, max(low, 40) + SPACING)

    def _drag(self, card: ChartCard, at: QPoint) -> None:
        """A title is dragged: the card takes the place of the one under the mouse."""
        point = self._page.mapFromGlobal(at)
        if self.full or self._places[card.tag].contains(point):
            return
        over = next((tag for tag, place in self._places.items() if place.contains(point)), None)
        if over is not None:
            self.moved.emit(card.tag, self.tags.index(over))

    def _stretch(self, card: ChartCard, at: QPoint) -> None:
        """A corner is dragged: as many places as it covers."""
        if self.full:
            return
        size, unit = self._page.mapFromGlobal(at) - self._places[card.tag].topLeft(), self._unit()
        span = max(1, min(round(size.x() / unit.x()), WIDEST)), max(1, min(round(size.y() / unit.y()), HIGHEST))
        if span != self.span_shown(card.tag):
            self.resized.emit(card.tag, *span)

    def _focus_came(self, card: ChartCard) -> None:
        self.current = card.tag
        self._mark_current()

    def _mark_current(self) -> None:
        """Of all cards one is a stop of Tab."""
        for tag, card in self._cards.items():
            card.setFocusPolicy(Qt.FocusPolicy.StrongFocus if tag == self.current else Qt.FocusPolicy.ClickFocus)

    def _forget_some(self, seen: Sequence[str]) -> None:
        spare = [tag for tag, card in self._cards.items() if tag not in (*seen, self.current) and not card.is_zoomed]
        for tag in spare[: max(len(self._cards) - MOST, 0)]:
            self._drop(tag)

    def _drop(self, tag: str) -> None:
        card = self._cards.pop(tag)
        card.left.emit(card)
        card.hide()
        card.deleteLater()


def places_of(spans: Sequence[Span | None], width: int, height: int) -> Sequence[QRect]:
    """Where cards of these sizes lie on a page of this width; they fill its height if they can.

    A card without a size takes one place; the first one four, where there is room.
    """
    count = len(spans)
    low = height < 2 * LOWEST + SPACING + TOP + MARGIN
    in_line = int((width - 2 * MARGIN) / (NARROWEST_IN_LINE + SPACING) - FIRST_IN_LINE + 1)
    columns = max(in_line if low else width // NARROWEST, 1)
    # The first card is twice as large, or where there is one line of cards, somewhat wider.
    large = (2, 2) if not low and columns > 2 and count > 2 else (1, 1)
    sizes = [span or (large if place == 0 else (1, 1)) for place, span in enumerate(spans)]
    sizes = [(min(wide, columns), 1 if low else high) for wide, high in sizes]
    spots = _packed(sizes, columns)
    lines = max((line + high for (line, _), (_, high) in zip(spots, sizes, strict=True)), default=1)
    fitting = 1 if low else lines
    high = max((height - TOP - MARGIN - (fitting - 1) * SPACING) // fitting, LOWEST_IN_LINE if low else LOWEST)
    first = FIRST_IN_LINE if low and columns > 2 else 1.0
    unit = (width - 2 * MARGIN - (columns - 1) * SPACING) / (columns - 1 + first)
    edges = [MARGIN, *(MARGIN + round((first + n) * unit) + (n + 1) * SPACING for n in range(columns))]
    return [
        QRect(
            edges[column],
            TOP + line * (high + SPACING),
            edges[column + wide] - SPACING - edges[column],
            tall * high + (tall - 1) * SPACING,
        )
        for (line, column), (wide, tall) in zip(spots, sizes, strict=True)
    ]


def _packed(sizes: Sequence[Span], columns: int) -> list[tuple[int, int]]:
    """Line and column of each: the first place, from the top left on, in which it has room."""
    taken: set[tuple[int, int]] = set()
    spots: list[tuple[int, int]] = []
    free = 0
    """Lines before this one are full."""
    for wide, high in sizes:
        line = free
        while True:
            spot = next(
                (
                    column
                    for column in range(columns - wide + 1)
                    if not any((line + y, column + x) in taken for y in range(high) for x in range(wide))
                ),
                None,
            )
            if spot is not None:
                break
            line += 1
        spots.append((line, spot))
        taken |= {(line + y, spot + x) for y in range(high) for x in range(wide)}
        while all((free, column) in taken for column in range(columns)):
            free += 1
    return spots
