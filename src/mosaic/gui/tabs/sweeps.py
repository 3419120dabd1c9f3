"""The Sweeps tab: a page for each sweep: its history, its settings, what mattered, what fresh seeds confirm."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QPushButton, QTabWidget, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.sweeps import trial_plots
from mosaic.gui.models.sweeps.sweeps_model import SweepsModel
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.charts.dot_plot import DotPlot
from mosaic.gui.widgets.charts.parallel_view import ParallelView
from mosaic.gui.widgets.labels_and_buttons import (
    Card,
    ElidedLabel,
    Panel,
    SaidLabel,
    column,
    icon_button,
    label,
    pages,
    row,
    scrolled,
    split,
)
from mosaic.gui.widgets.sweeps.importance_view import ImportanceView
from mosaic.gui.widgets.sweeps.trial_table import ConfirmedTable, TrialTable
from mosaic.gui.widgets.value_editors import Choice
from mosaic.plain_text import plain_line
from mosaic.rpc import trainer_pb2 as pb
from mosaic.sweep import confirmation
from mosaic.sweep.sweep_reader import plan_of
from mosaic.sweep.sweep_state import SweepState

NOTHING = (
    "A sweep tries many settings and confirms the best with fresh seeds.\n\n"
    "Begin one with Sweep… below the form of a new run, or with: mosaic sweep ppo --env-id CartPole-v1"
)
ACTIONS = (
    ("pause", "pause", "Pause", "Pause the sweep and its runs"),
    ("continue", "play", "Continue", "Continue the paused sweep"),
    ("resume", "rotate-ccw", "Resume", "Go on with the sweep where it ended"),
    ("cancel", "square", "End sweep", "End the sweep; its runs save a checkpoint first"),
)


CONFIRMED = 1
"""Place of the page with what fresh seeds say."""


class SweepsTab(QWidget):
    """One sweep at a time, chosen in the list above."""

    train_asked = Signal(object, str)
    """The run config of the best settings, and where it comes from."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self.model = SweepsModel(studio)
        self.blank = BlankPage(theme, "layers", NOTHING)
        self.choice = Choice(theme)
        self.choice.setAccessibleName("Sweep")
        self.choice.setMinimumWidth(200)
        self.line = ElidedLabel()
        self.said = SaidLabel()
        self.say = self.said.say
        self.buttons: dict[str, QPushButton] = {}
        for verb, icon, text, about in ACTIONS:
            self.buttons[verb] = icon_button(theme, icon, text, partial(self.model.ask, verb))
            self.buttons[verb].setToolTip(tip(about))
        self.train = icon_button(theme, "play", "Train the best", self._train)
        self.train.setToolTip("Put the best settings into the form of a new run")
        self.resume = icon_button(theme, "rotate-ccw", "Resume the pruned", self._resume)
        self.resume.setToolTip("Let the trials that were stopped go on to their end, exactly where they were")
        self.table = TrialTable(theme)
        self.table.run_asked.connect(self._select)
        self.confirmed = ConfirmedTable()
        self.statement = label("", "muted", selectable=True)
        self.statement.setWordWrap(True)
        self.history = DotPlot(theme, "Values of the trials")
        self.scatter = DotPlot(theme, "A setting against the value")
        self.setting = Choice(theme)
        self.setting.setMinimumWidth(130)
        self.setting.setAccessibleName("Setting of the scatter plot")
        self.pages = QTabWidget()
        self.parallel = ParallelView(theme, "Parallel coordinates of the trials")
        self.importance = ImportanceView(theme)
        # Scrolled where it is low: the tabs beside it would be as high as this one has to be.
        self._stack = pages(self.blank, scrolled(self._page()))
        column(self, self._stack, spacing=None)
        self.choice.activated.connect(self._choose)
        self.setting.currentTextChanged.connect(self._show_scatter)
        self.model.changed.connect(self.refresh)
        self.model.said.connect(self.say)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.model.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.model.watch(False)

    def close(self) -> bool:
        self.model.stop()
        return super().close()

    def show_sweep(self, sweep_id: str) -> None:
        """One that was just begun."""
        self.model.choose(sweep_id)

    def refresh(self) -> None:
        sweeps, summary, state = self.model.sweeps, self.model.summary, self.model.state
        self._stack.setCurrentIndex(1 if sweeps else 0)
        self._show_choice(sweeps)
        allowed = self.model.allowed()
        for verb, button in self.buttons.items():
            button.setVisible(verb in allowed)
        self.train.setEnabled(self.model.best is not None)
        self.resume.setVisible(self.model.can_resume_pruned)
        self.line.setText("" if summary is None else line_of(summary, state))
        self.line.setToolTip(tip(self.line.text()))
        if state is None:
            return
        self._show_settings(state)
        self.table.show_trials(state)
        self.confirmed.show_state(state)
        self.statement.setText(confirmation.statement(state))
        self.pages.setTabVisible(CONFIRMED, state.confirming and state.plan.confirm_best > 0)
        self.history.show_plot(trial_plots.history(state))
        self.parallel.show_parallel(trial_plots.parallel(state))
        self.importance.show_shares(self.model.importance, self.model.why_no_importance)
        self._show_scatter()

    def _select(self, run_id: str) -> None:
        self._studio.select([run_id])

    def _choose(self, place: int) -> None:
        self.model.choose(str(self.choice.itemData(place)))

    def _resume(self) -> None:
        self.model.ask("resume", self.model.pruned)

    def _train(self) -> None:
        document, best = self.model.best_document(), self.model.best
        if document is not None and best is not None:
            self.train_asked.emit(document, f"Trial {best.number} of the sweep")

    def _show_choice(self, sweeps: Sequence[pb.Sweep]) -> None:
        names = [(_name_of(one), one.sweep_id) for one in sweeps]
        if names != [(self.choice.itemText(at), self.choice.itemData(at)) for at in range(self.choice.count())]:
            self.choice.clear()
            for name, sweep_id in names:
                self.choice.addItem(name, sweep_id)
        self.choice.setCurrentIndex(max(0, self.choice.findData(self.model.current)))

    def _show_settings(self, state: SweepState) -> None:
        names = [one.name for one in state.plan.space]
        if names != [self.setting.itemText(at) for at in range(self.setting.count())]:
            self.setting.clear()
            self.setting.addItems(names)

    def _show_scatter(self, _chosen: str = "") -> None:
        state = self.model.state
        chosen = [one for one in state.plan.space if one.name == self.setting.currentText()] if state else []
        if state is not None and chosen:
            self.scatter.show_plot(trial_plots.scatter(state, chosen[0]))

    def _page(self) -> QWidget:
        made = Panel()
        history, parallel = _card("History", self.history), _card("Parallel coordinates", self.parallel)
        plots = split(history, parallel, sizes=[1, 2], line=False)
        lower = self.pages
        lower.setDocumentMode(True)
        results = QWidget()
        column(results, self.statement, (self.confirmed, 1), margins=(4, 8, 4, 0), spacing=8)
        lower.addTab(self.table, "Trials")
        lower.addTab(results, "Confirmed")
        scatter = _card("Against the value", self.scatter, self.setting)
        details = split(_card("Importance", self.importance), scatter, sizes=[1, 1], line=False)
        lower.addTab(details, "Settings")
        whole = split(plots, lower, sizes=[200, 240], upright=True, line=False)
        top = row(self.choice, (self.line, 1), *self.buttons.values(), self.resume, self.train)
        column(made, top, self.said, (whole, 1), margins=(12, 8, 12, 8), spacing=8)
        return made


def line_of(summary: pb.Sweep, state: SweepState | None) -> str:
    """Phase, how far it is, and the best so far."""
    if summary.damage:
        return plain_line(summary.damage)
    said = [f"{summary.phase} ({summary.asked} asked for)" if summary.asked else summary.phase]
    if summary.reason:
        said.append(plain_line(summary.reason))
    planned = state.plan.most_trials if state is not None and summary.phase == "exploring" else summary.trials
    said.append(f"{summary.ended} of {planned} trials")
    said += [f"{count} {word}" for count, word in ((summary.pruned, "pruned"), (summary.failed, "failed")) if count]
    if summary.confirm_runs:
        said.append(f"{summary.confirmed_runs} of {summary.confirm_runs} runs to confirm")
    if summary.HasField("best_value"):
        of_seeds = state.plan.of_seeds if state is not None else ""
        said.append(f"best so far {summary.best_value:.4g}{of_seeds} in trial {summary.best_trial}")
    return " · ".join(said)


def _name_of(sweep: pb.Sweep) -> str:
    if sweep.damage:
        return f"{sweep.sweep_id[-8:]}, damaged"
    plan = plan_of(sweep)
    return plain_line(f"{plan.label or f'{plan.algo} {plan.env_id}'} · {sweep.sweep_id[-6:]}")


def _card(title: str, content: QWidget, *further: QWidget) -> QFrame:
    made = Card()
    column(made, row(label(title, "heading"), 1, *further), (content, 1), margins=(10, 8, 10, 8), spacing=6)
    return made
