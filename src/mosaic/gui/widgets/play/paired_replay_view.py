"""Two replays next to each other: one slider, one pace, and where they first differ."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QSlider, QWidget

from mosaic.gui.models.live.picture import Picture
from mosaic.gui.models.play.paired_replay import PairedReplay
from mosaic.gui.models.play.play_model import SPEEDS
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, Panel, chip, column, label, row
from mosaic.gui.widgets.play.mission_line import MissionLine
from mosaic.gui.widgets.play.play_picture import PlayPicture
from mosaic.gui.widgets.tool_button import IconTool


class Half(QWidget):
    """One replay with what is to be said of it."""

    def __init__(self, paired_replay: PairedReplay, at: int, theme: Theme, name_of: Callable[[str], str]) -> None:
        super().__init__()
        self._paired_replay, self._at, self._name_of = paired_replay, at, name_of
        self.board = PlayPicture(theme, self._picture, self._holds)
        self.board.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.board.width_shown.connect(self._ask_width)
        self.title, self.verdict, self.mission = ElidedLabel("heading"), ElidedLabel("muted"), MissionLine()
        column(self, self.title, self.mission, self.verdict, (self.board, 1), margins=(12, 4, 12, 0), spacing=2)

    def show_state(self) -> None:
        if self._at >= len(self._paired_replay.sessions):
            return
        recorded, session = self._paired_replay.recorded[self._at], self._paired_replay.sessions[self._at]
        actors = ", ".join(dict.fromkeys(map(self._name_of, recorded.head.seats.values())))
        self.title.setText(f"{actors}  ·  episode {recorded.head.episode}, seed {recorded.head.seed}")
        self.title.setToolTip(tip(recorded.name))
        self.mission.show_state(session.state)
        self.verdict.setText(_verdict(session.state, session.status, len(recorded.steps)))
        self.verdict.setToolTip(tip(self.verdict.text()))
        self.board.update()

    def _picture(self) -> Picture | None:
        return (
            self._paired_replay.sessions[self._at].picture() if self._at < len(self._paired_replay.sessions) else None
        )

    def _holds(self, picture: Picture) -> bool:
        return self._at >= len(self._paired_replay.sessions) or self._paired_replay.sessions[self._at].holds(picture)

    def _ask_width(self, width: int) -> None:
        if self._at < len(self._paired_replay.sessions):
            self._paired_replay.sessions[self._at].ask_width(width)


class PairedReplayView(Panel):
    left = Signal()
    """Back to the list."""
    export_asked = Signal()

    def __init__(self, paired_replay: PairedReplay, theme: Theme, name_of: Callable[[str], str]) -> None:
        """`name_of` gives an actor's name for the user."""
        super().__init__()
        self._paired_replay = paired_replay
        self.halves = [Half(paired_replay, at, theme, name_of) for at in range(2)]
        self.play = IconTool(theme, "play", "Play both", self._toggle)
        self.back = IconTool(theme, "chevron-left", "One step back", lambda: paired_replay.step(-1))
        self.step = IconTool(theme, "chevron-right", "One step", lambda: paired_replay.step(1))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step of both recordings")
        self.slider.valueChanged.connect(self._seek)
        self.where = label("", "muted")
        self.speed = ChoiceChip("speed", {name: (name, name) for name in SPEEDS}, self._set_speed)
        self.speed.choose("1×")
        self.difference = ElidedLabel()
        self.difference.setProperty("said", "warn")
        self.go_there = chip("Go to the difference", self._go_to_difference)
        self.export = IconTool(theme, "film", "Save both as a film: mp4 or GIF", self.export_asked.emit)
        close = IconTool(theme, "x", "Back to the list", self.left.emit)
        tools = (self.back, self.play, self.step, (self.slider, 1), self.where, self.speed)
        column(
            self,
            row((self.difference, 1), self.go_there, self.export, close, spacing=4, margins=(12, 2, 12, 2)),
            (row(*((half, 1) for half in self.halves), spacing=0), 1),
            row(*tools, spacing=4, margins=(8, 2, 12, 6)),
        )
        paired_replay.changed.connect(self._show)
        paired_replay.came.connect(self._came)
        self._show()

    def _show(self) -> None:
        paired_replay = self._paired_replay
        with QSignalBlocker(self.slider):
            self.slider.setMaximum(paired_replay.length)
            if not self.slider.isSliderDown():
                self.slider.setValue(paired_replay.target)
        self.where.setText(f"{paired_replay.target} / {paired_replay.length}")
        self.play.show_icon("pause" if paired_replay.playing else "play")
        self.play.rename("Pause both" if paired_replay.playing else "Play both")
        for tool in (self.play, self.back, self.step, self.slider, self.export):
            tool.setEnabled(bool(paired_replay.sessions))
        self.difference.setText(self._difference())
        self.go_there.setVisible(
            paired_replay.difference is not None and paired_replay.difference.step != paired_replay.target
        )
        for half in self.halves:
            half.show_state()

    def _difference(self) -> str:
        paired_replay = self._paired_replay
        if not paired_replay.sessions:
            return paired_replay.problem or ("Replaying both…" if paired_replay.starting else "")
        found = paired_replay.difference
        return "The same to the end." if found is None else f"They first differ at step {found.step}: {found.what}."

    def _came(self) -> None:
        for half in self.halves:
            half.board.update()

    def _toggle(self) -> None:
        self._paired_replay.play(not self._paired_replay.playing)

    def _seek(self, step: int) -> None:
        self._paired_replay.playing = False
        self._paired_replay.go_to(step)

    def _set_speed(self) -> None:
        self._paired_replay.speed = SPEEDS[self.speed.chosen]

    def _go_to_difference(self) -> None:
        if self._paired_replay.difference is not None:
            self._seek(self._paired_replay.difference.step)


def _verdict(state: Mapping[str, Any], status: str, length: int) -> str:
    replay: Mapping[str, Any] = state.get("replay") or {}
    if not replay:
        return str(state.get("reason", "")) if status == "ended" else "Starting…"
    said = replay["difference"] or ("as recorded" if replay["exact"] else "as recorded so far")
    returns = " / ".join(f"{float(total):g}" for total in state["returns"].values())
    over = "  ·  over" if state["t"] >= length else ""
    return f"step {state['t']} of {length}  ·  return {returns}{over}  ·  {said}"
