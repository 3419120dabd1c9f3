"""How a session stands: chips with its numbers, and in words why it stands still."""

from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from mosaic.gui.widgets.labels_and_buttons import row, verdict_label
from mosaic.gui.widgets.live.hud import Hud, Tone

TONES: dict[str, Tone] = {"running": "ok", "waiting": "ok", "paused": "warn", "over": "warn", "stalled": "bad"}
QUIET = ("paused", "the session is over")
"""What the chip says already."""
NAME_LENGTH, SETTINGS_LENGTH = 18, 32
REASON_WIDTH = 200
"""A reason that gets less stands in a column of single words."""


class PlayStatus(QWidget):
    def __init__(self, name_of: Callable[[str], str]) -> None:
        """`name_of` gives an actor's name for the user."""
        super().__init__()
        self._name_of = name_of
        self._settings = ""
        self._placed: tuple[int, str, str] | None = None
        self.hud = Hud("state", "episode", "step", "turn", "return", "actor", "settings")
        self.reason = verdict_label("warn")
        # A long reason must not widen the window.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.setMinimumWidth(100)
        layout = row(self.hud, self.reason, 1)
        layout.setStretch(1, 100)
        self.setLayout(layout)

    def show_state(self, status: str, state: Mapping[str, Any]) -> None:
        self.hud.show_chip("state", f"● {status}" if status else "", TONES.get(status, ""))
        self.hud.show_chip("episode", f"episode {state['episode']}" if state.get("episode") else "")
        self.hud.show_chip("step", f"step {state['t']}" if "t" in state else "")
        returns: Mapping[str, Any] = state.get("returns", {})
        several = len(returns) > 1
        self.hud.show_chip("turn", f"turn {state['turn']}" if several and not state.get("over") else "")
        total = None if several else next(iter(returns.values()), None)
        self.hud.show_chip("return", f"return {float(total):g}" if total is not None else "")
        last: Mapping[str, Any] = state.get("last") or {}
        name = self._name_of(str(last.get("actor", "")))
        self.hud.show_chip("actor", _short(name, NAME_LENGTH))
        settings, whole = str(state.get("env_settings", "")), settings_of(state)
        self._settings = _short(settings, SETTINGS_LENGTH) or ("as by default" if whole else "")
        self.hud.explain("settings", whole)
        self._make_room()

    def say(self, reason: str) -> None:
        shown = "" if reason in QUIET else reason
        self.reason.setText(shown)
        self.reason.setVisible(bool(shown))
        self._make_room()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._make_room()

    def _make_room(self) -> None:
        """In a narrow window a reason goes before the settings, which the button beside the environment shows."""
        about = (self.width(), self.reason.text(), self._settings)
        if about == self._placed:
            return
        self._placed = about
        self.hud.show_chip("settings", self._settings)
        if self.reason.text() and self.width() - self.hud.sizeHint().width() < REASON_WIDTH:
            self.hud.show_chip("settings", "")


def settings_of(state: Mapping[str, Any]) -> str:
    """Of the environment, and those that policies were trained with where these are others; else empty."""
    seats: Mapping[str, Mapping[str, Any]] = state.get("seats", {})
    trained = [
        f"{seat} was trained with {about['trained_with']}" for seat, about in seats.items() if about.get("trained_with")
    ]
    settings = str(state.get("env_settings", ""))
    own = f"The environment has {settings}" if settings else "The environment is as by default"
    return "; ".join([own, *trained]) if settings or trained else ""


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"
