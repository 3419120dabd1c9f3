"""The command palette: type some letters, press Enter."""

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QDialog,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from mosaic.gui.models.palette_commands import Command, fitting
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column

WIDTH, HEIGHT, ROW_HEIGHT = 640, 420, 34
COMMAND = int(Qt.ItemDataRole.UserRole)
Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()


class CommandPalette(QDialog):
    """Opens over the window with everything that can be done now; closes when something was chosen."""

    def __init__(self, parent: QWidget, theme: Theme, commands: Sequence[Command]) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setProperty("palette", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._commands = list(commands)
        self._found = _Found()
        self.typed = QLineEdit()
        self.typed.setPlaceholderText("Type a command or the name of a run…")
        self.typed.setAccessibleName("Command")
        self.list = QListView()
        self.list.setModel(self._found)
        self.list.setItemDelegate(_Line(theme))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setUniformItemSizes(True)
        column(self, self.typed, (self.list, 1), margins=(10, 10, 10, 10), spacing=8)
        self.resize(WIDTH, HEIGHT)
        self.typed.textChanged.connect(self._narrow)
        self.typed.returnPressed.connect(self._choose)
        self.list.clicked.connect(self._choose)
        self._narrow("")

    def open_over(self, window: QWidget) -> None:
        corner = window.mapToGlobal(window.rect().topLeft())
        self.move(corner.x() + (window.width() - self.width()) // 2, corner.y() + 72)
        self.show()
        self.typed.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        moves = {Qt.Key.Key_Down: 1, Qt.Key.Key_Up: -1, Qt.Key.Key_PageDown: 8, Qt.Key.Key_PageUp: -8}
        if (by := moves.get(Qt.Key(event.key()))) is not None:
            row = self.list.currentIndex().row() + by
            self._go_to(max(0, min(row, self._found.rowCount() - 1)))
        else:
            super().keyPressEvent(event)

    def _narrow(self, typed: str) -> None:
        self._found.show(fitting(self._commands, typed))
        self._go_to(0)

    def _go_to(self, row: int) -> None:
        self.list.setCurrentIndex(self._found.index(row))

    def _choose(self) -> None:
        command = self.list.currentIndex().data(COMMAND)
        if isinstance(command, Command) and not command.reason:
            # Closed first: what is chosen may open a question of its own.
            self.close()
            command.do()


class _Found(QAbstractListModel):
    def __init__(self) -> None:
        super().__init__()
        self._commands: list[Command] = []

    def show(self, commands: list[Command]) -> None:
        self.beginResetModel()
        self._commands = commands
        self.endResetModel()

    def rowCount(self, parent: Index = _NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._commands)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        command = self._commands[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return command.title
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip(command.reason)
        return command if role == COMMAND else None


class _Line(QStyledItemDelegate):
    """Title on the left, what it belongs to and its keys on the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(200, ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        command = index.data(COMMAND)
        rect: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.colour("selected"))
            painter.drawRoundedRect(rect, 6, 6)
        inside = rect.adjusted(12, 0, -12, 0)
        metrics = painter.fontMetrics()
        aside = command.reason or "   ".join(part for part in (command.group, command.detail) if part)
        room = inside.width() - min(metrics.horizontalAdvance(command.title), inside.width() * 2 // 3) - 16
        aside = metrics.elidedText(aside, Qt.TextElideMode.ElideRight, room)
        painter.setPen(self._theme.colour("muted" if command.reason else "faint"))
        painter.drawText(inside, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, aside)
        left = inside.adjusted(0, 0, -metrics.horizontalAdvance(aside) - 16, 0)
        painter.setPen(self._theme.colour("faint" if command.reason else "text"))
        title = metrics.elidedText(command.title, Qt.TextElideMode.ElideRight, left.width())
        painter.drawText(left, Qt.AlignmentFlag.AlignVCenter, title)
        painter.restore()
