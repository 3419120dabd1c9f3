"""Sweep…: choose what of the form's settings is searched, say the budget, start."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QDialog, QGridLayout, QLineEdit, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.sweeps.sweep_form import Searched, SweepForm
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import (
    PlainLabel,
    SaidLabel,
    column,
    icon_button,
    label,
    restyle,
    row,
    scrolled,
)
from mosaic.gui.widgets.switch import Switch
from mosaic.gui.widgets.value_editors import Choice

WIDTH, HEIGHT = 640, 660
MARGIN = 16
CHOICES = {
    "method": ("tpe", "random", "grid"),
    "prune": ("halving", "median", "hyperband", "none"),
    "goal": ("maximize", "minimize"),
}
FIELDS = (
    ("trials", "Trials", "how many settings are tried; the default first"),
    ("steps", "Steps in all", "optional: at most so many environment steps, those of the confirmation among them"),
    ("hours", "Hours", "optional: at most so long"),
    ("parallel", "Runs at a time", "empty: as many as the daemon has slots"),
    ("method", "Proposed by", "tpe learns from the trials before; random; grid takes every combination"),
    ("prune", "Stop bad trials", "at a checkpoint, to be resumed"),
    ("confirm", "Confirm the best", "in a race over fresh seeds, beside the default settings; 0 for none"),
    ("confirm_seeds", "Fresh seeds", "seeds that no trial has used"),
    ("metric", "Judged by", "mean of the last 100 points"),
    ("goal", "Goal", ""),
    ("label", "Label", "optional"),
)


class SweepDialog(QDialog):
    """A window of its own that nothing waits for; it closes once the sweep has begun."""

    started = Signal(str)

    def __init__(self, form: SweepForm, theme: Theme, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("Sweep")
        self.resize(WIDTH, HEIGHT)
        self.form, self._theme = form, theme
        self.about = label("", "muted")
        self.lines: list[tuple[Switch, QLineEdit]] = []
        self._grid = QGridLayout()
        self._grid.setColumnStretch(2, 1)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(5)
        self._inside = QWidget()
        column(self._inside, self._grid, 1, margins=(8, 8, 8, 8))
        self.further = QLineEdit()
        self.further.setPlaceholderText("a further one: num_envs=4,8,16")
        self.further.setAccessibleName("A further setting to search")
        self.add = icon_button(theme, "plus", "Add", self._add)
        self.editors: dict[str, QLineEdit | QComboBox] = {}
        self.said = SaidLabel()
        self.say = self.said.say
        self.start = icon_button(theme, "play", "Start the sweep", self._start, primary=True)
        self.start.setDefault(True)
        cancel = icon_button(theme, "x", "Cancel", self.close)
        cancel.setAutoDefault(False)
        self.add.setAutoDefault(False)
        column(
            self,
            row(label("SEARCHED SETTINGS", "section"), 1, self.about),
            (scrolled(self._inside), 1),
            row(self.further, self.add),
            label("BUDGET", "section"),
            self._budget(),
            self.said,
            row(1, cancel, self.start),
            margins=(MARGIN, MARGIN, MARGIN, MARGIN),
            spacing=9,
        )
        self.further.returnPressed.connect(self._add)
        form.said.connect(self.say)
        form.busy_changed.connect(self._show_busy)
        form.submitted.connect(self._submitted)

    def open_now(self) -> None:
        """With what the train form says now."""
        problem = self.form.begin()
        self.about.setText(self.form.title)
        self.say(problem, "bad")
        self.start.setEnabled(not problem)
        self._show_lines()
        self.show()
        self.raise_()
        self.activateWindow()
        (self.lines[0][0] if self.lines else self.further).setFocus()

    def _budget(self) -> QGridLayout:
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        half = -(-len(FIELDS) // 2)
        for place, (name, title, about) in enumerate(FIELDS):
            made = label(title, "muted")
            editor = self._editor(name)
            editor.setAccessibleName(title)
            editor.setToolTip(tip(about))
            made.setBuddy(editor)
            self.editors[name] = editor
            at = 2 * (place // half)
            grid.addWidget(made, place % half, at)
            grid.addWidget(editor, place % half, at + 1)
        grid.setColumnStretch(1, 1)
        grid.setColumnStretch(3, 1)
        return grid

    def _editor(self, name: str) -> QLineEdit | QComboBox:
        value = str(getattr(self.form.budget, name))
        put = partial(setattr, self.form.budget, name)
        if name in CHOICES:
            box = Choice(self._theme)
            box.addItems(list(CHOICES[name]))
            box.setCurrentText(value)
            box.currentTextChanged.connect(put)
            return box
        line = QLineEdit(value)
        line.textChanged.connect(put)
        return line

    def _show_lines(self) -> None:
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.lines = [self._line(place, one) for place, one in enumerate(self.form.searched)]

    def _line(self, place: int, searched: Searched) -> tuple[Switch, QLineEdit]:
        check = Switch(self._theme)
        check.setText(searched.name)
        check.setAccessibleName(f"Search {searched.name}")
        check.setChecked(searched.is_on)
        line = QLineEdit(searched.text)
        line.setAccessibleName(f"Values of {searched.name}")
        line.setEnabled(searched.is_on)

        def switch(is_on: bool) -> None:
            searched.is_on = is_on
            line.setEnabled(is_on)

        check.toggled.connect(switch)
        line.textChanged.connect(self._typed(searched, line))
        name = PlainLabel(searched.name)
        name.setBuddy(line)
        self._grid.addWidget(check, place, 0)
        self._grid.addWidget(name, place, 1)
        self._grid.addWidget(line, place, 2)
        return check, line

    def _typed(self, searched: Searched, line: QLineEdit) -> Callable[[str], None]:
        def typed(text: str) -> None:
            searched.text = text.strip()
            problem = self.form.problem_of(searched)
            restyle(line, "broken", bool(problem))
            line.setToolTip(tip(problem))

        return typed

    def _add(self) -> None:
        problem = self.form.add(self.further.text().strip())
        self.say(problem, "bad")
        if not problem:
            self.further.clear()
            self._show_lines()

    def _start(self) -> None:
        if not self.further.hasFocus() or not self.further.text():
            self.form.start()

    def _show_busy(self) -> None:
        self.start.setEnabled(not self.form.is_starting)
        self.start.setText(" Starting…" if self.form.is_starting else " Start the sweep")

    def _submitted(self, sweep_id: str) -> None:
        self.close()
        self.started.emit(sweep_id)
