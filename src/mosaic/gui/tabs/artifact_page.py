"""One thing that a run left behind: a video that plays, a text, or what can be done with it."""

import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QPlainTextEdit

from mosaic.errors import MosaicError
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.runs.artifacts import Kept, Text, fetch, text_of
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of, size
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.dialogs import choose_file, confirm
from mosaic.gui.widgets.labels_and_buttons import Panel, column, copy_button, icon_button, label, pages, read_only, row
from mosaic.gui.widgets.runs.video_view import VideoView
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

R = TypeVar("R")


class ArtifactPage(Panel):
    """Shows one thing; what is on another machine is fetched from the daemon."""

    resume_asked = Signal(str, int)
    """Go on from the checkpoint of a step; in a new run, if there are newer ones."""
    discard_asked = Signal(str, int)
    """Go on from it in the same run, which loses the newer ones."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self._run: RunRecord | None = None
        self.kept: Kept | None = None
        self._fetched = ""
        """Folder of the videos that were fetched."""
        self.blank = BlankPage(theme, "package")
        self.film = VideoView(theme)
        self.text = read_only("Content")
        self.text.setFrameShape(QPlainTextEdit.Shape.NoFrame)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.view = pages(self.blank, self.film, self.text)
        self._title, self._about = label("", "heading"), label("", "faint")
        self.resume = icon_button(theme, "rotate-ccw", "Resume from this checkpoint", self._resume)
        self.discard = icon_button(theme, "trash-2", "Resume here and discard newer…", self._ask_to_discard)
        self.open = icon_button(theme, "folder-open", "Open folder", self._open_folder)
        self.save = icon_button(theme, "download", "Save as…", self._ask_where)
        self.copy = copy_button(theme, "Copy path", self._path)
        column(
            self,
            row(self._title, self._about, 1, margins=(14, 14, 12, 8)),
            row(self.open, self.save, self.copy, 1, margins=(14, 0, 12, 10)),
            row(self.resume, self.discard, 1, margins=(14, 0, 12, 0)),
            (self.view, 1),
        )
        self.show_kept(None, None)

    def show_kept(self, run: RunRecord | None, kept: Kept | None) -> None:
        """Another thing, or none."""
        self._run, self.kept = run, kept
        self.film.close_film()
        self._title.setText(kept.name if kept else "")
        self._about.setText(size(kept.size_bytes) if kept and kept.size_bytes else "")
        self.blank.say(_words(run, kept))
        self.view.setCurrentWidget(self.blank)
        self.show_buttons(run)
        if run is not None and kept is not None and kept.kind == "video":
            self._show_video(run, kept)
        elif kept is not None and kept.is_text:
            self._ask(lambda client, run_id: text_of(client, run_id, kept.path), self._show_text)

    def show_buttons(self, run: RunRecord | None) -> None:
        """What can be done with it, as the run is now."""
        kept, remote = self.kept, self._studio.link.is_remote
        newer = 0 if kept is None else kept.newer
        self.resume.setVisible(kept is not None and kept.kind == "checkpoint")
        self.resume.setText("New run from this checkpoint" if newer else "Resume from this checkpoint")
        self.discard.setVisible(newer > 0)
        ended = run is not None and run.state in TERMINAL
        for button in (self.resume, self.discard):
            button.setEnabled(ended)
            button.setToolTip("" if ended else "Only an ended run can be resumed: cancel it first.")
        self.open.setVisible(kept is not None and not remote)
        self.save.setVisible(kept is not None and not kept.is_folder)
        self.copy.setVisible(kept is not None)

    def save_to(self, target: Path) -> None:
        """Copy the file here."""
        if (kept := self.kept) is not None:
            self._ask(
                lambda client, run_id: fetch(client, run_id, kept.path, target),
                lambda path: self._studio.noticed.emit(Notice(f"saved {path}", kind="info")),
            )

    def _save_to(self, path: str) -> None:
        self.save_to(Path(path))

    def close_view(self) -> None:
        """Let go of the file that plays, and of what was fetched."""
        self.film.close_film()
        if self._fetched:
            shutil.rmtree(self._fetched, ignore_errors=True)
            self._fetched = ""

    def _show_video(self, run: RunRecord, kept: Kept) -> None:
        self.view.setCurrentWidget(self.film)
        if not self._studio.link.is_remote:
            self.film.open(Path(run.run_dir) / kept.path)
            return
        self._fetched = self._fetched or tempfile.mkdtemp(prefix="mosaic-videos-")
        target = Path(self._fetched) / run.run_id / kept.path
        if target.exists():
            self.film.open(target)
        else:
            self.film.say("Fetching the video…")
            self._ask(lambda client, run_id: fetch(client, run_id, kept.path, target), self.film.open)

    def _ask(self, ask: Callable[[Client, str], R], done: Callable[[R], object]) -> None:
        """Of the daemon; an answer that comes when something else is shown is dropped."""
        if (run := self._run) is None:
            return
        asked = (run.run_id, self.kept)

        def arrived(answer: R) -> None:
            if asked == (self._run.run_id if self._run else "", self.kept):
                done(answer)

        self._studio.link.call(lambda client: ask(client, run.run_id), arrived, partial(self._failed, asked))

    def _failed(self, asked: tuple[str, Kept | None], error: MosaicError) -> None:
        if asked == (self._run.run_id if self._run else "", self.kept):
            self.blank.say(str(error))
            self.view.setCurrentWidget(self.blank)

    def _show_text(self, text: Text) -> None:
        more = "" if text.whole else "\n\n… the rest is left out here; save the file to read all of it."
        self.text.setPlainText(text.content + more)
        self.view.setCurrentWidget(self.text)

    def _path(self) -> str:
        return f"{self._run.run_dir}/{self.kept.path}" if self._run and self.kept else ""

    def _resume(self) -> None:
        if self._run is not None and self.kept is not None and self.kept.step is not None:
            self.resume_asked.emit(self._run.run_id, self.kept.step)

    def _ask_to_discard(self) -> None:
        run, kept = self._run, self.kept
        if run is None or kept is None or (step := kept.step) is None:
            return
        newer = "1 newer checkpoint" if kept.newer == 1 else f"{kept.newer} newer checkpoints"
        question = (
            f"Resume “{name_of(run)}” from step {step:,} and delete {newer}?\n\nThe best one may be among them. The"
            " curve goes on from this step. This cannot be undone; a new run from this checkpoint keeps everything."
        )
        answers = "Discard and resume", "Keep all"
        confirm(self, "Discard newer", question, answers, lambda: self.discard_asked.emit(run.run_id, step))

    def _open_folder(self) -> None:
        if self.kept is not None:
            path = Path(self._path())
            folder = path if self.kept.is_folder else path.parent
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
                self._studio.noticed.emit(Notice(f"no program here opens folders; the folder is {folder}"))

    def _ask_where(self) -> None:
        if self.kept is None:
            return
        choose_file(self, "Save as", self._save_to, save_as=Path(self.kept.path).name)


def _words(run: RunRecord | None, kept: Kept | None) -> str:
    if run is None:
        return "Select a run on the left."
    if kept is None:
        return f"Select an artifact of {name_of(run)}."
    step = f" of step {kept.step:,}" if kept.step is not None else ""
    words = {
        "policy": f"The policy{step}: weights, normalisers and network shape in one safetensors file.\n\n"
        f"mosaic evaluate {run.run_id}",
        "checkpoint": f"The whole train state{step}. {_going_on(kept)}",
        "tensorboard": "A folder of TensorBoard files; the TensorBoard tab shows them.",
        "wandb": "The folder that Weights & Biases keeps of this run.",
    }
    return words.get(kept.kind, "Reading…")


def _going_on(kept: Kept) -> str:
    if not kept.newer:
        return "A resumed run goes on from here exactly."
    there = "There is a newer checkpoint" if kept.newer == 1 else f"There are {kept.newer} newer checkpoints"
    return f"{there}: a new run, which names this one as its parent, goes on from here exactly, and they are kept."
