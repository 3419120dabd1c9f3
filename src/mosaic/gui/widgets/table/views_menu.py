"""The menu of saved views: show one, keep what is shown under a name, rename and delete."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QLineEdit, QMenu, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.shown_text import tip
from mosaic.gui.widgets.dialogs import ask_text, confirm
from mosaic.gui.widgets.labels_and_buttons import chip_button, column, label, push, row
from mosaic.plain_text import plain_line
from mosaic.run_table.saved_views import LONGEST_NAME, SavedView, SavedViews
from mosaic.spec.run_dir import Home

WIDTH, HEIGHT, FIELD_HEIGHT = 440, 190, 34


class ViewsMenu(QMenu):
    """Read anew whenever it opens: a command may have saved one meanwhile."""

    show_asked = Signal(object)
    """A SavedView."""
    said = Signal(object)
    """A Notice of what happened."""

    def __init__(self, parent: QWidget, home: Home, now: Callable[[str, bool], SavedView]) -> None:
        """`now` makes a view of what is shown: its name, and whether the selection is kept."""
        super().__init__("Saved &views", parent)
        self._views, self._now = SavedViews(home), now
        self.selected: Callable[[], int] = lambda: 0
        """How many runs are selected."""
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self.fill)

    def listed(self) -> Sequence[SavedView]:
        """What cannot be read is said, and stops nothing."""
        try:
            views, problems = self._views.listed()
        except MosaicError as error:
            views, problems = [], [str(error)]
        for problem in problems:
            self.said.emit(Notice(problem))
        return views

    def fill(self) -> None:
        self.clear()
        views = self.listed()
        for view in views:
            shown = self.addAction(_titled(view), lambda view=view: self.show_asked.emit(view))
            shown.setToolTip(tip(_about(view)))
        if not views:
            self.addAction("No saved views yet").setEnabled(False)
        self.addSeparator()
        self.addAction("Save this view…", self.ask_name)
        for title, does in (("Rename", self._ask_new_name), ("Delete", self._ask_delete)):
            if views:
                more = self.addMenu(title)
                for view in views:
                    more.addAction(_titled(view), lambda view=view, does=does: does(view))

    def ask_name(self) -> "SaveViewDialog":
        dialog = SaveViewDialog(self.window(), self.selected(), [view.name for view in self.listed()])
        dialog.accepted_name.connect(self.save)
        dialog.open()
        return dialog

    def save(self, name: str, keeps_runs: bool) -> None:
        self._attempt(lambda: self._views.save(self._now(name, keeps_runs)), f"saved as view “{name.strip()}”")

    def window(self) -> QWidget:
        """That of the dialogs: a menu is a window of its own."""
        parent = self.parentWidget()
        return parent.window() if parent is not None else super().window()

    def _ask_new_name(self, view: SavedView) -> None:
        def rename(name: str) -> None:
            if name.strip() != view.name:
                self._attempt(
                    lambda: self._views.rename(view.name, name), f"view “{view.name}” is now “{name.strip()}”"
                )

        ask_text(self.window(), "Rename view", "Name of the view", view.name, rename)

    def _ask_delete(self, view: SavedView) -> None:
        question = f"Delete the view “{view.name}”?\n\nIts runs stay."
        answers = ("Delete view", "Keep view")
        said = f"view “{view.name}” is gone"
        confirm(
            self.window(),
            "Delete view",
            question,
            answers,
            lambda: self._attempt(lambda: self._views.delete(view.name), said),
        )

    def _attempt(self, does: Callable[[], object], said: str) -> None:
        try:
            does()
        except MosaicError as error:
            self.said.emit(Notice(" ".join(str(error).split())))
        else:
            self.said.emit(Notice(said, kind="info"))


class SaveViewDialog(QDialog):
    """A name, and whether the selected runs belong to the view."""

    accepted_name = Signal(str, bool)

    def __init__(self, parent: QWidget, selected: int, taken: Sequence[str]) -> None:
        super().__init__(parent)
        self.setWindowTitle("Save this view")
        self.resize(WIDTH, HEIGHT)
        self._taken = set(taken)
        self.name = QLineEdit()
        self.name.setAccessibleName("Name of the view")
        self.name.setMaxLength(LONGEST_NAME)
        self.name.setMinimumHeight(FIELD_HEIGHT)
        self.name.setPlaceholderText("Name of the view")
        which = "the selected run" if selected == 1 else f"the {selected:,} selected runs"
        # One run is selected at any time: that alone says nothing.
        self.keeps_runs = chip_button(f"With {which}", checked=selected > 1, toggled=lambda _: self._explain())
        self.keeps_runs.setVisible(selected > 0)
        self.hint = label("", "faint", wraps=True)
        self._explain()
        self.save = push("Save view", self._accept, default=True)
        self.save.setEnabled(False)
        self.name.textChanged.connect(self._typed)
        below = row(1, push("Do not save", self.close), self.save)
        column(self, self.name, row(self.keeps_runs, 1), self.hint, below, margins=(16, 16, 16, 14), spacing=12)

    def _explain(self) -> None:
        runs = "; its runs are those that are selected now" if self.keeps_runs.isChecked() else ""
        self.hint.setText(f"Columns, filter, order and groups of the table, how charts are shown{runs}.")

    def _typed(self, text: str) -> None:
        self.save.setEnabled(bool(text.strip()))
        self.save.setText("Replace view" if text.strip() in self._taken else "Save view")

    def _accept(self) -> None:
        self.accepted_name.emit(self.name.text(), self.keeps_runs.isChecked() and not self.keeps_runs.isHidden())
        self.close()


def _titled(view: SavedView) -> str:
    # A menu would take a & for the mark of a key.
    return plain_line(view.name).replace("&", "&&")


def _about(view: SavedView) -> str:
    parts = [f"filter {view.table.filter}"] if view.table.filter else []
    parts += [f"order by {view.table.sort}"] if view.table.sort else []
    parts += [f"groups by {view.table.group}"] if view.table.group else []
    parts += [f"{len(view.runs):,} runs"] if view.runs else []
    return "\n".join(parts) or "all runs, newest first"
