"""What is done with whole runs as files: export, a page for others, trackers, import, publish, verify; and the check of
this installation. Each is a verb of the command line, run beside the window, and what it found is shown.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog, QWidget

from mosaic.gui.models.cli_process import CliProcess
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.dialogs import ask_text, choose_file, confirm
from mosaic.gui.widgets.result_dialog import ResultDialog
from mosaic.gui.widgets.tracking.tracker_dialog import TrackerDialog
from mosaic.plain_text import plain_line
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL
from mosaic.track.trackers import title_of

ZIP, PAGE = "Runs for another home (*.zip)", "Page for a browser (*.html)"
Found = list[dict[str, Any]]
"""What a verb has printed."""
Done = Callable[[Found], object]


@dataclass(frozen=True)
class _Task:
    words: Sequence[str]
    said: str
    """While it works."""
    done: Done


class RunFileActions(QObject):
    """One verb at a time; the others wait for it."""

    def __init__(self, parent: QWidget, studio: Studio, theme: Theme, chosen: Callable[[], Sequence[str]]) -> None:
        super().__init__(parent)
        self._parent, self._studio, self._theme, self._chosen = parent, studio, theme, chosen
        self.process = CliProcess(studio.link, self)
        self._tasks: list[_Task] = []
        self.process.done.connect(self._done)
        self.process.failed.connect(self._failed)
        self.open_page: Callable[[Path], object] = lambda path: QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    @property
    def is_busy(self) -> bool:
        return bool(self._tasks)

    def runs(self) -> list[RunRecord]:
        return self._studio.runs.of(self._chosen())

    def export(self) -> None:
        """Ask where to; the ending of the name says as what."""
        runs = self.runs()
        if runs:
            title = f"Export {self._names(runs)} for another home"
            dialog = choose_file(self._window(), title, self.export_to, files=f"{ZIP};;{PAGE}", save_as="runs.zip")
            dialog.setDefaultSuffix("zip")

    def share(self) -> None:
        """The same as a page."""
        runs = self.runs()
        if runs:
            title = f"Show {self._names(runs)} on a page"
            dialog = choose_file(self._window(), title, self.export_to, files=PAGE, save_as="runs.html")
            dialog.setDefaultSuffix("html")

    def export_to(self, path: str) -> None:
        """A zip file or a page of the selected runs; the question of the dialog has agreed to one that is there."""
        runs = self.runs()
        if not runs:
            return
        ids = [run.run_id for run in runs]
        self._start(["export", *ids, path, "--replace", "--json"], f"exporting {self._names(runs)} …", self._exported)

    def import_zip(self) -> None:
        choose_file(self._window(), "Import runs of another home", self.import_from, files=ZIP)

    def import_folder(self) -> None:
        """Runs of other tools, and folders that were exported."""
        dialog = QFileDialog(self._window(), "Import all runs in a folder: CleanRL, Stable-Baselines3, W&B, MOSAIC")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(self.import_from)
        dialog.open()

    def import_from(self, path: str) -> None:
        self._start(["import", path, "--json"], f"importing {path} …", self._imported)

    def verify(self) -> None:
        """The files of the selected runs against their digests."""
        runs = self.runs()
        if runs:
            words = ["verify", *(run.run_id for run in runs), "--json"]
            self._start(words, f"checking the files of {self._names(runs)} …", self._verified)

    def publish(self) -> None:
        """The policy of the first selected run."""
        runs = self.runs()
        if runs:
            about = (
                f"Publish the policy of “{name_of(runs[0])}” on the Hugging Face Hub: it is evaluated and filmed"
                " first.\n\nUSER/NAME of the repository; empty is a name made of the run, under your own user"
            )
            run_id = runs[0].run_id
            ask_text(
                self._window(),
                "Publish policy",
                about,
                "",
                lambda repo: self.publish_as(run_id, repo),
                ("Publish", "Do not publish"),
            )

    def publish_as(self, run_id: str, repo: str) -> None:
        where = ["--repo", repo.strip()] if repo.strip() else []
        self._start(["publish", run_id, *where, "--json"], "evaluating and publishing the policy …", self._published)

    def track(self) -> None:
        """Ask to which tracker the selected runs go that have ended."""
        ended = [run for run in self.runs() if run.state in TERMINAL]
        if not ended:
            self._say("A run is exported after its end; to follow it while it runs, switch its tracker on in the form.")
            return
        left = len(self.runs()) - len(ended)
        have = "has not ended, and is" if left == 1 else "have not ended, and are"
        left_out = f"{left:,} of the selected runs {have} left out." if left else ""
        ids = [run.run_id for run in ended]
        TrackerDialog(self._window(), self._names(ended), left_out, lambda name: self.track_to(name, ids)).open()

    def track_to(self, tracker: str, run_ids: Sequence[str]) -> None:
        def show(found: Found) -> None:
            self._exported_to([one for one in found if one["tracker"] == tracker])

        self._start(["track", *run_ids, "--to", tracker, "--json"], f"exporting to {title_of(tracker)} …", show)

    def doctor(self) -> None:
        """Python, packages, rendering, GPU, disk and daemon."""
        self._start(["doctor", "--json"], "checking this installation …", self._checked)

    def _start(self, words: Sequence[str], said: str, done: Done) -> None:
        self._tasks.append(_Task(words, said, done))
        if len(self._tasks) == 1:
            self._next()

    def _next(self) -> None:
        if self._tasks:
            self._say(self._tasks[0].said, kind="info")
            self.process.start(*self._tasks[0].words)

    def _done(self, found: list[Any]) -> None:
        self._tasks.pop(0).done([one for one in found if isinstance(one, dict)])
        self._next()

    def _failed(self, why: str) -> None:
        self._tasks.pop(0)
        self._say(why)
        self._next()

    def _exported(self, found: Found) -> None:
        if not found:
            return
        path = Path(found[0]["out"])
        damaged: list[str] = found[0].get("damaged") or []
        self._say(f"exported: {path}", kind="info")
        if damaged:
            self._show(
                "Export",
                f"{path}: damaged in the runs, and so in their copies",
                ("file",),
                [[problem] for problem in damaged],
            )
        elif path.suffix == ".html":
            question = f"The page is written.\n\n{path}"
            confirm(self._window(), "Page", question, ("Open it", "Close"), lambda: self.open_page(path))

    def _exported_to(self, found: Found) -> None:
        names = {run.run_id: name_of(run) for run in self._studio.runs.records()}
        rows = [
            [
                names.get(one["run_id"]) or str(one["run_id"]),
                str(one["export"]["state"]),
                f"{int(one['export'].get('rows') or 0):,}",
                str(one["export"].get("url") or one["export"].get("server") or one["export"].get("folder") or ""),
                str(one["export"].get("why") or ""),
            ]
            for one in found
        ]
        said = f"{title_of(str(found[0]['tracker']))} has these runs now." if found else "Nothing was exported."
        if any(one["export"]["state"] != "synced" for one in found):
            said = f"{title_of(str(found[0]['tracker']))}: not everything is there yet."
        self._show("Export", said, ("run", "how it is", "rows", "where", "why"), rows)

    def _imported(self, found: Found) -> None:
        counted = Counter(str(one.get("result")) for one in found)
        words = {"imported": "imported", "known": "already here", "skipped": "skipped"}
        said = ", ".join(f"{counted[key]:,} {text}" for key, text in words.items() if counted[key])
        self._say(f"import: {said or 'nothing was found'}", kind="info")
        shown = {**words, "known": "here already"}
        names = {run.run_id: name_of(run) for run in self._studio.runs.records()}
        rows = [
            [
                shown.get(str(one["result"]), str(one["result"])),
                str(one.get("label") or names.get(str(one.get("run_id"))) or ""),
                str(one["path"]),
                _reason(one),
            ]
            for one in found
        ]
        if counted["skipped"] or counted["known"]:
            self._show("Import", f"{said}.", ("result", "name", "from", "why"), rows)

    def _verified(self, found: Found) -> None:
        damaged = [one for one in found if one["result"] == "damaged"]
        said = (
            f"{len(damaged):,} of {len(found):,} checkpoints and policies are damaged."
            if damaged
            else (
                f"{len(found):,} checkpoints and policies were compared with their digests: nothing is damaged."
                if found
                else "These runs have no checkpoints and no policies to compare."
            )
        )
        names = {run.run_id: name_of(run) for run in self._studio.runs.records()}
        rows = [
            [
                names.get(one["run"]) or str(one["run"]),
                str(one["what"]),
                str(one["result"]),
                " ".join([one["problem"], one["advice"]]).strip(),
            ]
            for one in sorted(found, key=lambda one: one["result"] != "damaged")
        ]
        self._show("Files of the runs", said, ("run", "what", "result", "what is wrong, and what to do"), rows)

    def _published(self, found: Found) -> None:
        if found:
            self._show(
                "Published",
                f"Published as {found[0]['repo']}: {found[0]['address']}",
                ("file",),
                [[str(file)] for file in found[0]["files"]],
            )

    def _checked(self, found: Found) -> None:
        broken = [one["what"] for one in found if one["level"] == "broken"]
        said = f"Something essential is broken: {', '.join(broken)}." if broken else "All that is essential works."
        rows = [[one["what"], one["level"], one["detail"]] for one in found]
        self._show("This installation", said, ("what", "how it is", "details"), rows)

    def _show(self, title: str, said: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        # What was said while it worked is over.
        self._say(f"{title}: {said}", kind="info")
        ResultDialog(self._window(), self._theme, title, said, columns, rows).open()

    def _say(self, text: str, *, kind: Any = "warn") -> None:
        self._studio.noticed.emit(Notice(text, kind=kind))

    def _window(self) -> QWidget:
        return self._parent.window()

    @staticmethod
    def _names(runs: Sequence[RunRecord]) -> str:
        return f"“{plain_line(name_of(runs[0]))}”" if len(runs) == 1 else f"{len(runs):,} runs"


def _reason(one: dict[str, Any]) -> str:
    """Why it was skipped, or what is missing of it."""
    return str(one.get("reason") or "; ".join(one.get("remarks") or []))
