"""Over a picture: what its environment observes, how likely and how good each action seems, and what to expect."""

import json
from collections.abc import Mapping
from typing import Any

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QFrame, QWidget

from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import ElidedLabel, column
from mosaic.gui.widgets.play.observation_view import ROW, Bars
from mosaic.plain_text import plain_line

WIDTH = 264
MARGIN = 10
PICTURE_HEIGHT = 150
LEAST_HEIGHT = 90


class AgentOverlay(QFrame):
    """In the upper right corner of the picture that it lies on; clicks go through it."""

    def __init__(self, over: QWidget, theme: Theme) -> None:
        super().__init__(over)
        self.setProperty("card", True)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setAccessibleName("What the agent sees")
        self.title, self.value, self.mission = ElidedLabel("heading"), ElidedLabel("muted"), ElidedLabel("muted")
        self.bars = Bars(theme)
        column(self, self.title, self.mission, self.value, (self.bars, 1), margins=(10, 8, 6, 8), spacing=2)
        self._over = over
        over.installEventFilter(self)
        self.hide()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self._over and event.type() == QEvent.Type.Resize:
            self._place()
        return False

    def show_text(self, about: str) -> None:
        """As it came with a picture; nothing is shown where nothing was told."""
        try:
            found: Any = json.loads(about) if about else None
        except ValueError:  # Of another version: nothing that can be shown.
            found = None
        self.show_state(found if isinstance(found, dict) else {})  # pyright: ignore[reportUnknownArgumentType]

    def show_state(self, state: Mapping[str, Any]) -> None:
        """`env`, `t`, `mission`, `actions`, `last` and `observation`, as a run or a session tells them."""
        self.setVisible(bool(state))
        if not state:
            return
        last: Mapping[str, Any] = state.get("last") or {}
        where = f"env {state['env']}, " if "env" in state else ""
        self.title.setText(f"{where}step {state.get('t', 0)}")
        mission = plain_line(str(state.get("mission", "")))
        self.mission.setText(mission)
        self.mission.setToolTip(tip(mission))
        self.mission.setVisible(bool(mission))
        value: Any = last.get("value")
        self.value.setText(f"value {float(value):.4g}" if isinstance(value, int | float) else _why_none(last))
        self.bars.show_state(state)
        self._place()

    def _place(self) -> None:
        """No higher than what it says, and no higher than the picture."""
        lines = self.bars.line_count
        wanted = 74 + (PICTURE_HEIGHT if self.bars.has_picture else 0) + lines * ROW + 14
        room = max(self._over.height() - 2 * MARGIN, LEAST_HEIGHT)
        width = min(WIDTH, max(self._over.width() - 2 * MARGIN, 120))
        self.setGeometry(self._over.width() - width - MARGIN, MARGIN, width, min(wanted, room))


def _why_none(last: Mapping[str, Any]) -> str:
    return "" if last.get("probabilities") or last.get("values") else "this agent tells no value"
