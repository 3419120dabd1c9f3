"""The Play tab: a person, a policy or another actor plays, step by step or at speed; every episode can be replayed."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QSignalBlocker, QSize, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import (
    QPushButton,
    QSlider,
    QWidget,
)

from mosaic.gui.models.live.picture import Picture
from mosaic.gui.models.play.compare_run import CompareRun
from mosaic.gui.models.play.gamepad import Gamepad
from mosaic.gui.models.play.play_model import Play
from mosaic.gui.models.shown_text import tip
from mosaic.gui.models.studio import Studio
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import Panel, chip_button, column, icon_button, label, pages, row
from mosaic.gui.widgets.live.agent_overlay import AgentOverlay
from mosaic.gui.widgets.play.compare_view import CompareView
from mosaic.gui.widgets.play.llm_endpoint_row import LlmEndpointRow
from mosaic.gui.widgets.play.mission_line import MissionLine
from mosaic.gui.widgets.play.observation_view import ObservationView
from mosaic.gui.widgets.play.play_picture import PlayPicture
from mosaic.gui.widgets.play.play_setup import PlaySetup
from mosaic.gui.widgets.play.play_sidebar import PlaySidebar
from mosaic.gui.widgets.play.play_status import PlayStatus
from mosaic.gui.widgets.play.replay_page import ReplayPage
from mosaic.gui.widgets.play.symbol_grid import SymbolGrid
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.gui.widgets.visibility import Visibility
from mosaic.rpc.trainer_pb2 import RecordedEpisode

VIEWS = ("Video", "Grid", "Raw", "Replay", "Compare")
CONTROLS = {
    "agent": ("agent", "The agent acts"),
    "human": ("person", "A person acts"),
    "turns": ("in turns", "Person and agent take turns"),
    "override": ("override", "The agent acts until a key is pressed"),
}
SMALLEST = QSize(520, 240)
WAITS = "Waiting for the first picture."
EMPTY = "Choose an environment and an actor, and press Start. Click the picture, then the keys on the right play."


class PlayTab(Panel):
    """Choices above, controls below them, the picture with its keys in the middle."""

    def __init__(self, studio: Studio, theme: Theme) -> None:
        super().__init__()
        self.play = play = Play(studio)
        self.setup = PlaySetup(play, theme)
        self.endpoint = LlmEndpointRow(play)
        self.start: QPushButton = icon_button(theme, "play", "Start", primary=True)
        self.status = PlayStatus(play.name_of)
        self.hud, self.reason = self.status.hud, self.status.reason
        self.mission = MissionLine()
        self.pause = IconTool(theme, "pause", "Pause", self._toggle_pause)
        self.step = IconTool(theme, "chevron-right", "One step", lambda: play.tell("step"))
        self.reset = IconTool(theme, "rotate-ccw", "Reset: begin the next episode", lambda: play.tell("reset"))
        self.stop = IconTool(theme, "square", "Stop: end the session", play.stop)
        self.take_over = QPushButton("Take over")
        self.control = ChoiceChip("control", CONTROLS, self._set_control)
        self.views = {
            name: chip_button(name, checked=name == "Video", toggled=partial(self._choose_view, name)) for name in VIEWS
        }
        self.board = PlayPicture(theme, self._picture, self._holds)
        self.overlay = AgentOverlay(self.board, theme)
        self.explain = IconTool(theme, "brain-circuit", "What the actor sees and expects, over the picture", self._show)
        self.explain.setCheckable(True)
        self.blank = BlankPage(theme, "monitor-play", EMPTY)
        self.grid, self.raw = SymbolGrid(theme), ObservationView(theme)
        self.recordings = ReplayPage(studio, play, theme)
        self.episodes = self.recordings.episodes
        self.side = PlaySidebar(play, theme)
        self.keys, self.seats = self.side.keys, self.side.seats
        self.gamepad = Gamepad(self)
        self._seen = Visibility(self)
        self.script = CompareRun(studio)
        self.compare = CompareView(self.script, theme)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step of the recording")
        self.where = label("", "muted")
        self.replay_bar = QWidget()
        row(label("REPLAY", "section"), (self.slider, 1), self.where, of=self.replay_bar, margins=(12, 2, 12, 6))
        self._pages: dict[str, QWidget] = {
            "Grid": self.grid,
            "Raw": self.raw,
            "Replay": self.recordings,
            "Compare": self.compare,
        }
        self._stack = pages(self.blank, self.board, *self._pages.values())
        self._view = "Video"
        self._problems = {"setup": "", "seats": ""}
        self._down: list[str] = []
        self._arrange()
        self._connect()
        self._show()

    def _arrange(self) -> None:
        tools = (self.pause, self.step, self.reset, self.stop, self.setup.speed)
        # Beside the numbers there is room, also at 1280x720.
        who = row((self.status, 1), self.take_over, self.control, self.explain, spacing=6, margins=(12, 0, 8, 4))
        column(
            self,
            row((self.setup, 100), 1, self.start, margins=(12, 8, 12, 4)),
            row(self.endpoint, margins=(12, 0, 12, 4)),
            row(*tools, 1, *self.views.values(), spacing=4, margins=(8, 0, 12, 4)),
            who,
            row((self.mission, 1), margins=(14, 0, 12, 4)),
            (row((self._stack, 1), self.side, spacing=0), 1),
            self.replay_bar,
        )

    def _connect(self) -> None:
        play = self.play
        self.start.clicked.connect(self._start)
        self.take_over.clicked.connect(self._toggle_control)
        self.setup.problem_changed.connect(partial(self._take_problem, "setup"))
        self.seats.problem_changed.connect(partial(self._take_problem, "seats"))
        self.setup.show_offer()
        self.seats.show_seats()
        self.board.keys_changed.connect(self._press)
        self.board.touched.connect(self._touch)
        self.side.moves.made.connect(self._touch)
        self.gamepad.moved.connect(self._push)
        self.gamepad.found_changed.connect(self._show_pads)
        self._seen.changed.connect(self._show)
        self.board.width_shown.connect(self._ask_width)
        self.keys.edited.connect(play.choose_keys)
        self.episodes.chosen.connect(self._replay)
        self.slider.valueChanged.connect(self._seek)
        play.changed.connect(self._show)
        play.endpoint.changed.connect(self._show)
        play.came.connect(self._came)
        play.offered.connect(self._list_if_shown)

    def closeEvent(self, event: QCloseEvent) -> None:
        """The window closes."""
        self.play.close()
        self.recordings.close_all()
        self.script.close()
        self.gamepad.stop()
        super().closeEvent(event)

    def minimumSizeHint(self) -> QSize:
        """The same at all times: a dock never becomes smaller again than what it once had to hold."""
        return SMALLEST

    def show_view(self, name: str) -> None:
        self._view = name
        for each, chip in self.views.items():
            with QSignalBlocker(chip):
                chip.setChecked(each == name)
        if name == "Replay":
            self.play.list_episodes()
        if name == "Raw":
            self.play.tell("look", pixels=True)
        self._show()

    def _choose_view(self, name: str, _: bool) -> None:
        """A click on the one that is shown leaves it."""
        self.show_view(name)

    # What the user does.

    def _start(self) -> None:
        self.show_view("Video")
        self.play.start()
        self.board.setFocus()

    def _replay(self, episode: RecordedEpisode) -> None:
        self.show_view("Video")
        self.play.replay(episode)

    def _press(self, down: list[str]) -> None:
        self._down = list(down)
        self._send_keys()

    def _push(self) -> None:
        if not self.keys.press(self.gamepad.down, self.gamepad.axes):
            self._send_keys()

    def _send_keys(self) -> None:
        """Keyboard and gamepad together."""
        self.play.tell("keys", down=[*self._down, *self.gamepad.down], axes=dict(self.gamepad.axes))

    def _touch(self, action: int) -> None:
        self.play.tell("act", action=action)

    def _show_pads(self) -> None:
        self.keys.show_pads(self.gamepad.names, self.gamepad.problem)

    def _toggle_pause(self) -> None:
        session = self.play.session
        self.play.tell("continue" if session is not None and session.status == "paused" else "pause")

    def _toggle_control(self) -> None:
        control = self._seat().get("control")
        self.play.tell("control", control="agent" if control == "human" else "human")
        self.board.setFocus()

    def _set_control(self) -> None:
        if self.control.chosen != self._seat().get("control"):
            self.play.tell("control", control=self.control.chosen)

    def _seek(self, step: int) -> None:
        if self.replay_bar.isVisible():
            self.play.tell("seek", step=step)

    def _take_problem(self, of: str, problem: str) -> None:
        self._problems[of] = problem
        self._show()

    @property
    def _problem(self) -> str:
        asked = self.play.endpoint.problem if self.play.has_language_model else ""
        return self._problems["setup"] or self._problems["seats"] or asked

    def _list_if_shown(self) -> None:
        if self._view == "Replay":
            self.play.list_episodes()

    # What is seen.

    def _picture(self) -> Picture | None:
        return self.play.session.picture() if self.play.session is not None else None

    def _holds(self, picture: Picture) -> bool:
        return self.play.session is None or self.play.session.holds(picture)

    def _ask_width(self, width: int) -> None:
        if self.play.session is not None:
            self.play.session.ask_width(width)

    def _came(self) -> None:
        if self._view == "Video" and self._stack.currentWidget() is not self.board:
            self._show()
        self.board.update()

    def _seats(self) -> dict[str, dict[str, Any]]:
        session = self.play.session
        return session.state.get("seats", {}) if session is not None else {}

    def _seat(self) -> dict[str, Any]:
        """The only one; several have their cards."""
        return next(iter(self._seats().values()), dict[str, Any]())

    def _show(self) -> None:
        session = self.play.session
        state: Mapping[str, Any] = session.state if session is not None else dict[str, Any]()
        status = session.status if session is not None else ""
        lives = bool(state) and status != "ended"
        self.start.setEnabled(not self._problem and not self.play.starting)
        self.start.setToolTip(tip(self._problem or "Start a session with this environment and actor"))
        for tool in (self.step, self.reset):
            tool.setEnabled(lives and status != "stalled")
        self.pause.setEnabled(lives and status != "stalled")
        self.pause.show_icon("play" if status == "paused" else "pause")
        self.pause.rename("Continue" if status == "paused" else "Pause")
        self.stop.setEnabled(status not in ("", "ended"))
        self._show_control(lives and not state.get("replay") and len(self._seats()) == 1)
        self.status.setVisible(self._view not in ("Replay", "Compare"))
        self.status.show_state(status, state)
        self.mission.show_state(state if self._view not in ("Replay", "Compare") else {})
        self.status.say(self._reason(status, state))
        self._show_replay(state)
        is_replay = bool(state.get("replay"))
        plays = lives and not is_replay and self._view in ("Video", "Grid") and self._has_person()
        self.side.show_state(session, state, lives=lives, plays=plays)
        self.side.setVisible(self.side.isVisibleTo(self) and self._view not in ("Replay", "Compare"))
        self.board.touch = state.get("touch") if lives else None
        self.board.captions = self._captions(state)
        if self._seen.now and lives and not is_replay and self._has_person():
            self.gamepad.start()
        else:
            self.gamepad.stop()
        self._show_overlay(state)
        self._show_page(state)

    def _show_overlay(self, state: Mapping[str, Any]) -> None:
        """Of copies in lock-step each has its own view; a session tells of one."""
        may = self._view == "Video" and not state.get("lengths")
        self.explain.setVisible(may)
        self.overlay.show_state(state if may and self.explain.isChecked() else {})
        self.board.leave_room(self.overlay.width() if self.overlay.isVisibleTo(self.board) else 0)

    def _has_person(self) -> bool:
        """Whether a person acts for any seat, always or once a key is pressed."""
        return any(seat.get("control") != "agent" for seat in self._seats().values())

    def _captions(self, state: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Of each copy in lock-step."""
        lengths: Mapping[str, int] = state.get("lengths") or {}
        return [
            (
                f"{seat}  {self.play.name_of(str(state['seats'][seat]['actor']))}",
                f"step {length}   return {float(state['returns'].get(seat, 0)):g}",
            )
            for seat, length in lengths.items()
        ]

    def _show_control(self, lives: bool) -> None:
        seat = self._seat()
        control, has_agent = str(seat.get("control", "")), seat.get("actor", "human") != "human"
        self.take_over.setVisible(lives and has_agent)
        self.take_over.setText("Hand back" if control == "human" else "Take over")
        self.control.setVisible(lives and has_agent)
        if control in CONTROLS:
            with QSignalBlocker(self.control):
                self.control.choose(control)

    def _reason(self, status: str, state: Mapping[str, Any]) -> str:
        reason = str(state.get("reason", "")) or self.play.problem
        if status == "waiting" and not reason and not self.board.hasFocus():
            return "Click the picture: it waits for a key."
        session = self.play.session
        if self._problem and (status in ("", "ended") or (session and session.record.env_id != self.play.env_id)):
            return self._problem
        return reason

    def _show_replay(self, state: Mapping[str, Any]) -> None:
        replay = state.get("replay")
        self.replay_bar.setVisible(bool(replay) and self._view not in ("Replay", "Compare"))
        if not replay:
            return
        with QSignalBlocker(self.slider):
            self.slider.setMaximum(int(replay["length"]))
            if not self.slider.isSliderDown():
                self.slider.setValue(int(state["t"]))
        verdict = replay["difference"] or ("the same, bit for bit" if replay["exact"] else "the same so far")
        self.where.setText(f"{state['t']} / {replay['length']}  ·  {verdict}")

    def _show_page(self, state: Mapping[str, Any]) -> None:
        if self._view == "Video":
            shown = self._picture() is not None
            if not shown and self.play.session is not None:
                waits = "The session ended before its first picture." if self.play.session.over else WAITS
                self.blank.say(str(state.get("pictures_problem", "")) or waits)
            self._stack.setCurrentWidget(self.board if shown else self.blank)
        elif self._view == "Grid" and not state.get("board"):
            self.blank.say("Grid shows the state of grid worlds: FrozenLake, CliffWalking, Taxi, MiniGrid.")
            self._stack.setCurrentWidget(self.blank)
        else:
            self._stack.setCurrentWidget(self._pages[self._view])
        if self._view == "Grid":
            self.grid.show_board(state.get("board"))
        elif self._view == "Raw":
            self.raw.show_state(state)
