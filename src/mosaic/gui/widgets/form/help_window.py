"""Help beside the form: what the field that is typed into means, and the page of the algorithm."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTextBrowser, QWidget

from mosaic.gui.models.form.schema_fields import Setting
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.form.help_markdown import dress
from mosaic.gui.widgets.labels_and_buttons import Card, column, label

WIDTH, HEIGHT = 660, 720
NOTHING = "Click into a field to read about it here."


class HelpWindow(QWidget):
    """A small window of its own, which stays in front of its parent and can be moved beside the form."""

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Tool)
        self._theme = theme
        self.setProperty("panel", True)
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.resize(WIDTH, HEIGHT)
        self._title, self._doc, self._facts = label("", "heading"), label(NOTHING, "muted"), label("", "faint")
        self._doc.setWordWrap(True)
        self._title.hide()
        self._facts.hide()
        about = Card()
        column(about, self._title, self._doc, self._facts, margins=(14, 10, 14, 10), spacing=4)
        self.page = QTextBrowser()
        self.page.setOpenLinks(False)
        self.page.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.page.setAccessibleName("Help")
        self._text = ""
        column(self, about, (self.page, 1), margins=(12, 12, 12, 12), spacing=10)
        theme.changed.connect(self._render)

    def open_beside(self, form: QWidget) -> None:
        """To the left of the form, as high as it is."""
        corner = form.mapToGlobal(QPoint(0, 0))
        self.resize(WIDTH, max(min(HEIGHT, form.height()), 320))
        self.move(max(corner.x() - WIDTH - 12, 0), corner.y())
        self.show()
        self.raise_()
        # For its keys: the arrows scroll it, Escape closes it.
        self.activateWindow()
        self.page.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close()
        else:
            super().keyPressEvent(event)

    def show_page(self, name: str, markdown: str) -> None:
        if markdown != self._text:
            self.setWindowTitle(f"Help: {name}")
            self._text = markdown
            self._render()

    def show_setting(self, setting: Setting) -> None:
        self._title.setText(setting.title)
        self._doc.setText(setting.doc or "This setting has no help text.")
        default = "" if setting.kind == "secret" else f"default {setting.show(setting.default) or 'none'}"
        self._facts.setText("   ·   ".join(filter(None, [setting.flag, default, setting.bounds])))
        self._title.show()
        self._facts.show()

    def _render(self) -> None:
        self.page.setMarkdown(self._text)
        dress(self.page.document(), self._theme)
