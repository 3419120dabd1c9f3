"""A field for the environment: type to search in the families, or type any other Gymnasium id."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
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
from PySide6.QtWidgets import (
    QCompleter,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from mosaic.gui.assets import pixmap
from mosaic.gui.models.form.catalogue_model import CatalogueModel
from mosaic.gui.models.form.train_form import TrainForm
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.value_editors import Typed

Index = QModelIndex | QPersistentModelIndex
FAMILY = int(Qt.ItemDataRole.UserRole)
"""True for the heading of a family."""
ACTIONS = FAMILY + 1
ROWS = 14


class EnvPicker(QLineEdit):
    """A click or a key opens the list; what is typed stays, listed or not."""

    def __init__(self, catalogue: CatalogueModel, form: TrainForm, theme: Theme, typed: Typed) -> None:
        super().__init__()
        self.setProperty("wide", True)
        self.setFont(_plain(self.font()))
        self.setPlaceholderText("Search environments…")
        self._catalogue, self._form, self._theme, self._typed = catalogue, form, theme, typed
        self._model = QStandardItemModel(self)
        self.completer_ = QCompleter(self._model, self)
        self.completer_.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer_.setMaxVisibleItems(ROWS)
        self.completer_.setWidget(self)
        self._list = QListView()
        self._delegate = _EnvDelegate(theme)
        self.completer_.setPopup(self._list)
        self._list.setItemDelegate(self._delegate)
        self._list.setProperty("popup", True)
        self.completer_.activated.connect(self._choose)
        self._chevron = self.addAction(QIcon(), QLineEdit.ActionPosition.TrailingPosition)
        self._chevron.triggered.connect(self.browse)
        self._paint()
        theme.changed.connect(self._paint)
        self.textEdited.connect(self._search)

    def show_text(self, text: str) -> None:
        if text != self.text():
            self.setText(text)
            self.setCursorPosition(0)

    def browse(self) -> None:
        """Every environment that fits, by family."""
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
        super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.setCursorPosition(0)

    def listed(self) -> list[str]:
        """What the open list shows, headings too."""
        return [str(self._model.item(row).text()) for row in range(self._model.rowCount())]

    def _search(self, text: str) -> None:
        self._typed(text)
        self._fill(text)

    def _choose(self, text: str) -> None:
        self.setText(text)
        self._typed(text)

    def _fill(self, text: str) -> None:
        algo = self._form.algo
        self._model.clear()
        for family in self._catalogue.search(text, algo):
            self._add(family.name, is_family=True)
            if family.advice:
                self._add(family.advice, is_family=False, is_enabled=False)
            for env_id, actions in family.environments:
                self._add(env_id, is_family=False, actions=actions)
        if not self._model.rowCount():
            for env_id in self._catalogue.near(text, algo):
                if not self._model.rowCount():
                    self._add("Did you mean", is_family=True)
                self._add(env_id, is_family=False)
        if not self._model.rowCount():
            self._list.hide()
            return
        self.completer_.complete(QRect(0, 0, self.width(), self.height() + 2))
        self._point_at(self.text())

    def _point_at(self, env_id: str) -> None:
        """The one that is typed, else the first: where Return and the arrows begin."""
        rows = [row for row in range(self._model.rowCount()) if self._model.item(row).isEnabled()]
        same = [row for row in rows if self._model.item(row).text() == env_id]
        for row in [*same, *rows][:1]:
            self._list.setCurrentIndex(self._list.model().index(row, 0))

    def _add(self, text: str, *, is_family: bool, is_enabled: bool = True, actions: str = "") -> None:
        item = QStandardItem(text)
        item.setData(is_family, FAMILY)
        item.setData(actions, ACTIONS)
        item.setEnabled(is_enabled and not is_family)
        item.setToolTip(tip(text))
        self._model.appendRow(item)

    def _paint(self) -> None:
        self._chevron.setIcon(QIcon(pixmap(self._theme, "chevron-down", "muted", 14)))


def _plain(font: QFont) -> QFont:
    """Inter makes 8×8 of 8x8, which is no longer the id."""
    made = QFont(font)
    made.setFeature(QFont.Tag("calt"), 0)
    return made


class _EnvDelegate(QStyledItemDelegate):
    """Families as headings, environments indented, the kind of their actions at the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(120, 26 if index.data(FAMILY) else 24)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        place: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        is_family, is_enabled = bool(index.data(FAMILY)), bool(state & QStyle.StateFlag.State_Enabled)
        painter.save()
        if is_enabled and state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver):
            painter.fillRect(place, self._theme.colour("selected"))
        font = _plain(painter.font())
        if is_family:
            font.setPixelSize(11)
            font.setWeight(QFont.Weight.DemiBold)
        elif not is_enabled:
            font.setPixelSize(11)
        painter.setFont(font)
        painter.setPen(self._theme.colour("muted" if is_family else "text" if is_enabled else "faint"))
        text = str(index.data()).replace("_", " ").upper() if is_family else str(index.data())
        room = place.adjusted(10 if is_family else 18, 4 if is_family else 0, -10, 0)
        actions = str(index.data(ACTIONS) or "")
        metrics = painter.fontMetrics()
        if actions:
            room.setRight(room.right() - metrics.horizontalAdvance(actions) - 8)
        painter.drawText(
            room, Qt.AlignmentFlag.AlignVCenter, metrics.elidedText(text, Qt.TextElideMode.ElideMiddle, room.width())
        )
        if actions:
            painter.setPen(self._theme.colour("faint"))
            right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
            painter.drawText(place.adjusted(0, 0, -10, 0), right, actions)
        painter.restore()
