"""Who acts for a seat: a list of actors, those that do not fit with the reason, and what one of them needs to know."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QLineEdit, QWidget

from mosaic.gui.models.play.play_options import Choice
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets import value_editors
from mosaic.gui.widgets.dialogs import choose_file
from mosaic.gui.widgets.labels_and_buttons import column, row
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.spec.actors import split

WIDTH = 100
LIST_WIDTH = 320


class ActorChoice(QWidget):
    """Says the whole word (`scripted:FILE.py`) once it is chosen."""

    chosen = Signal(str)

    def __init__(self, theme: Theme, *, stacked: bool) -> None:
        """`stacked` has the argument below the list, else it stands beside it."""
        super().__init__()
        self.actor = value_editors.Choice(theme)
        self.actor.setMinimumWidth(WIDTH)
        self.actor.setAccessibleName("Actor")
        self.actor.setToolTip("Actor")
        self.argument = QLineEdit()
        self.argument.setMinimumWidth(48)
        self.browse = IconTool(theme, "folder-open", "Choose a file", self._browse)
        self.problem = ""
        """Why this cannot act; empty if it can."""
        self._word = ""
        self._choices: list[Choice] | None = None
        self._asked: tuple[list[Choice], str] = ([], "")
        """What the list was last told, shown already or waiting until it is closed."""
        parts = (self.actor, 3), (row(self.argument, self.browse, spacing=4), 2)
        column(self, *parts, spacing=4) if stacked else row(*parts, of=self, spacing=6)
        self.actor.activated.connect(self._activated)
        # Afterwards: what is chosen is said by its place in the list as it was open.
        self.actor.closed.connect(lambda: QTimer.singleShot(0, self, lambda: self.show_choices(*self._asked)))
        self.argument.editingFinished.connect(self._typed)

    def show_choices(self, choices: Sequence[Choice], word: str) -> None:
        self._asked = list(choices), word
        if self._asked == (self._choices, self._word) or self.actor.is_open:
            # Nothing new, or the list is being read: it stays as it is, and so does what is being typed.
            return
        is_other_word = word != self._word
        self._choices, self._word = list(choices), word
        name, argument = split(word)
        self.actor.blockSignals(True)
        self.actor.clear()
        for at, choice in enumerate(choices):
            self.actor.addItem(f"{choice.label}: {choice.misfit}" if choice.misfit else choice.label, choice.word)
            self.actor.setItemData(at, tip(choice.misfit or choice.description), Qt.ItemDataRole.ToolTipRole)
            model = self.actor.model()
            if choice.misfit and isinstance(model, QStandardItemModel):
                model.item(at).setEnabled(False)
        words = [choice.word for choice in choices]
        wanted = word if word in words else name if name in words else ""
        self.actor.setCurrentIndex(words.index(wanted) if wanted else -1)
        self.actor.view().setMinimumWidth(LIST_WIDTH)
        self.actor.blockSignals(False)
        chosen = next((choice for choice in choices if choice.word == wanted), None)
        self.actor.setToolTip(tip(chosen.misfit or chosen.description if chosen else "Actor"))
        self._show_argument(chosen, argument, is_other=is_other_word)
        self.problem = chosen.misfit if chosen else "choose an actor" if choices else ""
        # In brackets where the actor can do without, as a command line writes it.
        if not self.problem and chosen is not None and _must_say(chosen) and not argument:
            self.problem = f"fill in {chosen.argument}"

    def _show_argument(self, chosen: Choice | None, argument: str, *, is_other: bool) -> None:
        needs = chosen is not None and bool(chosen.argument)
        self.argument.setVisible(needs)
        self.browse.setVisible(chosen is not None and "FILE" in chosen.argument)
        if chosen is not None and needs:
            self.argument.setPlaceholderText(chosen.argument)
            if is_other:
                self.argument.setText(argument)

    def _activated(self, at: int) -> None:
        self.chosen.emit(str(self.actor.itemData(at)))

    def _typed(self) -> None:
        name, argument = split(self._word)[0], self.argument.text().strip()
        word = f"{name}:{argument}" if argument else name
        if word != self._word:
            self.chosen.emit(word)

    def _browse(self) -> None:
        choose_file(self, "Choose a file", self._take_file)

    def _take_file(self, path: str) -> None:
        self.argument.setText(path)
        self._typed()


def _must_say(choice: Choice) -> bool:
    return bool(choice.argument) and not choice.argument.startswith("[")
