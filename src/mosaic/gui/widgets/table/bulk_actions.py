"""What can be done with the selected runs of the table, and the questions before it, in words that say what happens."""

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QMenu, QWidget

from mosaic.gui.models.runs.run_actions import ACTIONS, Action, RunActions
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.dialogs import ask_and_do, ask_text
from mosaic.gui.widgets.labels_and_buttons import label, row
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.spec.run_record import RunRecord

SHOWN = ("Pause", "Continue", "End run…", "Resume from the newest checkpoint", "Delete…")
"""Of the actions on runs, those that are done to many."""


SOON_MS = 300


class BulkActions(QWidget):
    """A line of buttons below the table; the same as a menu at the pointer."""

    compare_asked = Signal(object)
    """Ids of the runs."""
    export_asked = Signal()
    share_asked = Signal()
    track_asked = Signal()

    def __init__(self, studio: Studio, theme: Theme, chosen: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._studio, self._chosen = studio, chosen
        self._does = RunActions(studio, chosen)
        self._said = label("", "muted")
        self._own: tuple[tuple[str, str, Callable[[], None]], ...] = (
            ("Compare", "columns-2", self.compare),
            ("Rename…", "pencil", self.rename),
            ("Tags…", "tag", self.tag),
            ("Pin", "pin", self.pin),
            ("Export…", "download", self.export_asked.emit),
            ("Share as a page…", "external-link", self.share_asked.emit),
            ("Export to a tracker…", "cloud-upload", self.track_asked.emit),
        )
        self._buttons = {text: IconTool(theme, icon, text, does) for text, icon, does in self._own}
        self._actions = {action.title: action for action in ACTIONS if action.title in SHOWN}
        self._verbs = {
            title: IconTool(theme, action.icon, title, partial(self.ask_and_do, action))
            for title, action in self._actions.items()
        }
        self.setLayout(row(self._said, 1, *self._buttons.values(), *self._verbs.values(), margins=(12, 2, 8, 2)))
        # A live run changes many times a second.
        self._soon = QTimer(self, singleShot=True)
        self._soon.timeout.connect(self.refresh)
        self._does.changed.connect(self.refresh_soon)
        self.refresh()

    def refresh(self) -> None:
        states = self._does.states()
        count = states.total()
        self._said.setText(f"{count:,} selected" if count else "no run selected")
        for text, button in self._buttons.items():
            button.setEnabled(count > 1 if text == "Compare" else count > 0)
        for title, action in self._actions.items():
            fitting = sum(states[state] for state in action.verb.states)
            self._verbs[title].setEnabled(fitting > 0)
            what = title.removesuffix("…")
            self._verbs[title].rename(f"{what}: {fitting:,} of {count:,} runs" if count > 1 else what)

    def refresh_soon(self) -> None:
        """What is selected, or what fits it, may be something else now."""
        if not self._soon.isActive() and self.isVisible():
            self._soon.start(SOON_MS)

    def runs(self) -> list[RunRecord]:
        return self._studio.runs.of(self._chosen())

    def open_menu(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for text, _, does in self._own:
            action = menu.addAction(self._buttons[text].icon(), text)
            action.setEnabled(self._buttons[text].isEnabled())
            action.triggered.connect(partial(_call, does))
        menu.addSeparator()
        for title, action in self._actions.items():
            shown = menu.addAction(self._verbs[title].icon(), title)
            shown.setEnabled(self._verbs[title].isEnabled())
            shown.triggered.connect(lambda _=False, action=action: self.ask_and_do(action))
        menu.popup(at)

    def ask_and_do(self, action: Action) -> None:
        """Its question names how many runs it is about, and its button what it does to them."""
        ask_and_do(self.window(), self._does, action, selected=len(self.runs()))

    def delete(self) -> None:
        self.ask_and_do(self._actions["Delete…"])

    def compare(self) -> None:
        self.compare_asked.emit([run.run_id for run in self.runs()])

    def rename(self) -> None:
        runs = self.runs()
        if not runs:
            return
        about = (
            "Name of the run" if len(runs) == 1 else f"Name of these {len(runs):,} runs; each has its seed behind it"
        )
        ask_text(self.window(), "Rename", about, runs[0].label, partial(self._rename, runs))

    def tag(self) -> None:
        self.tag_those(self.runs())

    def tag_those(self, runs: Sequence[RunRecord]) -> None:
        """Ask for the tags of some runs; of many, those that they have in common."""
        if not runs:
            return
        common = sorted(tag for tag in runs[0].tags if all(tag in run.tags for run in runs))
        who = f"“{name_of(runs[0])}”" if len(runs) == 1 else f"these {len(runs):,} runs"
        about = f"Tags of {who}: words with spaces between them. Delete a word to remove that tag."
        ask_text(
            self.window(), "Tags", about, " ".join(common), partial(self._tag, runs, common), ("Set tags", "Keep tags")
        )

    def pin(self) -> None:
        """To the top, or back to their places where all of them are there."""
        self._does.pin(self.runs())

    def _rename(self, runs: Sequence[RunRecord], text: str) -> None:
        if len(runs) == 1:
            self._does.rename(runs[0], text)
        else:
            self._does.rename_all(runs, text)

    def _tag(self, runs: Sequence[RunRecord], common: Sequence[str], text: str) -> None:
        wanted = text.replace(",", " ").split()
        add = [tag for tag in wanted if tag not in common]
        remove = [tag for tag in common if tag not in wanted]
        if add or remove:
            self._does.tag(runs, add=add, remove=remove)


def _call(does: Callable[[], None], _: bool = False) -> None:
    does()
