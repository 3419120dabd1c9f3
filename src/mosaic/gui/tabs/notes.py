"""The Dry runs tab: what each dry run said, with its time, and whether the form still says what was tried."""

from datetime import UTC, datetime

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import (
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from mosaic.gui.models.form.notes import NOTE, Note
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column, read_only, split

LIST_WIDTH = 230
Index = QModelIndex | QPersistentModelIndex
NOTHING = "A dry run lets a real worker try the form of a new run. What it says is kept here."
_TOKENS = {"running": "accent", "ok": "ok", "refused": "bad", "failed": "bad"}


class NotesTab(QWidget):
    """Dry runs on the left, newest first; the whole output of the chosen one on the right."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._notes = studio.notes
        self.list = QListView()
        self._delegate = _NoteDelegate(theme)
        self.list.setModel(self._notes)
        self.list.setItemDelegate(self._delegate)
        self.list.setUniformItemSizes(True)
        self.list.setAccessibleName("Dry runs")
        self.list.setMinimumWidth(LIST_WIDTH)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.text = read_only("Output of the dry run")
        self.text.setPlaceholderText(NOTHING)
        halves = split(self.list, self.text, sizes=[LIST_WIDTH, 900])
        halves.setStretchFactor(1, 1)
        column(self, halves, spacing=None)
        self._notes.rowsInserted.connect(self._select_newest)
        self._notes.dataChanged.connect(self._show)
        self.list.selectionModel().currentChanged.connect(self._show)
        theme.changed.connect(self.list.viewport().update)

    def _select_newest(self) -> None:
        self.list.setCurrentIndex(self._notes.index(0))

    def _show(self) -> None:
        note: Note | None = self.list.currentIndex().data(NOTE)
        text = "" if note is None else _whole(note)
        if text != self.text.toPlainText():
            self.text.setPlainText(text)


def _whole(note: Note) -> str:
    begun = datetime.fromtimestamp(note.begun_at, UTC).astimezone()
    head = f"{begun:%Y-%m-%d %H:%M:%S %Z} · dry run of {note.title} · {_summary(note)}"
    return f"{head}\n\n{note.output}".rstrip()


def _summary(note: Note) -> str:
    if note.outcome == "running":
        return "a worker tries it…"
    text = f"{note.outcome} · {note.took_s:.1f} s"
    return f"{text} · edited since" if note.is_stale else text


class _NoteDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        return QSize(0, 44)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        note: Note = index.data(NOTE)
        place: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(place, self._theme.colour("selected"))
        token = "faint" if note.is_stale else _TOKENS[note.outcome]
        painter.setBrush(self._theme.colour(token))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.drawEllipse(place.left() + 14, place.top() + 11, 7, 7)
        clock = datetime.fromtimestamp(note.begun_at, UTC).astimezone().strftime("%H:%M:%S")
        for text, top, name in ((note.title, 4, "text"), (f"{clock} · {_summary(note)}", 22, "muted")):
            painter.setPen(self._theme.colour("muted" if note.is_stale else name))
            room = QRect(place.left() + 30, place.top() + top, place.width() - 38, 18)
            shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room.width())
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()
