"""What the actor saw and thought: the observation as numbers, bars or a picture, and what each action seemed worth."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from mosaic.gui.assets import text_font
from mosaic.gui.models.live.card_layout import fitted
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.labels_and_buttons import read_only, row

ROW = 20
MOST_BARS = 40
LABEL_WIDTH, NUMBER_WIDTH = 92, 72


class ObservationView(QWidget):
    """Text on the left; bars, or the picture that the observation is, on the right."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.text = read_only("Observation and last action")
        self.bars = Bars(theme)
        row((self.text, 1), (self.bars, 1), of=self, spacing=0)

    def show_state(self, state: Mapping[str, Any]) -> None:
        text = "\n".join([*_last_lines(state), "", *_lines("observation", state.get("observation"))])
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
        self.bars.show_state(state)


class Bars(QWidget):
    """Probabilities or values of the actions, then the numbers of a small observation."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._rows: list[tuple[str, float, str]] = []
        self._image: QImage | None = None
        self._bytes = b""
        self.setMinimumWidth(180)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(300, 240)

    @property
    def line_count(self) -> int:
        return len(self._rows)

    @property
    def has_picture(self) -> bool:
        return self._image is not None

    def show_state(self, state: Mapping[str, Any]) -> None:
        last: Mapping[str, Any] = state.get("last") or {}
        names: Sequence[str] = state.get("actions") or ()
        rows: list[tuple[str, float, str]] = []
        for key, token in (("probabilities", "accent"), ("values", "ok")):
            known: Sequence[float] = last.get(key) or ()
            rows += [
                (str(names[at]) if at < len(names) else str(at), float(value), token) for at, value in enumerate(known)
            ]
        observation: Mapping[str, Any] = state.get("observation") or {}
        numbers: Sequence[float] = observation.get("numbers") or ()
        if len(observation.get("shape", [])) <= 1 and len(numbers) > 1:
            rows += [(f"[{at}]", float(value), "warn") for at, value in enumerate(numbers)]
        self._rows = rows[:MOST_BARS]
        self._image = self._picture(observation)
        self.update()

    def _picture(self, observation: Mapping[str, Any]) -> QImage | None:
        shape, data = observation.get("picture") or observation.get("shape", []), observation.get("bytes")
        if not data or len(shape) not in (2, 3) or (len(shape) == 3 and shape[2] not in (1, 3)):
            return None
        # Kept: the image lies on these bytes.
        self._bytes = base64.b64decode(data)
        height, width, depth = shape[0], shape[1], shape[2] if len(shape) == 3 else 1
        kind = QImage.Format.Format_RGB888 if depth == 3 else QImage.Format.Format_Grayscale8
        return QImage(self._bytes, width, height, width * depth, kind)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        if self._image is not None:
            below = ROW * len(self._rows) + 10 if self._rows else 0
            painter.drawImage(fitted(self._image.size(), self.rect().adjusted(12, 12 + below, -12, -12)), self._image)
        font = text_font()
        font.setPixelSize(11)
        painter.setFont(font)
        widest = {token: max((abs(v) for _, v, t in self._rows if t == token), default=1.0) for token in ("ok", "warn")}
        # No half lines: what has no room is left out.
        for at, (name, value, token) in enumerate(self._rows[: max((self.height() - 10) // ROW, 1)]):
            self._paint_row(painter, at, name, value, self._theme.colour(token), widest.get(token, 1.0) or 1.0)

    def _paint_row(self, painter: QPainter, at: int, name: str, value: float, colour: QColor, most: float) -> None:
        y = 10 + at * ROW
        painter.setPen(self._theme.colour("muted"))
        left = Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRect(12, y, LABEL_WIDTH, ROW), left, name)
        room = QRect(12 + LABEL_WIDTH, y + 5, max(self.width() - LABEL_WIDTH - NUMBER_WIDTH - 30, 20), ROW - 10)
        painter.fillRect(room, self._theme.colour("raised"))
        length = int(room.width() * min(abs(value) / most, 1.0))
        painter.fillRect(QRect(room.left(), room.top(), length, room.height()), colour)
        painter.setPen(self._theme.colour("text"))
        painter.drawText(
            QRect(room.right() + 6, y, NUMBER_WIDTH, ROW), left | Qt.AlignmentFlag.AlignRight, f"{value:.3g}"
        )


def _last_lines(state: Mapping[str, Any]) -> Sequence[str]:
    last: Mapping[str, Any] = state.get("last") or {}
    if last.get("action") is None:
        return ["no action yet"]
    names: Sequence[str] = state.get("actions") or ()
    action: Any = last["action"]
    name = f" ({names[action]})" if isinstance(action, int) and 0 <= action < len(names) else ""
    lines = [f"action  {action}{name}", f"by      {last['actor']}", f"reward  {last['reward']:g}"]
    if last.get("value") is not None:
        lines.append(f"value   {last['value']:.4g}")
    return [*lines, *([str(last["note"])] if last.get("note") else [])]


def _lines(name: str, about: Mapping[str, Any] | None) -> list[str]:
    if not about:
        return []
    if about.get("kind") == "mapping":
        return [line for key, item in about["items"].items() for line in _lines(f"{name}.{key}", item)]
    if about.get("kind") == "text":
        return [f"{name}: {about['text']}"]
    shape = "×".join(map(str, about["shape"])) or "1"
    head = f"{name}: {shape} {about['dtype']}"
    numbers: Sequence[Any] | None = about.get("numbers")
    if numbers is None:
        return [head]
    per_line: int = about["shape"][-1] if len(about["shape"]) > 1 else 4
    texts = [f"{value:>10.4g}" if isinstance(value, int | float) else str(value) for value in numbers]
    return [head, *(" ".join(texts[at : at + per_line]) for at in range(0, len(texts), per_line))]
