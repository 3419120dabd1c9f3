"""Asks which chart to add: curves of a tag, a tag against another, runs as dots or lines, heat maps of a network."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QListWidget, QListWidgetItem, QWidget

from mosaic.gui.models.charts.chart_layout import ChartSpec, Kind, column_title
from mosaic.gui.models.wording import title_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import column, label, row
from mosaic.gui.widgets.value_editors import Choice
from mosaic.run_table.run_columns import FACTS, RETURN

KINDS: Mapping[Kind, tuple[str, str]] = {
    "pair": ("One tag against another", "Of each run, at the steps that have both"),
    "scatter": ("Runs: scatter plot", "A dot for each selected run"),
    "parallel": ("Runs: parallel coordinates", "A line for each selected run through its settings and results"),
    "curve": ("Curves of a tag", "A chart that was taken away comes back"),
    "heat": ("Heat map of weights or gradients", "Of the current run, where it was trained with --histograms-every N"),
}
NUMBERS = ("return", "best", "steps", "sps", "time", "seed")
"""Facts of a run that are numbers."""
ENDINGS = ("last", "highest", "lowest", "auc")
AXES_HEIGHT = 260


class AddChartDialog(QDialog):
    """`then` with the chart; nothing is added twice."""

    def __init__(
        self,
        parent: QWidget,
        theme: Theme,
        *,
        tags: Sequence[str],
        then: Callable[[ChartSpec], object],
        parameters: Mapping[str, Sequence[str]],
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Add a chart")
        self.setMinimumWidth(420)
        self._tags, self._then, self._parameters = tags, then, parameters
        self._columns: list[str] = []
        self.kind = Choice(theme)
        for kind, (text, _) in KINDS.items():
            self.kind.addItem(text, kind)
        self.kind.setAccessibleName("Kind of chart")
        self._about = label("", "muted", wraps=True)
        self.y_axis, self.x_axis = Choice(theme), Choice(theme)
        self._y_label, self._x_label = label("", "muted"), label("", "muted")
        for text, choice in ((self._y_label, self.y_axis), (self._x_label, self.x_axis)):
            text.setFixedWidth(90)
            text.setBuddy(choice)
        self.axes = QListWidget()
        self.axes.setAccessibleName("Axes")
        self.axes.setMinimumHeight(AXES_HEIGHT)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.add = self.buttons.addButton("Add chart", QDialogButtonBox.ButtonRole.AcceptRole)
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        lines = (row(self._y_label, (self.y_axis, 1)), row(self._x_label, (self.x_axis, 1)))
        column(self, self.kind, self._about, *lines, (self.axes, 1), self.buttons, spacing=10, margins=(14, 14, 14, 12))
        self.kind.currentIndexChanged.connect(self._show_kind)
        self.y_axis.currentIndexChanged.connect(self._fill_parameters)
        self.axes.itemChanged.connect(self._enable)
        self.offer((), ())

    def offer(self, settings: Sequence[str], differing: Sequence[str]) -> None:
        """Settings come a moment later than the rest; what was chosen meanwhile stays so."""
        metrics = [f"{tag}.{ending}" for tag in self._tags for ending in ENDINGS]
        ticked = set(self._ticked()) if self._columns else {f"{RETURN}.highest"}
        chosen = self.y_axis.currentData(), self.x_axis.currentData()
        self._columns = [*NUMBERS, *(name for name in settings if name not in FACTS), *metrics]
        self.axes.clear()
        for name in self._columns:
            item = QListWidgetItem(column_title(name), self.axes)
            item.setData(Qt.ItemDataRole.UserRole, name)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            is_ticked = name in ticked or name in differing
            item.setCheckState(Qt.CheckState.Checked if is_ticked else Qt.CheckState.Unchecked)
        self._show_kind()
        for choice, name in zip((self.y_axis, self.x_axis), chosen, strict=True):
            if name is not None and (place := choice.findData(name)) >= 0:
                choice.setCurrentIndex(place)

    def _ticked(self) -> list[str]:
        items = [self.axes.item(place) for place in range(self.axes.count())]
        return [
            str(item.data(Qt.ItemDataRole.UserRole)) for item in items if item.checkState() == Qt.CheckState.Checked
        ]

    @property
    def spec(self) -> ChartSpec | None:
        """What is chosen; None while something is missing."""
        kind: Kind = self.kind.currentData()
        y, x = str(self.y_axis.currentData() or ""), str(self.x_axis.currentData() or "")
        if kind == "parallel":
            names = self._ticked()
            return ChartSpec("parallel", columns=tuple(names)) if len(names) > 1 else None
        if not y or (kind in ("pair", "scatter") and not x):
            return None
        return ChartSpec(kind, y, "" if kind == "curve" else x)

    def _accept(self) -> None:
        if (spec := self.spec) is not None:
            self._then(spec)
            self.accept()

    def _show_kind(self) -> None:
        kind: Kind = self.kind.currentData()
        self._about.setText(KINDS[kind][1])
        by_tag = {tag: f"{title_of(tag)}  ({tag})" for tag in self._tags}
        by_column = {name: column_title(name) for name in self._columns}
        labels = ("Values", "Parameter") if kind == "heat" else ("Tag", "") if kind == "curve" else ("y axis", "x axis")
        self._y_label.setText(labels[0])
        self._x_label.setText(labels[1])
        if kind == "heat":
            _fill(self.y_axis, {"weights": "Weights", "gradients": "Gradients"})
            self._fill_parameters()
        else:
            choices = by_column if kind == "scatter" else by_tag
            _fill(self.y_axis, choices)
            _fill(self.x_axis, choices)
            if kind == "pair":
                # A tag against itself is a line.
                self.x_axis.setCurrentIndex(min(1, self.x_axis.count() - 1))
            if kind == "scatter":
                self.y_axis.setCurrentIndex(max(0, self.y_axis.findData(f"{RETURN}.highest")))
        for widget in (self._y_label, self.y_axis):
            widget.setVisible(kind != "parallel")
        for widget in (self._x_label, self.x_axis):
            widget.setVisible(kind not in ("parallel", "curve"))
        self.axes.setVisible(kind == "parallel")
        self._enable()

    def _fill_parameters(self) -> None:
        if self.kind.currentData() == "heat":
            names = self._parameters.get(str(self.y_axis.currentData()), ())
            _fill(self.x_axis, {"": "all, beside one another", **dict(zip(names, names, strict=True))})
        self._enable()

    def _enable(self) -> None:
        self.add.setEnabled(self.spec is not None)


def _fill(choice: Choice, items: Mapping[str, str]) -> None:
    choice.blockSignals(True)
    choice.clear()
    for data, text in items.items():
        choice.addItem(text, data)
    choice.blockSignals(False)
