"""The Live view tab: the environments of the current run while it learns."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from mosaic.fastlane.viewer_lease import USUAL_FPS
from mosaic.gui.models.daemon.news import Notice
from mosaic.gui.models.live.burnt_numbers import with_numbers
from mosaic.gui.models.live.clip_and_snapshot import Clip, Snapshots, kept_path
from mosaic.gui.models.live.live_model import Live, ViewState
from mosaic.gui.models.live.picture import Picture
from mosaic.gui.models.studio import Studio
from mosaic.gui.models.wording import name_of
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.labels_and_buttons import Panel, column, label, pages, row
from mosaic.gui.widgets.live.agent_overlay import AgentOverlay
from mosaic.gui.widgets.live.hud import Hud, Tone
from mosaic.gui.widgets.live.live_grid import LiveGrid
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.gui.widgets.visibility import Visibility
from mosaic.spec.states import LIVE

FPS = (None, 5, 15, 30, 60)
BUDGETS = (None, 0.01, 0.02, 0.05, 0.1, 0.25)
AS_CONFIGURED = "As the run was configured"
TONES: dict[ViewState, Tone] = {"live": "ok", "paused": "warn"}


class LiveTab(QWidget):
    """Chips and tools above, the grid below; where there is no picture, a sentence instead."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self._studio = studio
        self.live = Live(studio)
        self.grid = LiveGrid(theme, self.live.picture, self.live.holds)
        self.blank = BlankPage(theme, "monitor-off")
        self.hud = Hud("state", "clip", "fps", "envs", "step", "speed", give_way=("envs", "fps", "speed"))
        self.clip: Clip | None = None
        self._filmed = ""
        self._snapshots = Snapshots()
        self._burns_numbers = False
        self.line = label("", "muted")
        self.line.hide()
        self._back = IconTool(theme, "layout-grid", "Back to the grid", self.live.show_grid)
        self._pause = IconTool(theme, "pause", "Pause the view", self.toggle_pause)
        self._step = IconTool(theme, "chevron-right", "Next picture, then stop again (N)", self.next_picture)
        self._explain = IconTool(theme, "brain-circuit", "What the agent sees and expects (E)", self.toggle_explained)
        self._explain.setCheckable(True)
        self.overlay = AgentOverlay(self.grid, theme)
        self._snapshot = IconTool(theme, "camera", "Save a snapshot", self.save_snapshot)
        self._record = IconTool(theme, "circle-dot", "Record a clip", self.toggle_clip)
        self._options = IconTool(theme, "sliders-horizontal", "Frame rate, budget, numbers in files")
        self._options.setMenu(self._make_menu())
        self._options.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._full = IconTool(theme, "maximize", "Full screen", self.toggle_full_screen)
        kept = self._snapshot, self._record, self._options, self._full
        tools = (self._back, self._explain, self._pause, self._step, *kept)
        self._stack = pages(self.blank, self.grid)
        self.page = page = Panel()
        column(
            page,
            row((self.hud, 1), *tools, spacing=2, margins=(12, 8, 8, 8)),
            row(self.line, 1, margins=(14, 0, 12, 6)),
            (self._stack, 1),
        )
        column(self, page, spacing=None)
        page.installEventFilter(self)
        self.seen = Visibility(page)
        self.seen.changed.connect(self.live.show)
        self.live.came.connect(self._came)
        self.live.changed.connect(self._show)
        self.grid.chosen.connect(self.live.focus)
        self.grid.left.connect(self.live.show_grid)
        self.grid.pointed.connect(self.live.favour)
        self.grid.pause_asked.connect(self.toggle_pause)
        self.grid.step_asked.connect(self.next_picture)
        self.grid.explain_asked.connect(self.toggle_explained)
        self.grid.width_shown.connect(self.live.ask_width)
        self._snapshots.saved.connect(self._tell)
        self._show()

    def closeEvent(self, event: QCloseEvent) -> None:
        """With the window: let go of everything."""
        if self.clip is not None:
            self.clip.stop()
        if self._is_full:
            self.toggle_full_screen()
        self.live.show(False)
        self.live.close()
        super().closeEvent(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.page and self._is_full and isinstance(event, QKeyEvent):
            if event.type() == QEvent.Type.KeyPress and event.key() in (Qt.Key.Key_Escape, Qt.Key.Key_F11):
                self.toggle_full_screen()
                return True
        elif watched is self.page and self._is_full and event.type() == QEvent.Type.Close:
            self.toggle_full_screen()
            event.ignore()
            return True
        return super().eventFilter(watched, event)

    def toggle_full_screen(self) -> None:
        full = not self._is_full
        if full:
            self.page.setParent(None)
            self.page.showFullScreen()
            self.grid.setFocus()
        else:
            self.page.setWindowState(Qt.WindowState.WindowNoState)
            found = self.layout()
            assert found is not None
            found.addWidget(self.page)
            self.page.show()
        self._full.show_icon("minimize" if full else "maximize")
        self._full.rename("Leave full screen" if full else "Full screen")

    def toggle_pause(self) -> None:
        """Freeze the view, or go on; the run does not notice."""
        record = self.live.record
        if record is not None and record.state in LIVE:
            self.live.pause(not self.live.paused)

    def toggle_explained(self) -> None:
        """Show over the picture what the agent makes of the environment under the pointer, or of the first one."""
        self.live.explain(not self.live.wishes.explain)
        self._show_overlay()

    def _show_overlay(self) -> None:
        wanted = self.live.wishes.explain
        self._explain.setChecked(wanted)
        picture = self.live.picture() if wanted else None
        self.overlay.show_text(picture.head.about if picture is not None else "")
        self.grid.leave_room(self.overlay.width() if self.overlay.isVisibleTo(self.grid) else 0)

    def next_picture(self) -> None:
        record = self.live.record
        if record is not None and record.state in LIVE:
            self.live.step()

    def save_snapshot(self) -> None:
        if (picture := self.live.picture()) is not None:
            picture = self._kept(picture)
            name = f"{self._name()}-step-{picture.head.global_step}"
            self._snapshots.save(picture, kept_path(self._studio.home, "snapshots", name, ".png"))

    def toggle_clip(self) -> None:
        if self.clip is not None:
            self.clip.stop()
            return
        record = self.live.record
        if record is None or record.state not in LIVE:
            return
        path = kept_path(self._studio.home, "clips", self._name(), ".mp4")
        self.clip = Clip(path, fps=round(self.live.wishes.fps or USUAL_FPS))
        self._filmed = self._studio.current
        self.clip.ended.connect(self._clip_ended)
        self.live.pause(False)
        self.live.hold_open(True)

    def _kept(self, picture: Picture) -> Picture:
        """As it goes into a file."""
        return with_numbers(picture, self._name()) if self._burns_numbers else picture

    @property
    def _is_full(self) -> bool:
        return self.page.parent() is None

    def _came(self) -> None:
        picture = self.live.picture() if self.clip is not None else None
        if self.clip is not None and picture is not None and self._studio.current == self._filmed:
            self.clip.add(self._kept(picture))
        if self._stack.currentWidget() is not self.grid:
            self._show()
        if self.live.wishes.explain:
            self._show_overlay()
        self.grid.update()

    def _show(self) -> None:
        record, picture, state = self.live.record, self.live.picture(), self.live.state
        self._stack.setCurrentWidget(self.blank if picture is None else self.grid)
        self.blank.say(self.live.reason)
        head = picture.head if picture else None
        is_eval = head.evaluation if head else bool(record and record.kind == "policy_eval")
        self.hud.show_chip("state", f"● {state}{' (Eval)' if is_eval else ''}" if record else "", TONES.get(state, ""))
        fps = self.live.fps
        self.hud.show_chip("fps", f"{fps:.{0 if fps >= 10 else 1}f} fps" if state == "live" else "")
        count = len(head.tiles) if head else 0
        shown = f"{count} envs" if count > 1 else f"env {head.tiles[0].env}" if head and count else ""
        self.hud.show_chip("envs", shown)
        step = head.global_step if head else record.global_step if record else 0
        self.hud.show_chip("step", f"step {step:,}" if step else "")
        speed = record.steps_per_s if record and state == "live" else 0.0
        self.hud.show_chip("speed", f"{speed:,.0f} steps/s" if speed else "")
        self._show_line(self.live.note if head and state == "waiting" else head.line if head else "")
        self._show_tools(has_picture=picture is not None)
        self._show_clip()

    def _show_line(self, line: str) -> None:
        self.line.setText(line)
        self.line.setVisible(bool(line))

    def _show_tools(self, *, has_picture: bool) -> None:
        record = self.live.record
        runs = record is not None and record.state in LIVE
        paused = self.live.paused
        self._back.setEnabled(self.live.may_show_grid and not paused)
        self._pause.setEnabled(runs)
        self._pause.show_icon("play" if paused else "pause")
        self._pause.rename("Go on (P)" if paused else "Freeze the view; the run goes on (P)")
        self._step.setEnabled(runs and self.clip is None)
        self._snapshot.setEnabled(has_picture)
        self._record.setEnabled(runs or self.clip is not None)

    def _show_clip(self) -> None:
        clip = self.clip
        if clip is not None:
            over = self.live.paused or self.live.state == "ended" or self._studio.current != self._filmed
            if over or clip.is_full:
                clip.stop()
        self._record.show_icon("square" if clip else "circle-dot", "bad" if clip else "muted")
        self._record.rename("Stop recording" if clip else "Record a clip")
        seconds = int(clip.seconds) if clip else 0
        self.hud.show_chip("clip", f"● rec {seconds // 60}:{seconds % 60:02}" if clip else "", "bad")

    def _clip_ended(self, path: Path, problem: str) -> None:
        self.clip = None
        self.live.hold_open(False)
        self._tell(path, problem)

    def _tell(self, path: Path, problem: str) -> None:
        self._studio.noticed.emit(Notice(problem or f"saved {path}", kind="warn" if problem else "info"))

    def _name(self) -> str:
        record = self.live.record
        return name_of(record) if record else "run"

    def _make_menu(self) -> QMenu:
        menu, wishes = QMenu(self), self.live.wishes
        rates = [
            (f"{fps} a second" if fps else AS_CONFIGURED, partial(self.live.ask_fps, fps), fps == wishes.fps)
            for fps in FPS
        ]
        self._choices(menu, "Frames per second, at most", rates)
        menu.addSeparator()
        shares = [
            (f"{share:.0%}" if share else AS_CONFIGURED, partial(self.live.ask_budget, share), share == wishes.budget)
            for share in BUDGETS
        ]
        self._choices(menu, "Share of the learner's time, at most", shares)
        menu.addSeparator()
        self.burn = menu.addAction("Snapshots and clips with the numbers")
        self.burn.setCheckable(True)
        self.burn.toggled.connect(self._burn)
        return menu

    def _burn(self, is_wanted: bool) -> None:
        self._burns_numbers = is_wanted

    def _choices(self, menu: QMenu, title: str, choices: "list[tuple[str, partial[None], bool]]") -> list[QAction]:
        menu.addAction(title).setEnabled(False)
        group = QActionGroup(menu)
        made: list[QAction] = []
        for text, does, checked in choices:
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(checked)
            action.triggered.connect(lambda _=False, does=does: does())
            group.addAction(action)
            made.append(action)
        return made
