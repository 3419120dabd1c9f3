"""The documentation in a window: its pages on the left, one of them on the right; links between pages are followed."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QKeyEvent
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QTextBrowser, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.form.help_markdown import dress
from mosaic.gui.widgets.labels_and_buttons import column, search_field, split
from mosaic.plain_text import plain_line
from mosaic.spec.catalogue.documentation import FIRST, DocumentationPage, pages

WIDTH, HEIGHT, LIST_WIDTH = 1040, 760, 250
MISSING = "This installation has no documentation: it is in the docs/ folder of the source code."


class DocumentationWindow(QWidget):
    """A window of its own, which stays in front of its parent; Escape closes it."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Window)
        self._theme = theme
        self.setWindowTitle("MOSAIC documentation")
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.resize(WIDTH, HEIGHT)
        self._pages = {page.name: page for page in pages()}
        self._text, self._path = "" if self._pages else MISSING, Path()
        self.search = search_field(theme, "Find in the documentation…", self._narrow)
        self.list = QListWidget()
        self.list.setAccessibleName("Pages")
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        for page in self._pages.values():
            item = QListWidgetItem(plain_line(page.title), self.list)
            item.setData(Qt.ItemDataRole.UserRole, page.name)
            item.setToolTip(tip(page.title))
        self.list.currentItemChanged.connect(self._chosen)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setAccessibleName("Page")
        self.page.anchorClicked.connect(self._follow)
        left = QWidget()
        column(left, self.search, (self.list, 1), spacing=8)
        column(self, (split(left, self.page, sizes=(LIST_WIDTH, WIDTH - LIST_WIDTH)), 1), margins=(12, 12, 12, 12))
        theme.changed.connect(self._render)
        self.list.setCurrentRow(0)
        self._render()

    def open(self) -> None:
        self.show()
        self.raise_()
        self.activateWindow()
        self.search.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        elif self.search.hasFocus() and event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.list.setFocus()
        else:
            super().keyPressEvent(event)

    def _narrow(self, typed: str) -> None:
        """Pages that hold every word."""
        words = typed.casefold().split()
        for place in range(self.list.count()):
            item = self.list.item(place)
            page = self._pages[item.data(Qt.ItemDataRole.UserRole)]
            text = self._read(page.path).casefold() if words else ""
            item.setHidden(not all(word in text for word in words))
        shown = [item for place in range(self.list.count()) if not (item := self.list.item(place)).isHidden()]
        if shown and self.list.currentItem() not in shown:
            self.list.setCurrentItem(shown[0])

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self._show(self._pages[item.data(Qt.ItemDataRole.UserRole)].path)

    def _follow(self, link: QUrl) -> None:
        """To another page here; a page of the web opens in the browser."""
        if link.scheme() in ("http", "https"):
            QDesktopServices.openUrl(link)
        elif not link.path():
            self.page.scrollToAnchor(link.fragment())
        else:
            # Links are relative to the page that they stand on.
            target = (self._path.parent / link.path()).resolve()
            target = target / FIRST if target.is_dir() else target
            places = [place for place in range(self.list.count()) if self._page_at(place).path.resolve() == target]
            if not places:
                self.list.setCurrentRow(-1)
                self._show(target)
            elif self.list.currentRow() == places[0]:
                self._show(target)
            else:
                self.search.clear()
                self.list.setCurrentRow(places[0])

    def _page_at(self, place: int) -> DocumentationPage:
        return self._pages[self.list.item(place).data(Qt.ItemDataRole.UserRole)]

    def _show(self, path: Path) -> None:
        self._path, self._text = path, self._read(path)
        self._render()

    @staticmethod
    def _read(path: Path) -> str:
        if path.suffix != ".md" or not path.is_file():
            return f"`{path.name}` is in the source code of MOSAIC, not in this installation."
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            return f"{path} cannot be read: {error}"

    def _render(self) -> None:
        self.page.setMarkdown(self._text)
        dress(self.page.document(), self._theme)
