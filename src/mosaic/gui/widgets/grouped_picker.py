"""A field with a grouped list below it that narrows while one types: for algorithms and for environments."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QFont,
    QIcon,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import QCompleter, QLineEdit, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic.gui.assets import pixmap
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme

Index = QModelIndex | QPersistentModelIndex
OFFER = int(Qt.ItemDataRole.UserRole)
ROWS = 14
NARROWEST_LIST = 400
Kind: TypeAlias = Literal["heading", "choice", "advice"]


@dataclass(frozen=True)
class Offer:
    """A row of the list."""

    text: str
    kind: Kind = "choice"
    value: str = ""
    """What choosing it means; the text itself if empty."""
    aside: str = ""
    """At the right."""
    explanation: str = ""
    """A second line."""
    tip: str = ""


Find: TypeAlias = Callable[[str], Iterable[Offer]]
"""The rows for what was typed; all for an empty text."""


class GroupedPicker(QLineEdit):
    """A click, a key or Down opens the list. With `free` what is typed stays, listed or not."""

    chosen = Signal(str)
    """A row of the list."""
    typed = Signal(str)
    """With `free`: each text that the user makes, chosen ones too."""

    def __init__(self, theme: Theme, find: Find, placeholder: str, *, free: bool) -> None:
        super().__init__()
        self.setFont(plain_digits(self.font()))
        self.setPlaceholderText(placeholder)
        self._find, self._theme, self._free = find, theme, free
        self._value = self._shown = ""
        self._model = QStandardItemModel(self)
        self.completer_ = QCompleter(self._model, self)
        self.completer_.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer_.setMaxVisibleItems(ROWS)
        self.completer_.setWidget(self)
        self._list = QListView()
        self._delegate = _OfferDelegate(theme)
        self.completer_.setPopup(self._list)
        self._list.setItemDelegate(self._delegate)
        self._list.setProperty("popup", True)
        self._list.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.completer_.activated.connect(self._activated)
        self._chevron = self.addAction(QIcon(), QLineEdit.ActionPosition.TrailingPosition)
        self._chevron.triggered.connect(self.browse)
        self._paint_chevron()
        theme.changed.connect(self._paint_chevron)
        self.textEdited.connect(self._search)

    @property
    def value(self) -> str:
        """What is chosen; with `free`, what is typed."""
        return self.text() if self._free else self._value

    def show_text(self, text: str) -> None:
        self.show_value(text, text)

    def show_value(self, value: str, text: str) -> None:
        """What is chosen, and how the closed field says it."""
        self._value, self._shown = value, text
        if text != self.text() and not (self._is_typed_into and not self._free):
            self.setText(text)
            self.setCursorPosition(0)

    def browse(self) -> None:
        """Everything there is."""
        self.selectAll()
        self._fill("")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if not self._list.isVisible():
            self.browse()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down and not self._list.isVisible():
            self.browse()
            return
        # The completer asks this field first.
        if event.key() == Qt.Key.Key_Escape and self._list.isVisible():
            self._list.hide()
            if not self._free:
                self._take_back()
            return
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.PopupFocusReason:
            if not self._free:
                self._take_back()
            self.setCursorPosition(0)

    def listed(self) -> list[str]:
        """What the open list shows, headings too."""
        return [offer.text for offer in self.offers()]

    def offers(self) -> list[Offer]:
        return [self._offer(row) for row in range(self._model.rowCount())]

    @property
    def _is_typed_into(self) -> bool:
        return self.hasFocus() and self.isModified()

    def _take_back(self) -> None:
        """What was typed chose nothing."""
        self.setText(self._shown)

    def _search(self, text: str) -> None:
        if self._free:
            self.typed.emit(text)
        self._fill(text)

    def _activated(self, _: str) -> None:
        # Two rows may say the same: the place in the list tells them apart.
        offer = self._list.currentIndex().data(OFFER)
        if not isinstance(offer, Offer) or offer.kind != "choice":
            return
        if self._free:
            self.setText(offer.text)
            self.typed.emit(offer.text)
        self.setModified(False)
        self.chosen.emit(offer.value or offer.text)
        if not self._free:
            self._take_back()

    def _fill(self, text: str) -> None:
        self._model.clear()
        for offer in self._find(text):
            item = QStandardItem(offer.text)
            item.setData(offer, OFFER)
            item.setEnabled(offer.kind == "choice")
            item.setToolTip(tip(offer.tip or offer.text))
            self._model.appendRow(item)
        if not self._model.rowCount():
            self._list.hide()
            return
        self.completer_.complete(QRect(0, 0, max(self.width(), NARROWEST_LIST), self.height() + 2))
        self._point_at(text, self._value if not self._free else self.text())

    def _point_at(self, typed: str, value: str) -> None:
        """Where Return and the arrows begin: at what was typed as a name, what begins so, what is chosen, the first."""
        rows = [row for row in range(self._model.rowCount()) if self._model.item(row).isEnabled()]
        names = {row: (self._offer(row).value.casefold(), self._offer(row).text.casefold()) for row in rows}
        wanted = typed.strip().casefold()
        same = [row for row in rows if wanted and wanted in names[row]]
        begun = [row for row in rows if wanted and any(name.startswith(wanted) for name in names[row])]
        chosen = [row for row in rows if value in (self._offer(row).value, self._offer(row).text)]
        for row in [*same, *begun, *chosen, *rows][:1]:
            self._list.setCurrentIndex(self._list.model().index(row, 0))

    def _offer(self, row: int) -> Offer:
        found = self._model.item(row).data(OFFER)
        assert isinstance(found, Offer)
        return found

    def _paint_chevron(self) -> None:
        self._chevron.setIcon(QIcon(pixmap(self._theme, "chevron-down", "muted", 14)))


def plain_digits(font: QFont) -> QFont:
    """Inter makes 8×8 of 8x8, which is no longer the id."""
    made = QFont(font)
    made.setFeature(QFont.Tag("calt"), 0)
    return made


class _OfferDelegate(QStyledItemDelegate):
    """Groups as headings, choices indented, what belongs to one at its right or below it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        offer = index.data(OFFER)
        if offer.kind == "heading":
            return QSize(120, 26)
        return QSize(120, 40 if offer.explanation else 24)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        place: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        offer: Offer = index.data(OFFER)
        painter.save()
        if offer.kind == "choice" and state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(place, self._theme.colour("selected"))
        if offer.kind == "heading":
            title = offer.text.replace("_", " ").upper()
            self._line(painter, place.adjusted(10, 4, -10, 0), title, "muted", size=11, weight=QFont.Weight.DemiBold)
        elif offer.kind == "advice":
            self._line(painter, place.adjusted(18, 0, -10, 0), offer.text, "faint", size=11)
        elif offer.explanation:
            above, below = QRect(place), QRect(place)
            above.setHeight(24)
            below.setTop(place.top() + 19)
            self._line(painter, above.adjusted(18, 0, -10, 0), offer.text, "text")
            self._line(painter, below.adjusted(18, 0, -10, -3), offer.explanation, "muted", size=11, cut="end")
        else:
            self._choice(painter, place, offer)
        painter.restore()

    def _choice(self, painter: QPainter, place: QRect, offer: Offer) -> None:
        room = place.adjusted(18, 0, -10, 0)
        if offer.aside:
            painter.setPen(self._theme.colour("faint"))
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(room, right, offer.aside)
            room.setRight(room.right() - painter.fontMetrics().horizontalAdvance(offer.aside) - 8)
        self._line(painter, room, offer.text, "text")

    def _line(
        self,
        painter: QPainter,
        room: QRect,
        text: str,
        token: str,
        *,
        size: int = 0,
        weight: QFont.Weight = QFont.Weight.Normal,
        cut: Literal["middle", "end"] = "middle",
    ) -> None:
        font = plain_digits(painter.font())
        if size:
            font.setPixelSize(size)
        font.setWeight(weight)
        painter.save()
        painter.setFont(font)
        painter.setPen(self._theme.colour(token))
        mode = Qt.TextElideMode.ElideMiddle if cut == "middle" else Qt.TextElideMode.ElideRight
        shown = painter.fontMetrics().elidedText(text, mode, room.width())
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()
