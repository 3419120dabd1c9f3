"""The settings of an environment in a window of their own, and the button that opens it: for Play and evaluations."""

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QScrollArea, QWidget

from mosaic.gui.models.form.environment_choice import EnvironmentChoice
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.form.field_row import FieldRow
from mosaic.gui.widgets.labels_and_buttons import column, icon_button, label, push, row
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.gui.widgets.value_editors import make_editor

WIDTH, HEIGHT = 420, 520
MARGIN = 16
NONE = "This environment has no settings."


class EnvironmentDialog(QDialog):
    """A scrolled list: an Atari game has ten of them, a robot twenty."""

    def __init__(self, choice: EnvironmentChoice, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.resize(WIDTH, HEIGHT)
        self._choice, self._theme = choice, theme
        self.rows: dict[str, FieldRow] = {}
        self._area = QScrollArea()
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.reset = icon_button(theme, "rotate-ccw", "Reset all", choice.reset_all)
        self.done_button = push("Done", self.close, default=True)
        column(
            self,
            label("ENVIRONMENT SETTINGS", "section"),
            (self._area, 1),
            row(self.reset, 1, self.done_button),
            margins=(MARGIN, MARGIN, MARGIN, MARGIN),
            spacing=9,
        )
        choice.rebuilt.connect(self._make_rows)
        choice.field_changed.connect(self._refresh)
        self._make_rows()

    def _make_rows(self) -> None:
        self.setWindowTitle(tip(f"Settings of {self._choice.env_id}"))
        page = QWidget()
        self.rows = {}
        for path, field in self._choice.fields.items():
            editor = make_editor(field.setting, self._theme, partial(self._choice.type, path))
            self.rows[path] = FieldRow(field, self._theme, editor, partial(self._choice.reset, path))
        column(page, *(self.rows.values() or (label(NONE, "muted"),)), 1, spacing=8, margins=None)
        self._area.setWidget(page)

    def _refresh(self, path: str) -> None:
        if path in self.rows:
            self.rows[path].refresh(self._choice.fields[path])


class EnvironmentButton(IconTool):
    """Says how many settings were changed."""

    def __init__(self, choice: EnvironmentChoice, theme: Theme) -> None:
        super().__init__(theme, "sliders-horizontal", "Settings of the environment", self.open)
        self._choice = choice
        self.dialog: EnvironmentDialog | None = None
        choice.rebuilt.connect(self._show)
        choice.field_changed.connect(lambda _="": self._show())
        self._show()

    def open(self) -> None:
        if self.dialog is None:
            self.dialog = EnvironmentDialog(self._choice, self._theme, self.window())
        self.dialog.show()
        self.dialog.raise_()
        self.dialog.activateWindow()

    def _show(self) -> None:
        changed = len(self._choice.values)
        self.setEnabled(bool(self._choice.fields))
        self.show_icon("sliders-horizontal", "accent" if changed else "muted")
        self.rename(f"Settings of the environment, {changed} changed" if changed else "Settings of the environment")
