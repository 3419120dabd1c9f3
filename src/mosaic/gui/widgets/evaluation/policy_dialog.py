"""Load Trained Policy: choose policies, see what they are, say how they play, start."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QCompleter, QDialog, QGridLayout, QLineEdit, QWidget

from mosaic.gui.models.evaluation.evaluation_actions import EvaluationActions
from mosaic.gui.models.evaluation.evaluation_form import PLACE, TITLES
from mosaic.gui.models.form.run_settings import ENV_ID
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.dialogs import ask_text, choose_file
from mosaic.gui.widgets.evaluation.policy_picker import PolicyPicker
from mosaic.gui.widgets.form.environment_dialog import EnvironmentButton
from mosaic.gui.widgets.form.field_row import FieldRow
from mosaic.gui.widgets.labels_and_buttons import SaidLabel, column, icon_button, label, row
from mosaic.gui.widgets.switch import Switch
from mosaic.gui.widgets.value_editors import LineEditor, make_editor

WIDTH, HEIGHT = 820, 700
FILES = "Policies (*.cleanrl_model *.zip *.pt *.pth);;All files (*)"
MARGIN = 16


class PolicyDialog(QDialog):
    """A window of its own that nothing waits for; it closes once the evaluation is queued."""

    started = Signal()

    def __init__(
        self, evaluation_actions: EvaluationActions, theme: Theme, parent: QWidget, *, is_remote: bool
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Load trained policy")
        self.resize(WIDTH, HEIGHT)
        self.evaluation_actions, self.form = evaluation_actions, evaluation_actions.form
        self._theme, self._is_remote = theme, is_remote
        self._wanted_run = ""
        self.picker = PolicyPicker(evaluation_actions.policies, theme)
        self.browse = icon_button(theme, "folder-open", "Browse…", self._browse)
        self.browse.setToolTip("A policy file, or a folder with one, that is not on the list")
        self.override = Switch(theme)
        self.override.setAccessibleName("Override environment")
        self.settings = EnvironmentButton(self.form.environment, theme)
        self.source = label("", "faint", wraps=True)
        self.rows: dict[str, FieldRow] = {}
        self._place, self._settings = QGridLayout(), QGridLayout()
        self.said = SaidLabel()
        self.say = self.said.say
        self.said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.dry_run = icon_button(theme, "flask-conical", "Dry run", self._dry_run)
        self.dry_run.setToolTip("Let a real worker open the policy in its environment; nothing is played")
        self.start = icon_button(theme, "play", "Evaluate", evaluation_actions.start, primary=True)
        self.start.setDefault(True)
        self._lay_out()
        self.override.toggled.connect(self.form.override)
        self.picker.chosen_changed.connect(self.form.choose)
        self.picker.table.doubleClicked.connect(self._start_this)
        evaluation_actions.policies.modelReset.connect(self._look_for_run)
        evaluation_actions.described.connect(self._show_described)
        evaluation_actions.said.connect(self.say)
        evaluation_actions.busy_changed.connect(self._show_state)
        evaluation_actions.submitted.connect(self._submitted)
        self.form.rebuilt.connect(self._make_rows)
        self.form.chosen_changed.connect(self._show_state)
        self.form.field_changed.connect(self._refresh)
        self._make_rows()
        self.say("", "ok")

    def open_for(self, run_id: str = "") -> None:
        """Show it; the policy of this run is chosen as soon as it is listed."""
        self._wanted_run = run_id
        self._look_for_run()
        self.show()
        self.raise_()
        self.activateWindow()
        self.picker.search.setFocus()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.evaluation_actions.refresh()

    def _lay_out(self) -> None:
        override = label("Override environment", "muted")
        override.setBuddy(self.override)
        for grid in (self._place, self._settings):
            grid.setHorizontalSpacing(28)
            grid.setVerticalSpacing(6)
            for place in range(2):
                grid.setColumnStretch(place, 1)
        column(
            self,
            row(label("POLICY", "section"), 1, self.browse),
            (self.picker, 1),
            row(label("ENVIRONMENT", "section"), self.settings, 1, override, self.override),
            self._place,
            self.source,
            label("EVALUATION", "section"),
            self._settings,
            self.said,
            row(1, self.dry_run, self.start),
            margins=(MARGIN, MARGIN, MARGIN, MARGIN),
            spacing=9,
        )

    def _make_rows(self) -> None:
        for made in self.rows.values():
            made.hide()
            made.deleteLater()
        self.rows.clear()
        for grid, titles in ((self._place, PLACE), (self._settings, TITLES)):
            half = -(-len(titles) // 2)
            for place, path in enumerate(path for path in titles if path in self.form.fields):
                field = self.form.fields[path]
                typed = partial(self.form.type, path)
                editor = make_editor(field.setting, self._theme, typed)
                made = FieldRow(field, self._theme, editor, partial(self._reset, path))
                self.rows[path] = made
                grid.addWidget(made, place % half, place // half)
        if isinstance(env := self.rows.get(ENV_ID), FieldRow) and isinstance(env.editor, LineEditor):
            self._complete(env.editor)
        self._show_state()

    def _complete(self, editor: QLineEdit) -> None:
        names = [env_id for family in self.evaluation_actions.catalogue.families for env_id, _ in family.environments]
        completer = QCompleter(sorted(names), editor)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        editor.setCompleter(completer)
        completer.activated.connect(partial(self.form.type, ENV_ID))

    def _reset(self, path: str) -> None:
        setting = self.form.fields[path].setting
        self.form.type(path, setting.show(setting.default))

    def _refresh(self, path: str) -> None:
        if path in self.rows:
            self.rows[path].refresh(self.form.fields[path])

    def _show_state(self) -> None:
        for path in PLACE:
            if path in self.rows:
                self.rows[path].editor.setEnabled(not self.form.is_locked(path))
                self.rows[path].refresh(self.form.fields[path])
                self.rows[path].hide_mark()
                if not self.form.chosen and self.form.is_locked(path):
                    self.rows[path].hide_problem()
        self.source.setText(self.form.source)
        count, evaluation_actions = len(self.form.chosen), self.evaluation_actions
        self.dry_run.setEnabled(bool(count) or evaluation_actions.is_trying)
        self.dry_run.setText(" Cancel" if evaluation_actions.is_trying else " Dry run")
        self.start.setEnabled(bool(count) and bool(self.form.fields) and not evaluation_actions.is_starting)
        self.start.setText(" Starting…" if evaluation_actions.is_starting else " Compare" if count > 1 else " Evaluate")

    def _dry_run(self) -> None:
        """Or end the one that is under way."""
        if self.evaluation_actions.is_trying:
            self.evaluation_actions.cancel_dry_run()
        else:
            self.evaluation_actions.dry_run()

    def _browse(self) -> None:
        """Of a daemon elsewhere the files are not here: their path is typed."""
        if self._is_remote:
            ask_text(
                self,
                "Browse",
                "Path of a policy on the daemon's machine",
                "",
                self.evaluation_actions.browse,
                ("Look there", "Do not look"),
            )
            return
        choose_file(self, "Choose a policy file", self.evaluation_actions.browse, files=FILES, folder=Path.home())

    def _show_described(self, policy: object) -> None:
        self.picker.search.clear()
        self.picker.choose([str(getattr(policy, "path", ""))])

    def _look_for_run(self) -> None:
        if self._wanted_run:
            self.picker.choose_run(self._wanted_run)
            if self.picker.chosen:
                self._wanted_run = ""

    def _start_this(self, _index: QModelIndex) -> None:
        self.evaluation_actions.start()

    def _submitted(self, _ids: object) -> None:
        self.say("", "ok")
        self.started.emit()
        self.close()
