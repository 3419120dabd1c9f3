"""Runs side by side as a list of lines in sections; what is not as by default stands out."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QFont, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QTreeWidget, QTreeWidgetItem

from mosaic.gui.assets import text_font
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.plain_text import plain_line
from mosaic.run_table.run_differences import SECTIONS, Differences, Line, Section

WIDEST = 260


class DifferencesView(QTreeWidget):
    """A column for each run, and the default where one is known. Ctrl+C copies the selected lines."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._found: Differences | None = None
        self._lines: Sequence[Line] = ()
        self._colours: Sequence[int | None] = ()
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
        for column in range(self.columnCount()):
            self.resizeColumnToContents(column)
            self.setColumnWidth(column, min(WIDEST, self.columnWidth(column) + 14))

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
