"""The Evaluate tab: what the selected evaluations return, how sure that is, and how policies compare."""

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QWidget

from mosaic.gui.models.evaluation.evaluations import Evaluations
from mosaic.gui.models.evaluation.return_histogram import histogram
from mosaic.gui.models.evaluation.running_estimate import RunningCurve
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.evaluation.comparison_table import ComparisonTable
from mosaic.gui.widgets.evaluation.histogram_view import HistogramView
from mosaic.gui.widgets.labels_and_buttons import (
    Card,
    ElidedLabel,
    Panel,
    column,
    icon_button,
    label,
    pages,
    row,
    split,
)
from mosaic.spec.states import TERMINAL

if TYPE_CHECKING:
    from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

NOTHING = (
    "Select evaluations on the left to see how their returns are distributed.\n\n"
    "Load a trained policy to make one; several at once are compared on the same episodes."
)
WAITING = "The first batch of {name} is being played."
ENDED = "{name} ended before its first batch was complete, so there is nothing to show. {reason}"


class EvaluateTab(QWidget):
    """Of the selected runs, those that evaluate."""

    load_asked = Signal()
    """The user wants to choose a policy."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self.model = Evaluations(studio)
        self.line = ElidedLabel()
        self.histogram = HistogramView(theme)
        self.chart: ScalarChart | None = None
        """Made with the page, when there is something to show."""
        self.table = ComparisonTable(theme)
        self.blank = BlankPage(theme, "brain-circuit", NOTHING)
        self._load = [
            icon_button(theme, "brain-circuit", "Load trained policy…", self.load_asked.emit) for _ in range(2)
        ]
        self._stack = pages(self._nothing())
        column(self, self._stack, spacing=None)
        self.model.changed.connect(self.refresh)
        studio.selection_changed.connect(self.refresh)
        studio.runs_changed.connect(self._say)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.model.watch(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.model.watch(False)

    def refresh(self) -> None:
        assessed = self.model.assessed
        self._say()
        if not assessed:
            self._stack.setCurrentIndex(0)
            return
        if self.chart is None:
            # pyqtgraph takes most of a second to import: not before a chart is needed.
            from mosaic.gui.widgets.charts.scalar_chart import ScalarChart

            self.chart = ScalarChart(self._theme)
            self._stack.addWidget(self._page(self.chart))
        self._stack.setCurrentIndex(1)
        played = [one.played for one in assessed]
        self.line.setText(assessed[0].line)
        self.histogram.show_histogram(histogram(played))
        # The reference is drawn last, on top.
        self.chart.show_curves([RunningCurve(one) for one in reversed(played)])
        self.table.show_assessed(assessed)

    def _say(self) -> None:
        record = self._studio.record()
        if record is None or record.kind != "policy_eval":
            self.blank.say(NOTHING)
        elif record.state in TERMINAL:
            self.blank.say(ENDED.format(name=name_of(record), reason=record.reason))
        else:
            self.blank.say(WAITING.format(name=name_of(record)))

    def _nothing(self) -> QWidget:
        made = Panel()
        column(made, (self.blank, 1), row(1, self._load[0], 1), margins=(0, 0, 0, 24), spacing=None)
        return made

    def _page(self, chart: "ScalarChart") -> QWidget:
        charts = split(
            _card("Distribution of the return", "share of the episodes; dashed: mean", self.histogram),
            _card(
                "Running estimate",
                "mean, 95 % interval",
                chart,
                "Mean of the first n episodes, from 5 on with its 95 % interval",
            ),
            sizes=[1, 1],
            line=False,
        )
        chart.setMinimumWidth(160)
        whole = split(charts, self.table, sizes=[250, 150], upright=True, line=False)
        made = Panel()
        column(made, row((self.line, 1), self._load[1]), (whole, 1), margins=(12, 8, 12, 8), spacing=8)
        return made


def _card(title: str, about: str, content: QWidget, whole: str = "") -> QFrame:
    made = Card()
    faint = ElidedLabel("faint")
    faint.setText(about)
    faint.setToolTip(tip(whole or about))
    column(made, row(label(title, "heading"), (faint, 1)), (content, 1), margins=(10, 8, 10, 8), spacing=6)
    return made
