"""The Overview tab: what the current run is, how it went, what it left behind and what it was made from."""

import json
from datetime import UTC, datetime
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QGridLayout, QLabel, QSplitter, QTreeView, QVBoxLayout, QWidget

from mosaic.config import JsonObject
from mosaic.gui.assets import mono_font
from mosaic.gui.models.batch import Detail
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, number
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.parts import copy_button, label, row
from mosaic.spec.run_record import RunRecord

FACTS = (
    ("Run",),
    ("State", "Steps"),
    ("Algorithm", "Mean return"),
    ("Environment", "Speed"),
    ("Seed", "Started"),
    ("Folder",),
)
"""Lines of the table of facts."""


class OverviewTab(QWidget):
    """Facts and artifacts on the left, the config as a tree on the right."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self._detail: Detail | None = None
        self._title = label("", "title")
        self._facts = {name: label("", "muted", selectable=True) for names in FACTS for name in names}
        self.alarm = QLabel()
        self.alarm.setWordWrap(True)
        self.alarm.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._artifacts, self._config = _tree(nested=False), _tree(nested=True)
        left, right = QWidget(), QWidget()
        facts = QGridLayout()
        facts.setHorizontalSpacing(18)
        facts.setVerticalSpacing(8)
        for line, names in enumerate(FACTS):
            for place, name in enumerate(names):
                facts.addWidget(label(name, "faint"), line, 2 * place)
                facts.addWidget(self._facts[name], line, 2 * place + 1, 1, 1 if len(names) > 1 else 3)
        facts.setColumnStretch(1, 1)
        facts.setColumnStretch(3, 1)
        page = QVBoxLayout(left)
        page.setContentsMargins(16, 14, 12, 10)
        page.setSpacing(12)
        page.addWidget(self._title)
        page.addWidget(self.alarm)
        page.addLayout(facts)
        page.addWidget(label("ARTIFACTS", "section"))
        page.addWidget(self._artifacts, 1)
        copy_json = copy_button(theme, "Copy JSON", self._json)
        copy_folder = copy_button(theme, "Copy path", self._folder)
        page = QVBoxLayout(right)
        page.setContentsMargins(12, 14, 16, 10)
        page.setSpacing(8)
        page.addLayout(row(label("CONFIG", "section"), 1, copy_folder, copy_json))
        page.addWidget(self._config, 1)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(right)
        split.setSizes([500, 500])
        split.setHandleWidth(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(split)
        studio.selection_changed.connect(self.refresh)
        studio.runs_changed.connect(self.refresh)
        studio.noticed.connect(self.refresh)
        studio.opened_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        record, detail = self._studio.record(), self._studio.detail()
        self._title.setText(name_of(record) if record else "Select a run on the left.")
        for name, value in self._facts.items():
            value.setText(_facts(record).get(name, "") if record else "")
            value.setToolTip(value.text())
        self._show_alarm(record)
        if detail is not self._detail:
            self._detail = detail
            self._show_detail(detail)

    def _show_alarm(self, record: RunRecord | None) -> None:
        notices = self._studio.runs.notices(record.run_id) if record else ()
        text = "\n".join([*([record.reason] if record and record.reason else []), *notices])
        self.alarm.setVisible(bool(text))
        kind = "bad" if record and record.reason else "warn"
        if text != self.alarm.text() or self.alarm.property("alarm") != kind:
            self.alarm.setText(text)
            self.alarm.setProperty("alarm", kind)
            self.alarm.style().polish(self.alarm)

    def _show_detail(self, detail: Detail | None) -> None:
        _fill(
            self._artifacts, [(_named(item.kind, item.label), item.path) for item in detail.artifacts] if detail else []
        )
        model = _fill(self._config, [])
        if detail:
            _add_config(model.invisibleRootItem(), detail.config)
        self._config.expandAll()
        self._config.resizeColumnToContents(0)

    def _folder(self) -> str:
        record = self._studio.record()
        return record.run_dir if record else ""

    def _json(self) -> str:
        return json.dumps(self._detail.config, indent=1) if self._detail else ""


def _facts(record: RunRecord) -> dict[str, str]:
    steps = f"{record.global_step:,}"
    started = datetime.fromtimestamp(record.started_at, UTC).astimezone()
    return {
        "Run": record.run_id,
        "State": record.state + (f" · attempt {record.attempt}" if record.attempt > 1 else ""),
        "Algorithm": record.algo,
        "Environment": record.env_id,
        "Seed": str(record.seed),
        "Steps": f"{steps} of {record.total_timesteps:,}" if record.total_timesteps else steps,
        "Mean return": "–" if record.last_return is None else number(record.last_return),
        "Speed": f"{record.steps_per_s:,.0f} steps/s" if record.steps_per_s else "–",
        "Started": started.strftime("%Y-%m-%d %H:%M:%S"),
        "Folder": f"…/{Path(record.run_dir).parent.name}/{record.run_id}",
    }


def _named(kind: str, extra: str) -> str:
    return f"{kind} ({extra})" if extra else kind


def _tree(*, nested: bool) -> QTreeView:
    view = QTreeView()
    view.setModel(QStandardItemModel(0, 2, view))
    view.setHeaderHidden(True)
    view.setAlternatingRowColors(True)
    view.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
    view.setIndentation(16)
    view.setRootIsDecorated(nested)
    return view


def _fill(view: QTreeView, rows: list[tuple[str, str]]) -> QStandardItemModel:
    model = view.model()
    assert isinstance(model, QStandardItemModel)
    model.removeRows(0, model.rowCount())
    for name, value in rows:
        model.appendRow(_items(name, value))
    view.resizeColumnToContents(0)
    return model


def _items(name: str, value: str) -> list[QStandardItem]:
    shown = QStandardItem(value)
    shown.setFont(mono_font())
    shown.setToolTip(value)
    return [QStandardItem(name), shown]


def _add_config(parent: QStandardItem, values: JsonObject) -> None:
    for name, value in values.items():
        if isinstance(value, dict):
            items = _items(name, "")
            _add_config(items[0], value)
        else:
            items = _items(name, value if isinstance(value, str) else json.dumps(value))
        parent.appendRow(items)
