"""The sheet of shortcuts: every key of the menus and the form, and those of lists and pictures, found by typing."""

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QTreeWidgetItem, QWidget

from mosaic.gui.models.word_search import holds_words
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.column_lists import list_of
from mosaic.gui.widgets.labels_and_buttons import column, search_field

WIDTH, HEIGHT, KEYS_WIDTH = 560, 560, 190

Line = tuple[str, str]
"""Keys, and what they do."""
IN_PLACES: Sequence[tuple[str, Sequence[Line]]] = (
    (
        "Anywhere",
        (
            ("Tab, Shift+Tab", "the next field or button, the one before"),
            ("Escape", "close what is open: a list, a window, a tile alone, the whole screen"),
        ),
    ),
    (
        "Runs",
        (
            ("Up, Down", "the run above, the run below; with Shift all between"),
            ("Left, Right, Space", "close or open a group"),
        ),
    ),
    (
        "Live view",
        (
            ("Arrows, Return", "mark a tile, drawn at the full rate; show it alone"),
            ("P, N", "freeze the view, or go on; the next picture"),
            ("F11, Escape", "leave the whole screen"),
        ),
    ),
    (
        "Log",
        (("Up, Down, Page Up, Page Down, Home, End", "move through it"), ("Ctrl+C", "copy the selected lines")),
    ),
)
"""Keys of single places, which no menu has."""


class ShortcutSheet(QDialog):
    """Escape closes it."""

    def __init__(self, parent: QWidget, theme: Theme, groups: Iterable[tuple[str, Sequence[Line]]]) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Keyboard shortcuts")
        self.search = search_field(theme, "Find a key or what it does…", self._filter)
        self.tree = list_of(("Keys", "What they do"), "Keyboard shortcuts")
        self.tree.setHeaderHidden(True)
        self.tree.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._items: list[tuple[QTreeWidgetItem, list[QTreeWidgetItem]]] = []
        """Headings with what stands under them."""
        for title, lines in (*groups, *IN_PLACES):
            if not lines:
                continue
            heading = QTreeWidgetItem([title.upper()])
            heading.setFlags(Qt.ItemFlag.ItemIsEnabled)
            heading.setForeground(0, theme.colour("muted"))
            self.tree.addTopLevelItem(heading)
            heading.setFirstColumnSpanned(True)
            items = [QTreeWidgetItem([keys, does]) for keys, does in lines]
            heading.addChildren(items)
            self._items.append((heading, items))
            heading.setExpanded(True)
        self.tree.setColumnWidth(0, KEYS_WIDTH)
        column(self, self.search, (self.tree, 1), margins=(12, 12, 12, 12), spacing=8)
        self.resize(WIDTH, HEIGHT)
        self.search.setFocus()

    def lines(self) -> list[Line]:
        """Those that are shown."""
        return [(item.text(0), item.text(1)) for _, items in self._items for item in items if not item.isHidden()]

    def _filter(self, typed: str) -> None:
        for heading, items in self._items:
            for item in items:
                item.setHidden(not holds_words(f"{item.text(0)} {item.text(1)}", typed))
            heading.setHidden(all(item.isHidden() for item in items))
