"""The Overview tab: what the current run is, how it went, what to do if it failed, its settings and exact config."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPlainTextEdit,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.gui.assets import mono_font
from mosaic.gui.models.daemon.news import Detail
from mosaic.gui.models.runs.failure_advice import advice_on
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import duration, name_of, number
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import (
    chip_button,
    column,
    copy_button,
    label,
    read_only,
    restyle,
    row,
    scrolled,
    split,
)
from mosaic.gui.widgets.table.differences_view import DifferencesView
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.plain_text import plain
from mosaic.run_table.run_differences import RunFacts, compared, defaults_of
from mosaic.spec.config_settings import settings_of
from mosaic.spec.presets import preset_use
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, RunState

BAD = frozenset({RunState.FAILED, RunState.LOST})


class OverviewTab(QWidget):
    """Facts on the left, the config on the right."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio, self._theme = studio, theme
        self._detail: Detail | None = None
        self._title = label("", "title")
        self._facts: dict[str, QLabel] = {}
        self.alarm = label("", "muted", selectable=True, wraps=True)
        self.stderr = label("", "code", selectable=True, wraps=True)
        self.stderr.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._config = read_only("Config")
        self._config.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.settings = DifferencesView(theme)
        self.settings.setAccessibleName("Settings")
        self._defaults: dict[tuple[str, str], Mapping[str, JsonValue]] = {}
        """By algorithm and environment, as far as the daemon was asked."""
        self._pages = QStackedWidget()
        self._pages.addWidget(self.settings)
        self._pages.addWidget(self._config)
        halves = split(self._left(), self._right(), sizes=[500, 500])
        halves.setChildrenCollapsible(True)
        column(self, halves, spacing=None)
        studio.selection_changed.connect(self.refresh)
        studio.runs_changed.connect(self.refresh)
        studio.noticed.connect(self.refresh)
        studio.opened_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        record, detail = self._studio.record(), self._studio.detail()
        self._title.setText(name_of(record) if record else "Select a run on the left.")
        facts = _facts(record) if record else {}
        if record:
            facts["Preset"] = plain(preset_use.spoken(detail.config)) or "–" if detail else "–"
        if record and (why := self._studio.why_queued(record)):
            facts["State"] += f": {why}"
        for name, value in self._facts.items():
            if value.text() != facts.get(name, ""):
                value.setText(facts.get(name, ""))
        self._show_alarm(record)
        if detail is not self._detail:
            self._detail = detail
            self._config.setPlainText(plain(self._json()))
            self._show_settings()

    def fact(self, name: str) -> str:
        """What is shown under a name."""
        return self._facts[name].text()

    def _left(self) -> QWidget:
        facts = QGridLayout()
        facts.setHorizontalSpacing(18)
        facts.setVerticalSpacing(7)
        facts.setColumnStretch(1, 1)
        for line, name in enumerate(_facts(RunRecord(run_id=""))):
            value = self._facts[name] = label("", "muted", selectable=True, wraps=True)
            # A path or an id has nowhere to be broken: it may be wider than the page rather than widen it.
            value.setMinimumWidth(60)
            value.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
            if name in ("Run", "Folder"):
                # In letters of one width every id is as wide as every other, and none is cut at 1280x720.
                value.setFont(mono_font())
            folder = (IconTool(self._theme, "copy", "Copy the path", self._copy_folder),) if name == "Folder" else ()
            facts.addLayout(row(label(name, "faint"), *folder, 1, spacing=0), line, 0, Qt.AlignmentFlag.AlignTop)
            facts.addWidget(value, line, 1, Qt.AlignmentFlag.AlignTop)
        inside = QWidget()
        inside.setProperty("panel", True)
        column(inside, self._title, self.alarm, facts, self.stderr, 1, margins=(16, 14, 12, 10), spacing=12)
        scroll = scrolled(inside)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        return scroll

    def _right(self) -> QWidget:
        made = QWidget()
        copy_json = copy_button(self._theme, "Copy JSON", self._json)
        self.json_shown = chip_button("JSON", checked=False, toggled=self._toggle_json)
        self.json_shown.setToolTip("The config as it lies in the run's directory")
        above = row(label("CONFIG", "section"), 1, self.json_shown, copy_json)
        column(made, above, (self._pages, 1), margins=(12, 14, 16, 10), spacing=8)
        return made

    def _toggle_json(self, on: bool) -> None:
        self._pages.setCurrentIndex(int(on))

    def _show_settings(self) -> None:
        """Every setting with its default; those that are not as by default stand out."""
        record, detail = self._studio.record(), self._detail
        if record is None or detail is None:
            self.settings.clear()
            return
        key = (record.algo, record.env_id)
        known = self._defaults.get(key)
        facts = RunFacts(record, settings_of(detail.config), known or {})
        found = compared([facts])
        lines = [line for line in found.lines if line.section in ("settings", "environment")]
        self.settings.show_lines(found, lines)
        if known is None:
            self._defaults[key] = {}

            def came(defaults: Mapping[str, JsonValue]) -> None:
                self._defaults[key] = defaults
                self._show_settings()

            def failed(_: MosaicError) -> None:
                del self._defaults[key]  # Asked again with the next run; the settings are there without it.

            self._studio.link.call(lambda client: defaults_of(client, record), came, failed)

    def _show_alarm(self, record: RunRecord | None) -> None:
        """Why it ended as it did, and what to do next."""
        notices = self._studio.runs.notices(record.run_id) if record else ()
        reason = [record.reason] if record and record.reason else []
        advice = [text] if record and (text := advice_on(record)) else []
        text = "\n".join([*reason, *notices, *advice])
        kind = "bad" if record and record.state in BAD else "warn"
        if text != self.alarm.text():
            self.alarm.setText(text)
        restyle(self.alarm, "alarm", kind)
        self.alarm.setVisible(bool(text))
        tail = "\n".join(record.stderr_tail) if record and record.state in BAD else ""
        if tail != self.stderr.text():
            self.stderr.setText(tail)
        self.stderr.setVisible(bool(tail))

    def _copy_folder(self) -> None:
        if (record := self._studio.record()) is not None:
            QGuiApplication.clipboard().setText(plain(record.run_dir))

    def _json(self) -> str:
        return json.dumps(self._detail.config, indent=1, ensure_ascii=False) if self._detail else ""


def _facts(record: RunRecord) -> dict[str, str]:
    steps = f"{record.global_step:,}"
    return {
        "State": record.state + (f" · attempt {record.attempt}" if record.attempt > 1 else ""),
        "Algorithm": record.algo,
        "Environment": record.env_id,
        "Preset": "",
        "Seed": str(record.seed),
        "Steps": f"{steps} of {record.steps_in_all:,}" if record.steps_in_all else steps,
        "Return": f"{_score(record.last_return)} · best {_score(record.best_return)}",
        "Speed": f"{record.steps_per_s:,.0f} steps/s" if record.steps_per_s else "–",
        "Started": _moment(record.started_at),
        "Took": _took(record),
        "Priority": str(record.priority),
        "Run": record.run_id,
        "Group": record.group or "–",
        "Branched": f"from run {record.parent} at step {record.parent_step:,}" if record.parent else "–",
        "Folder": record.run_dir,
        "Tags": ", ".join(record.tags) or "–",
        "Notes": record.notes or "–",
    }


def _score(value: float | None) -> str:
    return "–" if value is None else number(value)


def _took(record: RunRecord) -> str:
    if record.started_at and record.state in LIVE:
        return f"{duration(max(0.0, time.time() - record.started_at))} so far"
    if not record.ended_at or not record.started_at:
        return "–"
    whole = duration(record.ended_at - record.started_at)
    return whole if record.attempt <= 1 else f"{whole}, {record.attempt} attempts and the time between them"


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S") if time else "–"
