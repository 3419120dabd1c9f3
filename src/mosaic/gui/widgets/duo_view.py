"""Two replays next to each other: one slider, one pace, and where they first differ."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSlider, QWidget

from mosaic.gui.models.duo import Duo
from mosaic.gui.models.picture import Picture
from mosaic.gui.models.play import SPEEDS
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.parts import ElidedLabel, Panel, column, label, row
from mosaic.gui.widgets.play_board import PlayBoard
from mosaic.gui.widgets.tool_button import IconTool


class Half(QWidget):
    """One replay with what is to be said of it."""

    def __init__(self, duo: Duo, at: int, theme: Theme, name_of: Callable[[str], str]) -> None:
        super().__init__()
        self._duo, self._at, self._name_of = duo, at, name_of
        self.board = PlayBoard(theme, self._picture, self._holds)
        self.board.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.board.width_shown.connect(self._ask_width)
        self.title, self.verdict = ElidedLabel(), ElidedLabel()
        self.title.setProperty("heading", True)
        self.verdict.setProperty("muted", True)
        column(self, self.title, self.verdict, (self.board, 1), margins=(12, 4, 12, 0), spacing=2)

    def show_state(self) -> None:
        if self._at >= len(self._duo.sessions):
            return
        recorded, session = self._duo.recorded[self._at], self._duo.sessions[self._at]
        actors = ", ".join(dict.fromkeys(map(self._name_of, recorded.head.seats.values())))
        self.title.setText(f"{actors}  ·  episode {recorded.head.episode}, seed {recorded.head.seed}")
        self.title.setToolTip(tip(recorded.name))
        self.verdict.setText(_verdict(session.state, session.status, len(recorded.steps)))
        self.verdict.setToolTip(tip(self.verdict.text()))
        self.board.update()

    def _picture(self) -> Picture | None:
        return self._duo.sessions[self._at].picture() if self._at < len(self._duo.sessions) else None

    def _holds(self, picture: Picture) -> bool:
        return self._at >= len(self._duo.sessions) or self._duo.sessions[self._at].holds(picture)

    def _ask_width(self, width: int) -> None:
        if self._at < len(self._duo.sessions):
            self._duo.sessions[self._at].ask_width(width)


class DuoView(Panel):
    left = Signal()
    """Back to the list."""
    export_asked = Signal()

    def __init__(self, duo: Duo, theme: Theme, name_of: Callable[[str], str]) -> None:
        """`name_of` says what people call an actor."""
        super().__init__()
        self._duo = duo
        self.halves = [Half(duo, at, theme, name_of) for at in range(2)]
        self.play = IconTool(theme, "play", "Play both", self._toggle)
        self.back = IconTool(theme, "chevron-left", "One step back", lambda: duo.step(-1))
        self.step = IconTool(theme, "chevron-right", "One step", lambda: duo.step(1))
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Step of both recordings")
        self.slider.valueChanged.connect(self._seek)
        self.where = label("", "muted")
        self.speed = ChoiceChip("speed", {name: (name, name) for name in SPEEDS}, self._set_speed)
        self.speed.choose("1×")
        self.difference = ElidedLabel()
        self.difference.setProperty("said", "warn")
        self.go_there = QPushButton("Go there")
        self.go_there.setProperty("chip", True)
        self.go_there.clicked.connect(self._go_to_difference)
        self.export = IconTool(theme, "film", "Save both as a film: mp4 or GIF", self.export_asked.emit)
        close = IconTool(theme, "x", "Back to the list", self.left.emit)
        both = QHBoxLayout()
        both.setSpacing(0)
        for half in self.halves:
            both.addWidget(half, 1)
        said = row(self.difference, self.go_there, self.export, close, spacing=4, margins=(12, 2, 12, 2))
        said.setStretch(0, 1)
        bar = row(
            self.back, self.play, self.step, self.slider, self.where, self.speed, spacing=4, margins=(8, 2, 12, 6)
        )
        bar.setStretch(3, 1)
        column(self, said, (both, 1), bar)
        duo.changed.connect(self._show)
        duo.came.connect(self._came)
        self._show()

    def _show(self) -> None:
        duo = self._duo
        self.slider.blockSignals(True)
        self.slider.setMaximum(duo.length)
        if not self.slider.isSliderDown():
            self.slider.setValue(duo.target)
        self.slider.blockSignals(False)
        self.where.setText(f"{duo.target} / {duo.length}")
        self.play.show_icon("pause" if duo.playing else "play")
        self.play.rename("Pause both" if duo.playing else "Play both")
        for tool in (self.play, self.back, self.step, self.slider, self.export):
            tool.setEnabled(bool(duo.sessions))
        self.difference.setText(self._difference())
        self.go_there.setVisible(duo.difference is not None and duo.difference.step != duo.target)
        for half in self.halves:
            half.show_state()

    def _difference(self) -> str:
        duo = self._duo
        if not duo.sessions:
            return duo.problem or ("Making both again…" if duo.starting else "")
        found = duo.difference
        return "The same to the end." if found is None else f"They first differ at step {found.step}: {found.what}."

    def _came(self) -> None:
        for half in self.halves:
            half.board.update()

    def _toggle(self) -> None:
        self._duo.play(not self._duo.playing)

    def _seek(self, step: int) -> None:
        self._duo.playing = False
        self._duo.go_to(step)

    def _set_speed(self) -> None:
        self._duo.speed = SPEEDS[self.speed.chosen]

    def _go_to_difference(self) -> None:
        if self._duo.difference is not None:
            self._seek(self._duo.difference.step)


def _verdict(state: Mapping[str, Any], status: str, length: int) -> str:
    replay: Mapping[str, Any] = state.get("replay") or {}
    if not replay:
        return str(state.get("reason", "")) if status == "ended" else "Starting…"
    said = replay["difference"] or ("as recorded" if replay["exact"] else "as recorded so far")
    returns = " / ".join(f"{float(total):g}" for total in state["returns"].values())
    over = "  ·  over" if state["t"] >= length else ""
    return f"step {state['t']} of {length}  ·  return {returns}{over}  ·  {said}"
