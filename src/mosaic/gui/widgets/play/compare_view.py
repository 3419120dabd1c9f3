"""A comparison by script: choose the file, start it, and read who scored what on the same seeds."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QLineEdit,
    QTreeWidgetItem,
)

from mosaic.gui.models.play.compare_run import CompareRun
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.column_lists import fit, list_of, to_the_right
from mosaic.gui.widgets.dialogs import choose_file
from mosaic.gui.widgets.labels_and_buttons import (
    Panel,
    column,
    icon_button,
    label,
    pages,
    row,
    verdict_label,
)
from mosaic.gui.widgets.tool_button import IconTool

COLUMNS = ("actor", "episodes", "mean", "IQM [95 %]", "more than the first [95 %]", "better in")
NUMBERS = range(1, len(COLUMNS))
EMPTY = (
    "A script names environments, actors and seeds (TOML or JSON, docs/matches.md). "
    "Every actor plays the same seeds, unattended, and the table compares their scores."
)


class CompareView(Panel):
    def __init__(self, script: CompareRun, theme: Theme) -> None:
        super().__init__()
        self._script = script
        self.file = QLineEdit()
        self.file.setPlaceholderText("script.toml")
        self.file.setAccessibleName("Script")
        self.file.textChanged.connect(self._show)
        self.file.returnPressed.connect(self._start)
        browse = IconTool(theme, "folder-open", "Choose a script", self._browse)
        self.start = icon_button(theme, "play", "Compare", self._start)
        self.stop = IconTool(theme, "square", "Stop: end its runs and show what they have played", script.stop)
        self.progress = label("", "muted")
        self.problem = verdict_label("bad")
        self.problem.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.tree = list_of(COLUMNS, "Comparison")
        self.tree.setItemsExpandable(False)
        self.blank = BlankPage(theme, "flask-conical", EMPTY)
        self._stack = pages(self.blank, self.tree)
        column(
            self,
            row((self.file, 1), browse, self.start, self.stop, self.progress, spacing=4, margins=(12, 6, 12, 6)),
            row(self.problem, margins=(12, 0, 12, 6)),
            (self._stack, 1),
        )
        self._shown: object = None
        script.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        script = self._script
        self.start.setEnabled(bool(self.file.text().strip()) and not script.runs)
        self.stop.setEnabled(script.runs and bool(script.run_ids))
        self.problem.setText(script.problem)
        self.problem.setVisible(bool(script.problem))
        count = len(script.run_ids)
        self.progress.setText(f"{script.ended} of {count} runs" if count else "starting…" if script.runs else "")
        if script.runs:
            self.blank.say("Playing. It goes on without the window; the runs stand in the list.")
        elif not script.lines:
            self.blank.say(EMPTY)
        if script.lines is not self._shown:
            self._shown = script.lines
            self._fill()
        self._stack.setCurrentWidget(self.tree if script.lines else self.blank)

    def _fill(self) -> None:
        self.tree.clear()
        self.tree.headerItem().setText(4, f"more than {self._script.first} [95 %]")
        groups: dict[str, QTreeWidgetItem] = {}
        for line in self._script.lines:
            if line.env_id not in groups:
                groups[line.env_id] = group = QTreeWidgetItem([line.env_id])
                font = group.font(0)
                font.setBold(True)
                group.setFont(0, font)
                self.tree.addTopLevelItem(group)
            item = QTreeWidgetItem(["   " + line.name, *line.texts])
            to_the_right(item, NUMBERS)
            groups[line.env_id].addChild(item)
        self.tree.expandAll()
        to_the_right(self.tree.headerItem(), NUMBERS)
        fit(self.tree)

    def _start(self) -> None:
        if self.start.isEnabled():
            self._script.start(self.file.text().strip())

    def _browse(self) -> None:
        choose_file(self, "Choose a script", self.file.setText, files="Scripts (*.toml *.json);;All files (*)")
