"""Runs side by side as a list of lines in sections; what is not as by default stands out."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QFont, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QApplication, QTreeWidget, QTreeWidgetItem

from mosaic.gui.assets import text_font
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.plain_text import plain_line
from mosaic.run_table.run_differences import SECTIONS, Differences, Line, Section

WIDEST, LEAST_NAME = 260, 120
BETWEEN = 14
"""Pixels between two columns, where there is room."""


class DifferencesView(QTreeWidget):
    """A column for each run, and the default where one is known. Ctrl+C copies the selected lines."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._found: Differences | None = None
        self._lines: Sequence[Line] = ()
        self._colours: Sequence[int | None] = ()
        # Qt calls a column that has no name yet 1.
        self.setHeaderLabels([""])
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setIndentation(0)
        self.setSelectionMode(QTreeWidget.SelectionMode.ExtendedSelection)
        self.setAccessibleName("Differences")
        self.header().setStretchLastSection(False)
        theme.changed.connect(self._paint_again)

    def show_lines(self, found: Differences, lines: Sequence[Line], colours: Sequence[int | None] = ()) -> None:
        """`colours` are the runs' own, where they are drawn."""
        self._found, self._lines, self._colours = found, lines, colours
        self.clear()
        heads = (
            ["", *map(plain_line, found.names), "Default"] if len(found.names) > 1 else ["Setting", "Value", "Default"]
        )
        self.setHeaderLabels(heads)
        for place in range(len(found.names)):
            colour = colours[place] if place < len(colours) else None
            if colour is not None:
                self.headerItem().setForeground(place + 1, QBrush(self._theme.curve(colour)))
            self.headerItem().setToolTip(place + 1, tip(f"{found.names[place]}\n{found.run_ids[place]}"))
        for section in SECTIONS:
            of_section = [line for line in lines if line.section == section]
            if of_section:
                self._add_section(section, of_section)
        self._fit_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """As wide as what they hold; where that alone brings all into sight, names give way: tool tips have them."""
        widths = [
            min(WIDEST, max(self.sizeHintForColumn(at), self.header().sectionSizeHint(at))) for at in self._columns
        ]
        room = self.viewport().width()
        if sum(widths) + BETWEEN * len(widths) <= room or sum(widths[1:]) + LEAST_NAME > room:
            widths = [width + BETWEEN for width in widths]
        else:
            widths[0] = min(widths[0], room - sum(widths[1:]))
        for at, width in enumerate(widths):
            self.setColumnWidth(at, width)

    @property
    def _columns(self) -> range:
        return range(self.columnCount())

    def as_text(self) -> str:
        """With tabs between the cells, for a table elsewhere."""
        rows = [[self.headerItem().text(column) for column in range(self.columnCount())]]
        chosen = self.selectedItems()
        for place in range(self.topLevelItemCount()):
            item = self.topLevelItem(place)
            if item is not None and (not chosen or item in chosen):
                rows.append([item.text(column) for column in range(self.columnCount())])
        return "\n".join("\t".join(row) for row in rows)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            QApplication.clipboard().setText(self.as_text())
        else:
            super().keyPressEvent(event)

    def _add_section(self, section: Section, lines: Sequence[Line]) -> None:
        heading = QTreeWidgetItem([section.upper()])
        small = text_font()
        small.setPixelSize(11)
        small.setWeight(QFont.Weight.DemiBold)
        heading.setFont(0, small)
        heading.setForeground(0, QBrush(self._theme.colour("muted")))
        heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
        self.addTopLevelItem(heading)
        strong = text_font()
        strong.setWeight(QFont.Weight.DemiBold)
        for line in lines:
            cells = [plain_line(cell) or "–" for cell in line.cells]
            default = plain_line(line.default)
            item = QTreeWidgetItem([plain_line(line.name), *cells, default])
            item.setForeground(0, QBrush(self._theme.colour("muted")))
            item.setToolTip(0, tip(line.name))
            item.setForeground(len(cells) + 1, QBrush(self._theme.colour("faint")))
            for place, changed in enumerate(line.changed):
                item.setToolTip(place + 1, tip(cells[place] + ("\nnot as by default" if changed else "")))
                if changed:
                    item.setFont(place + 1, strong)
                    item.setForeground(place + 1, QBrush(self._theme.colour("accent")))
                elif len(cells) > 1 and not line.differs:
                    item.setForeground(place + 1, QBrush(self._theme.colour("faint")))
            self.addTopLevelItem(item)

    def _paint_again(self) -> None:
        if self._found is not None:
            self.show_lines(self._found, self._lines, self._colours)
