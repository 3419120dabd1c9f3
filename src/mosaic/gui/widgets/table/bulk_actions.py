"""What can be done with the selected runs of the table, and the questions before it, in words that say what happens."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from mosaic.gui.models.cli_process import CliProcess
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.runs.run_actions import ACTIONS, Action, RunActions
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.dialogs import ask_text, confirm
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

    def __init__(self, studio: Studio, theme: Theme, chosen: Callable[[], Sequence[str]]) -> None:
        super().__init__()
        self._studio, self._chosen = studio, chosen
        self._does = RunActions(studio, chosen)
        self._export = CliProcess(studio.link, self)
        self._left: list[tuple[str, str]] = []
        """Runs that are still to be exported, and to where."""
        self._exported = 0
        self._export.done.connect(self._export_next)
        self._export.failed.connect(self._export_failed)
        self._said = label("", "muted")
        self._own: tuple[tuple[str, str, Callable[[], None]], ...] = (
            ("Compare", "columns-2", self.compare),
            ("Rename…", "pencil", self.rename),
            ("Tags…", "tag", self.tag),
            ("Export…", "download", self.export),
        )
        self._buttons = {text: IconTool(theme, icon, text, does) for text, icon, does in self._own}
        self._actions = {action.title: action for action in ACTIONS if action.title in SHOWN}
        self._verbs = {
            title: IconTool(theme, action.icon, title, partial(self.ask_and_do, action))
            for title, action in self._actions.items()
        }
        self.setLayout(row(self._said, 1, *self._buttons.values(), *self._verbs.values(), margins=(12, 2, 8, 2)))
        # A live run changes many times a second.
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
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
        found = (self._studio.runs.get(run_id) for run_id in self._chosen())
        return [run for run in found if run is not None]

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
        runs = self._does.fitting(action)
        if not runs:
            return
        if action.question is None:
            self._does.do(action, runs)
            return
        left = len(self.runs()) - len(runs)
        rest = f"\n\n{left:,} of the selected runs stay as they are: their state does not allow it." if left else ""
        title = action.title.removesuffix("…")
        question = action.question(runs) + rest
        confirm(self.window(), title, question, action.answers_for(runs), lambda: self._does.do(action, runs))

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
        runs = self.runs()
        if not runs:
            return
        common = sorted(tag for tag in runs[0].tags if all(tag in run.tags for run in runs))
        who = f"“{name_of(runs[0])}”" if len(runs) == 1 else f"these {len(runs):,} runs"
        about = f"Tags of {who}: words with spaces between them. One that you take out here is taken off."
        ask_text(self.window(), "Tags", about, " ".join(common), partial(self._tag, runs, common))

    def export(self) -> None:
        if self._studio.link.is_remote or self.runs():
            folder = QFileDialog.getExistingDirectory(self.window(), "Export runs as zip files into this folder")
            if folder:
                self.export_into(Path(folder))

    def export_into(self, folder: Path) -> None:
        """One zip file a run, named by its id: another home imports it."""
        self._left += [(run.run_id, str(folder / f"{run.run_id}.zip")) for run in self.runs()]
        self._exported = 0
        self._start_export()

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

    def _start_export(self) -> None:
        if self._left and not self._export.runs:
            self._export.start("export", *self._left[0], "--json")

    def _export_next(self, _: object) -> None:
        _, path = self._left.pop(0)
        self._exported += 1
        if self._left:
            self._start_export()
        else:
            where = path if self._exported == 1 else f"{self._exported:,} zip files in {Path(path).parent}"
            self._studio.noticed.emit(Notice(f"exported: {where}", kind="info"))

    def _export_failed(self, why: str) -> None:
        run_id, _ = self._left.pop(0)
        self._studio.noticed.emit(Notice(why, run_id))
        self._start_export()


def _call(does: Callable[[], None], _: bool = False) -> None:
    does()
