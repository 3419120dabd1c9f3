"""The rows of the table of runs: selection, order and width of columns, groups; all of it by mouse and by keys."""

from collections.abc import Sequence

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QAction, QFont, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from mosaic.gui.assets import pixmap, text_font
from mosaic.gui.models.runs.arranged_runs import stretches
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.table.run_table_model import COLUMN, GROUP, RECORD, RunTableModel
from mosaic.gui.theme import Theme
from mosaic.run_table.row_groups import RowGroup
from mosaic.run_table.run_columns import kind_of
from mosaic.spec.run_record import RunRecord, is_pinned

HEIGHT = 30
CHEVRON = 26
NARROWEST, WIDEST = 48, 900
STEP = 24
"""Pixels by which a key makes a column wider."""
HEADINGS_WIDTH, BESIDE_TITLE = 300, 42
WIDTHS = {
    "label": 210,
    "state": 96,
    "tags": 108,
    "algo": 112,
    "env": 160,
    "seed": 72,
    "time": 84,
    "started": 132,
    "run": 230,
}
BESIDE_TEXT = 24
NUMBER_WIDTH, TEXT_WIDTH, GROUPED_WIDTH, COUNTS_WIDTH = 104, 130, 150, 190

Index = QModelIndex | QPersistentModelIndex


class RunTableView(QTableView):
    """Lines as high as each other: that is what makes ten thousand of them cheap."""

    chosen_changed = Signal()
    sort_asked = Signal(str)
    group_asked = Signal(str)
    hide_asked = Signal(str)
    move_asked = Signal(str, int)
    """A column one place to the left (-1) or to the right (1)."""
    columns_asked = Signal()
    find_asked = Signal()
    delete_asked = Signal()
    open_asked = Signal(str)
    menu_asked = Signal(QPoint)

    def __init__(self, table: RunTableModel, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._table, self._theme = table, theme
        self.widths: dict[str, int] = {}
        self._chosen: list[str] = []
        self._current = ("", 0)
        self._is_rearranging = False
        self._delegate = RunTableDelegate(table, studio, theme)
        self.setModel(table)
        self.setItemDelegate(self._delegate)
        self.setAccessibleName("Runs table")
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setCornerButtonEnabled(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._ask_menu)
        lines = self.verticalHeader()
        lines.hide()
        lines.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        lines.setDefaultSectionSize(HEIGHT)
        header = self.horizontalHeader()
        header.setSectionsMovable(True)
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        # To paint a section Qt would ask each of ten thousand rows whether it is selected.
        header.setSelectionModel(QItemSelectionModel(table, header))
        header.setMinimumSectionSize(NARROWEST)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._header_menu)
        header.sectionClicked.connect(self._sort)
        header.sectionResized.connect(self._resized)
        header.sectionMoved.connect(self._moved)
        self._settle = QTimer(self, singleShot=True)
        self._settle.timeout.connect(self._selected)
        self.selectionModel().selectionChanged.connect(self._settle_later)
        table.about_to_change.connect(self._before)
        table.changed.connect(self._after)
        studio.selection_changed.connect(self.viewport().update)
        theme.changed.connect(self.viewport().update)

    @property
    def chosen(self) -> list[str]:
        """Runs that are selected, that of the cursor first."""
        return list(self._chosen)

    @property
    def column_name(self) -> str:
        """The column of the cursor."""
        place = self.currentIndex().column()
        columns = self._table.columns
        return columns[place] if 0 <= place < len(columns) else (columns[0] if columns else "")

    def choose(self, run_ids: Sequence[str]) -> None:
        """Select these runs; those that are not shown are left out."""
        self._chosen = list(run_ids)
        self._show_selection()
        line = self._table.line_of(run_ids[0]) if run_ids else None
        if line is not None:
            self.scrollTo(self._table.index(line, 0))

    def show_arrangement(self) -> None:
        """Widths as the user made them."""
        was, self._is_rearranging = self._is_rearranging, True
        for place, name in enumerate(self._table.columns):
            self.setColumnWidth(place, self.widths.get(name) or self._width_of(place, name))
        self._is_rearranging = was

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._table.rowCount():
            painter = QPainter(self.viewport())
            painter.setPen(self._theme.colour("muted"))
            said = "No run fits the filter." if len(self._table.rows) else "No runs yet."
            painter.drawText(self.viewport().rect(), Qt.AlignmentFlag.AlignCenter, said)

    def keyboardSearch(self, search: str) -> None:
        """Letters are commands here; the filter above finds runs."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, ctrl = event.key(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier)
        line = self.currentIndex().row()
        group = self._table.group_at(line) if 0 <= line < self._table.rowCount() else None
        name = self.column_name
        if group is not None and key in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._table.collapse(line, collapsed=not self._table.is_collapsed(group))
        elif group is not None and not ctrl and key in (Qt.Key.Key_Minus, Qt.Key.Key_Plus):
            self._table.collapse(line, collapsed=key == Qt.Key.Key_Minus)
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._chosen:
            self.open_asked.emit(self._chosen[0])
        elif key == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        elif key == Qt.Key.Key_Menu:
            self.menu_asked.emit(self.viewport().mapToGlobal(self.visualRect(self.currentIndex()).bottomLeft()))
        elif ctrl and key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            self.move_asked.emit(name, -1 if key == Qt.Key.Key_Left else 1)
        elif key in (Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight) and name:
            by = STEP if key == Qt.Key.Key_BracketRight else -STEP
            place = list(self._table.columns).index(name)
            self.setColumnWidth(place, max(NARROWEST, min(WIDEST, self.columnWidth(place) + by)))
        elif not ctrl and (asked := {Qt.Key.Key_S: self.sort_asked, Qt.Key.Key_G: self.group_asked}.get(Qt.Key(key))):
            asked.emit(name)
        elif not ctrl and key == Qt.Key.Key_H:
            self.hide_asked.emit(name)
        elif key == Qt.Key.Key_Slash:
            self.find_asked.emit()
        elif not ctrl and key == Qt.Key.Key_C:
            self.columns_asked.emit()
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        group: RowGroup | None = index.data(GROUP) if index.isValid() else None
        is_left = event.button() == Qt.MouseButton.LeftButton
        if group is not None and is_left and index.column() == 0 and self._is_on_chevron(index, event):
            self._table.collapse(index.row(), collapsed=not self._table.is_collapsed(group))
            return
        super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self.indexAt(event.position().toPoint())
        group: RowGroup | None = index.data(GROUP) if index.isValid() else None
        if group is not None:
            self._table.collapse(index.row(), collapsed=not self._table.is_collapsed(group))
        elif (record := index.data(RECORD)) is not None:
            self.open_asked.emit(record.run_id)

    def _is_on_chevron(self, index: QModelIndex, event: QMouseEvent) -> bool:
        return event.position().x() - self.visualRect(index).left() < CHEVRON

    def _width_of(self, place: int, name: str) -> int:
        """No narrower than its head, with the mark of the order; the first one holds the headings of groups too."""
        if place == 0 and self._table.arrangement.group:
            return HEADINGS_WIDTH
        title = str(self._table.headerData(place, Qt.Orientation.Horizontal) or "")
        needed = self.horizontalHeader().fontMetrics().horizontalAdvance(title) + BESIDE_TITLE
        return min(max(self._usual_width(name), needed), WIDEST)

    def _usual_width(self, name: str) -> int:
        if name in WIDTHS:
            return WIDTHS[name]
        if self._table.arrangement.group and kind_of(name) not in ("text", "words"):
            return COUNTS_WIDTH if kind_of(name) == "count" else GROUPED_WIDTH
        return TEXT_WIDTH if kind_of(name) in ("text", "words", "setting") else NUMBER_WIDTH

    def _resized(self, section: int, _: int, width: int) -> None:
        columns = self._table.columns
        if not self._is_rearranging and 0 <= section < len(columns):
            self.widths[columns[section]] = width

    def _moved(self, _: int, before: int, after: int) -> None:
        """The header has moved a column: the model has it there too, and the header none that is moved."""
        header = self.horizontalHeader()
        if header.visualIndex(0) < 0 or before == after:
            return
        name = self._table.columns[before]
        header.blockSignals(True)
        header.moveSection(after, before)
        header.blockSignals(False)
        self.move_asked.emit(name, after - before)

    def _ask_menu(self, at: QPoint) -> None:
        self.menu_asked.emit(self.viewport().mapToGlobal(at))

    def _sort(self, section: int) -> None:
        self.sort_asked.emit(self._table.columns[section])

    def _header_menu(self, at: QPoint) -> None:
        section = self.horizontalHeader().logicalIndexAt(at)
        if not 0 <= section < len(self._table.columns):
            return
        name = self._table.columns[section]
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, signal in (
            ("Sort by this column\tS", self.sort_asked),
            ("Group by this column\tG", self.group_asked),
            ("Hide this column\tH", self.hide_asked),
        ):
            action = QAction(text, menu)
            action.triggered.connect(lambda _=False, signal=signal: signal.emit(name))
            menu.addAction(action)
        menu.addSeparator()
        choose = QAction("Choose columns…\tC", menu)
        choose.triggered.connect(lambda _=False: self.columns_asked.emit())
        menu.addAction(choose)
        menu.popup(self.horizontalHeader().viewport().mapToGlobal(at))

    def _before(self) -> None:
        self._is_rearranging = True
        index = self.currentIndex()
        record: RunRecord | None = index.data(RECORD) if index.isValid() else None
        self._current = (record.run_id if record else "", max(0, index.column()))
        self._line = index.row()
        self._scrolled = self.verticalScrollBar().value(), self.horizontalScrollBar().value()

    def _after(self) -> None:
        """What is selected stays so, whether it is shown now or not; the cursor stays on its run."""
        self.show_arrangement()
        self._show_selection()
        self.verticalScrollBar().setValue(self._scrolled[0])
        self.horizontalScrollBar().setValue(self._scrolled[1])
        self._is_rearranging = False

    def _show_selection(self) -> None:
        was, self._is_rearranging = self._is_rearranging, True
        model, flags = self.selectionModel(), QItemSelectionModel.SelectionFlag
        selection = QItemSelection()
        last = self._table.columnCount() - 1
        for first, end in stretches(self._table.lines_of(self._chosen)):
            selection.select(self._table.index(first, 0), self._table.index(end, last))
        model.select(selection, flags.ClearAndSelect)
        run_id = self._current[0] or (self._chosen[0] if self._chosen else "")
        line = self._table.line_of(run_id) if run_id else None
        if line is None and self._table.rowCount():
            line = max(0, min(self._line if hasattr(self, "_line") else 0, self._table.rowCount() - 1))
        if line is not None:
            model.setCurrentIndex(self._table.index(line, min(self._current[1], max(0, last))), flags.NoUpdate)
        self._is_rearranging = was

    def _settle_later(self) -> None:
        if not self._is_rearranging:
            self._settle.start()

    def _selected(self) -> None:
        current = self.currentIndex().row()
        chosen = self.selectionModel().selection()
        # By ranges: `selectedIndexes` would make one of every cell.
        parts = [chosen.at(place) for place in range(chosen.count())]
        lines = sorted({line for part in parts for line in range(part.top(), part.bottom() + 1)})
        if current in lines:
            lines.remove(current)
            lines.insert(0, current)
        self._chosen = self._table.ids_at(lines)
        self.chosen_changed.emit()


class RunTableDelegate(QStyledItemDelegate):
    """Paints a cell of a run, or of the heading of a group."""

    def __init__(self, table: RunTableModel, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._table, self._studio, self._theme = table, studio, theme
        self._plain, self._strong = text_font(), text_font()
        self._plain.setPixelSize(12)
        self._strong.setPixelSize(12)
        self._strong.setWeight(QFont.Weight.DemiBold)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:  # noqa: ARG002
        """As wide as what it says: a double click on the border of a column's head asks for it."""
        name, font = str(index.data(COLUMN)), self._strong if index.column() == 0 else self._plain
        beside = 14 if name == "state" else 16 if name == "label" else 0
        width = QFontMetrics(font).horizontalAdvance(str(index.data() or "")) + beside + BESIDE_TEXT
        return QSize(min(max(width, NARROWEST), WIDEST), HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        place: QRect = getattr(option, "rect")  # noqa: B009 (the stubs do not know the fields of style options)
        state: QStyle.StateFlag = getattr(option, "state")  # noqa: B009
        group: RowGroup | None = index.data(GROUP)
        if state & QStyle.StateFlag.State_Selected:
            painter.fillRect(place, self._theme.colour("selected"))
        elif group is not None:
            painter.fillRect(place, self._theme.colour("raised"))
        painter.fillRect(place.left(), place.bottom(), place.width(), 1, self._theme.colour("raised"))
        inside = place.adjusted(10, 0, -10, 0)
        if group is not None:
            self._heading(painter, inside, index, group)
        else:
            self._run(painter, place, inside, index)
        if state & QStyle.StateFlag.State_HasFocus:
            painter.setPen(self._theme.colour("accent"))
            painter.drawRect(place.adjusted(0, 0, -1, -2))

    def _heading(self, painter: QPainter, inside: QRect, index: Index, group: RowGroup) -> None:
        text = str(index.data() or "")
        if index.column() == 0:
            icon = "chevron-right" if self._table.is_collapsed(group) else "chevron-down"
            painter.drawPixmap(inside.left() - 4, inside.top() + (HEIGHT - 16) // 2, pixmap(self._theme, icon, "muted"))
            inside = inside.adjusted(18, 0, 0, 0)
        self._text(painter, inside, text, "text", index, strong=index.column() == 0)

    def _run(self, painter: QPainter, place: QRect, inside: QRect, index: Index) -> None:
        name, record = str(index.data(COLUMN)), index.data(RECORD)
        if not isinstance(record, RunRecord):
            return  # Gone while the view leaves.
        if index.column() == 0:
            if record.run_id in self._studio.selected:
                colour = self._theme.curve(self._studio.colour_of(record.run_id))
                painter.fillRect(place.left(), place.top() + 4, 3, place.height() - 9, colour)
            if self._table.arrangement.group:
                inside = inside.adjusted(18, 0, 0, 0)
        if name == "state":
            painter.save()
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._theme.state(record.state))
            painter.drawEllipse(QRectF(inside.left(), inside.center().y() - 3, 7, 7))
            painter.restore()
            inside = inside.adjusted(14, 0, 0, 0)
        if name == "label" and is_pinned(record):
            painter.drawPixmap(
                inside.left() - 2, inside.top() + (HEIGHT - 13) // 2, pixmap(self._theme, "pin", "muted", 13)
            )
            inside = inside.adjusted(16, 0, 0, 0)
        token = "text" if name in ("label", "return") else "muted"
        self._text(painter, inside, str(index.data() or ""), token, index, strong=name == "label")

    def _text(
        self, painter: QPainter, inside: QRect, text: str, token: str, index: Index, *, strong: bool = False
    ) -> None:
        if not text:
            return
        painter.setFont(self._strong if strong else self._plain)
        painter.setPen(self._theme.colour(token))
        side: Qt.AlignmentFlag = index.data(Qt.ItemDataRole.TextAlignmentRole) or Qt.AlignmentFlag.AlignVCenter
        # In the middle, because what tells two runs apart is often the seed at the end.
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, inside.width())
        painter.drawText(inside, int(side), shown)
