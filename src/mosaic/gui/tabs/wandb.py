"""The W&B tab: how the export of the current run is, its upload, its page, and whether the server can be reached."""

from collections.abc import Mapping
from datetime import UTC, datetime

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QCloseEvent, QDesktopServices, QHideEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.tracking.wandb_export import Seen, WandbExport
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.labels_and_buttons import column, copy_button, icon_button, label, pages, restyle, row, scrolled
from mosaic.gui.widgets.tracking.name_value_list import NameValueList
from mosaic.gui.widgets.tracking.web_frame import WebFrame
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL
from mosaic.track.export_state import Export

NAMES = ("Project", "Name", "Page", "Written", "Folder", "Folders", "Server", "Proxy")
TONES: Mapping[str, str] = {"offline": "warn", "synced": "ok", "failed": "bad"}
WORDS: Mapping[str, str] = {
    "exporting": "The run's events are being exported.",
    "offline": "Everything is in a local folder, and nothing was uploaded yet.",
    "syncing": "The export is being uploaded.",
    "synced": "Everything is on the server.",
    "failed": "The export failed. The run itself is not affected.",
}
NOT_EXPORTED = "This run is not exported to Weights & Biases."
ENDED = "Export it now, with all that it has logged."
LIVES = "Export it after its end. To follow a run from its start, switch on “Track W&B” in the form's Tracking section."
ELSEWHERE = "Its files are on the daemon's machine: run mosaic track RUN --to wandb there."
WIDEST = 760


class WandbTab(QWidget):
    """Looks at the run while the tab is seen."""

    export_asked = Signal(str)
    """Export this run, which was not tracked."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.model = WandbExport(studio.link, self)
        self._title = label("", "title")
        self.state = label("", "chip")
        self.words = label("", "muted", wraps=True)
        self.alarm = label("", "muted", selectable=True, wraps=True)
        self.alarm.setProperty("alarm", "warn")  # from the beginning: Qt gives no padding to a label styled later
        self.facts = NameValueList(NAMES)
        self.sync = icon_button(theme, "cloud-upload", "Sync now", self._sync, primary=True)
        self.open = icon_button(theme, "external-link", "Open the run's page", self._open_page)
        self.show_page = icon_button(theme, "monitor-play", "Show it here", self._show_page)
        self.folder = icon_button(theme, "folder-open", "Open folder", self._open_folder)
        self.copy = copy_button(theme, "Copy path", self._path)
        self.key = QLineEdit()
        self.key.setEchoMode(QLineEdit.EchoMode.Password)
        self.key.setPlaceholderText("API key for this upload; empty takes WANDB_API_KEY or what wandb login stored")
        self.key.setAccessibleName("API key")
        self.probe = icon_button(theme, "plug-zap", "Test the connection", self.model.probe)
        self.answer = label("", "muted", selectable=True, wraps=True)
        self.export = icon_button(theme, "cloud-upload", "Export this run", self._export, primary=True)
        self.blank = BlankPage(theme, "cloud-upload", below=self.export)
        self.frame = WebFrame(theme, back=self.refresh_details, open_=self._open_page)
        self._stack = pages(self.blank, self._page(), self.frame)
        column(self, self._stack, spacing=None)
        self.model.changed.connect(self.refresh)
        studio.selection_changed.connect(self._watch)
        studio.runs_changed.connect(self._watch)
        self.refresh()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._watch()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.model.watch(None)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window closes."""
        self.frame.end()
        self.model.stop()
        super().closeEvent(event)

    def refresh(self) -> None:
        record, seen = self._studio.record(), self.model.seen
        if record is None or seen is None or seen.export is None or seen.run_id != record.run_id:
            self.blank.say(self._nothing(record, seen))
            self.export.setVisible(self._may_export(record, seen))
            self._stack.setCurrentIndex(0)
            return
        self._show(record, seen, seen.export)
        # A page that is looked at stays, as long as it is of this run.
        if self._stack.currentWidget() is not self.frame or self.frame.address != seen.export.url:
            self._stack.setCurrentIndex(1)

    def refresh_details(self) -> None:
        """Back from the page."""
        self._stack.setCurrentIndex(1)
        self.refresh()

    def _page(self) -> QWidget:
        inside = QWidget()
        inside.setProperty("panel", True)
        column(
            inside,
            row(self._title, self.state, 1, self.show_page, self.open, self.sync, spacing=12),
            self.words,
            self.alarm,
            self.facts,
            row(self.folder, self.copy, 1),
            self.key,
            row(label("CONNECTION", "section"), margins=(0, 10, 0, 0)),
            row(self.probe, 1),
            self.answer,
            1,
            margins=(16, 14, 16, 12),
            spacing=12,
        )
        inside.setMaximumWidth(WIDEST)
        scroll = scrolled(inside)
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        return scroll

    def _watch(self) -> None:
        if self.isVisible():
            self.model.watch(self._studio.record())
            self.refresh()

    def _nothing(self, record: RunRecord | None, seen: Seen | None) -> str:
        if record is None:
            return "Select a run on the left."
        if self.model.problem:
            return self.model.problem
        if seen is None:
            return ""
        ended = LIVES if record.state not in TERMINAL else ELSEWHERE if self._studio.link.is_remote else ENDED
        return f"{NOT_EXPORTED}\n\n{ended}"

    def _may_export(self, record: RunRecord | None, seen: Seen | None) -> bool:
        is_past = record is not None and record.state in TERMINAL and record.kind == "train"
        return is_past and seen is not None and not self._studio.link.is_remote and not self.model.problem

    def _export(self) -> None:
        if (record := self._studio.record()) is not None:
            self.export_asked.emit(record.run_id)

    def _show(self, record: RunRecord, seen: Seen, export: Export) -> None:
        shown = "syncing" if self.model.syncing else export.state
        self._title.setText(name_of(record))
        self.state.setText(shown.capitalize())
        restyle(self.state, "tone", TONES.get(shown, ""))
        self.words.setText(WORDS[shown])
        self._show_alarm(seen, export)
        self.facts.say(_facts(record, seen, export))
        why_not = self._why_not(record, shown)
        self.sync.setEnabled(not why_not)
        self.sync.setToolTip(tip(why_not))
        self.sync.setText(" Syncing…" if self.model.syncing else " Sync now")
        self.open.setVisible(bool(export.url))
        self.show_page.setVisible(bool(export.url) and not self.frame.problem)
        remote = self._studio.link.is_remote
        self.folder.setVisible(bool(export.folder) and not remote)
        self.copy.setVisible(bool(export.folder))
        self.key.setVisible(not remote and shown != "synced")
        self.probe.setEnabled(not remote and not self.model.probing)
        self.probe.setToolTip("The server is reached from the daemon's machine: probe it there." if remote else "")
        self._show_answer()

    def _show_alarm(self, seen: Seen, export: Export) -> None:
        stopped = "The exporter was stopped. The daemon exports the run again when it starts; so does “Sync now”."
        parts = [
            self.model.problem,
            self.frame.crash,
            export.why,
            "Waiting for CPU: other work has all cores; the export goes on when there is room." * export.waits_for_cpu,
            stopped if seen.cut_off and not self.model.syncing else "",
        ]
        text = "\n".join(dict.fromkeys(part for part in parts if part))
        if text != self.alarm.text():
            self.alarm.setText(text)
        restyle(self.alarm, "alarm", "bad" if self.model.problem or export.state == "failed" else "warn")
        self.alarm.setVisible(bool(text))

    def _show_answer(self) -> None:
        answer = self.model.answer
        if self.model.probing:
            text, tone = "Asking the server, for at most five seconds…", ""
        elif answer is None:
            text, tone = "", ""
        else:
            key = "an API key is known" if self.model.has_key else "no API key is known"
            text, tone = f"{answer.text} ({answer.seconds:.1f} s) · {key}", "ok" if answer.reachable else "bad"
        self.answer.setText(text)
        self.answer.setVisible(bool(text))
        restyle(self.answer, "said", tone)

    def _why_not(self, record: RunRecord, shown: str) -> str:
        """Why it cannot be uploaded now."""
        if self._studio.link.is_remote:
            return "The files are on the daemon's machine: run mosaic wandb sync there."
        if not self.model.idle:
            return "An upload is under way."
        if record.state not in TERMINAL:
            return "The run still trains, and its exporter follows it: sync it after its end."
        return "Everything is on the server." if shown == "synced" else ""

    def _sync(self) -> None:
        self.model.sync(self.key.text().strip())
        self.key.clear()

    def _path(self) -> str:
        record, seen = self._studio.record(), self.model.seen
        return f"{record.run_dir}/{seen.export.folder}" if record and seen and seen.export else ""

    def _show_page(self) -> None:
        seen = self.model.seen
        if seen and seen.export and self.frame.show_page(seen.export.url, seen.proxy):
            self._stack.setCurrentWidget(self.frame)
        else:
            self.refresh_details()

    def _open_page(self) -> None:
        if self.model.seen and self.model.seen.export:
            QDesktopServices.openUrl(QUrl(self.model.seen.export.url))

    def _open_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(self._path()))


def _facts(record: RunRecord, seen: Seen, export: Export) -> dict[str, str]:
    others = [name for name in seen.folders if not export.folder.endswith(name)]
    return {
        "Project": " / ".join(part for part in (export.entity, export.project) if part),
        "Name": export.name,
        "Page": export.url,
        "Written": f"{export.rows:,} rows from {export.events:,} events · {_moment(export.updated_at)}",
        "Folder": f"{record.run_dir}/{export.folder}" if export.folder else "",
        "Folders": f"{len(seen.folders)}: {', '.join(seen.folders)}" if others else "",
        "Server": export.server,
        "Proxy": export.proxy or "none",
    }


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%H:%M:%S") if time else "–"
