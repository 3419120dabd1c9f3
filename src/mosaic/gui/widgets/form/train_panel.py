"""The panel of a new run: the form, presets and files above it, dry run and start below."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings, Qt, Signal
from PySide6.QtWidgets import QWidget

from mosaic.gui.models.form.form_documents import FormDocuments
from mosaic.gui.models.form.train_actions import TrainActions
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.form.form_tools import FormTools
from mosaic.gui.widgets.form.form_view import FormView
from mosaic.gui.widgets.form.help_window import HelpWindow
from mosaic.gui.widgets.labels_and_buttons import Panel, SaidLabel, column, icon_button, icon_label, label, pages, row

if TYPE_CHECKING:
    from mosaic.gui.widgets.sweeps.sweep_dialog import SweepDialog

NARROWEST = 320
MOST_SAID = 400
"""Characters above the buttons; the tool tip has all of them."""
TITLE = (14, 7, 8, 5)
"""Margins of the first line."""


class TrainPanel(Panel):
    """Everything that it does is done by `TrainActions`; this is what a person sees of it."""

    submitted = Signal(object)
    """Ids of new runs, which are selected already."""
    sweep_started = Signal(str)
    """Id of a new sweep."""

    def __init__(self, studio: Studio, theme: Theme, settings: QSettings) -> None:
        super().__init__()
        self.setMinimumWidth(NARROWEST)
        self._studio, self._theme = studio, theme
        self.train_actions = TrainActions(studio)
        self.form = self.train_actions.form
        self.view = FormView(self.form, self.train_actions.catalogue, theme, settings)
        self.alarm, self.said = SaidLabel(), SaidLabel()
        for one in (self.alarm, self.said):
            one.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            one.setContentsMargins(14, 4, 14, 4)
        self._pages = pages(self._waiting_page(), self.view)
        self.dry_run = icon_button(theme, "flask-conical", "Dry run", self._dry_run)
        self.dry_run.setToolTip("Let a real worker try this config; nothing is trained (Ctrl+Shift+Return)")
        self.sweep = icon_button(theme, "layers", "Sweep…", self.open_sweep)
        self.sweep.setToolTip("Search for better settings than those of this form (Ctrl+Shift+S)")
        self.sweep.setShortcut("Ctrl+Shift+S")
        self._sweep_dialog: SweepDialog | None = None
        self.start = icon_button(theme, "play", "Start training", self._start, primary=True)
        self.start.setToolTip("Queue what this form says (Ctrl+Return)")
        self._help: HelpWindow | None = None
        self.tools = FormTools(FormDocuments(self.train_actions), theme, self.show_help)
        self.tools.copied.connect(self._show_copied)
        column(
            self,
            row(icon_label(theme, "sliders-horizontal"), label("New run", "heading"), 1, self.tools, margins=TITLE),
            self.alarm,
            (self._pages, 1),
            self.said,
            _rule(),
            row((self.dry_run, 1), (self.sweep, 1), margins=(14, 10, 14, 0)),
            row(self.start, margins=(14, 8, 14, 12)),
        )
        self.dry_run.setShortcut("Ctrl+Shift+Return")
        self.start.setShortcut("Ctrl+Return")
        self.train_actions.busy_changed.connect(self._show_busy)
        self.train_actions.said.connect(self.say)
        self.train_actions.submitted.connect(self.submitted)
        self.train_actions.catalogue.problem_changed.connect(self._show_waiting)
        self.form.problems_changed.connect(self._show_alarm)
        self.form.edited.connect(self._forget_said)
        self.form.rebuilt.connect(self._show_form)
        self.view.focused.connect(self._explain)
        studio.link.state_changed.connect(self._show_waiting)
        self._show_waiting()
        self._show_alarm()
        self._show_busy()
        # Now that all listen: the form is there with the first paint, before a daemon has answered.
        self.train_actions.catalogue.show_shipped()

    def open_sweep(self) -> "SweepDialog":
        """The form of a sweep of what this form says."""
        if self._sweep_dialog is None:
            # Only now: most windows never sweep.
            from mosaic.gui.models.sweeps.sweep_form import SweepForm
            from mosaic.gui.widgets.sweeps.sweep_dialog import SweepDialog

            self._sweep_dialog = SweepDialog(SweepForm(self._studio, self.form), self._theme, self.window())
            self._sweep_dialog.started.connect(self.sweep_started)
        self._sweep_dialog.open_now()
        return self._sweep_dialog

    def train_last(self) -> None:
        """Start once more what was started last."""
        self.train_actions.train_last()

    def clone(self, run_id: str) -> None:
        """Fill the form with the config of a run."""
        self.train_actions.clone(run_id)

    def say(self, text: str, level: str) -> None:
        """A sentence above the buttons."""
        self.said.say(text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…", level)
        self.said.setToolTip(tip(text))

    def remember(self) -> None:
        """What the next window begins with; called when this one is closed."""
        self.view.remember()

    def show_help(self) -> None:
        """The page of the algorithm, beside the form."""
        if self._help is None:
            self._help = HelpWindow(self._theme, self.window())
        self._fill_help()
        self._help.open_beside(self)

    def _waiting_page(self) -> QWidget:
        self._waiting = label("", "muted", selectable=True, wraps=True)
        self._waiting.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._again = icon_button(self._theme, "rotate-ccw", "Try again", self.train_actions.catalogue.load)
        made = QWidget()
        column(made, 2, self._waiting, row(1, self._again, 1), 3, margins=(24, 24, 24, 24), spacing=12)
        return made

    def _dry_run(self) -> None:
        if self.train_actions.is_trying:
            self.train_actions.cancel_dry_run()
            return
        self.train_actions.dry_run()
        self.view.reveal_problem()

    def _start(self) -> None:
        self.train_actions.start()
        self.view.reveal_problem()

    def _show_busy(self) -> None:
        has_form = bool(self.form.fields)
        self.dry_run.setEnabled(has_form)
        self.sweep.setEnabled(has_form)
        self.dry_run.setText(" Cancel" if self.train_actions.is_trying else " Dry run")
        self.start.setEnabled(has_form and not self.train_actions.is_starting)
        self.start.setText(" Starting…" if self.train_actions.is_starting else " Start training")
        if not self.train_actions.is_trying and not self.train_actions.is_starting:
            self.view.reveal_problem()

    def _show_copied(self, text: str) -> None:
        self.say(f"Copied: {text}", "ok")

    def _forget_said(self) -> None:
        """What was said about the form as it was."""
        if self.said.text():
            self.say("", "ok")

    def _show_alarm(self) -> None:
        self.alarm.setProperty("alarm", "bad")
        self.alarm.setText("\n".join(self.form.problems))
        self.alarm.setVisible(bool(self.form.problems))

    def _show_form(self) -> None:
        self._pages.setCurrentWidget(self.view)
        self._show_busy()
        self._fill_help()

    def _show_waiting(self) -> None:
        problem = self.train_actions.catalogue.problem or self._studio.link.problem
        self._waiting.setText(problem or "Waiting for the daemon's list of algorithms…")
        self._again.setVisible(bool(problem))

    def _fill_help(self) -> None:
        algorithm = self.form.algorithm
        if self._help is not None and algorithm is not None:
            self._help.show_page(algorithm.name, algorithm.docs or algorithm.summary)

    def _explain(self, path: str) -> None:
        if self._help is not None:
            self._help.show_setting(self.form.fields[path].setting)


def _rule() -> QWidget:
    made = QWidget()
    made.setProperty("rule", True)
    made.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    made.setFixedHeight(1)
    return made
