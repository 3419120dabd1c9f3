"""A video in place: its picture, play and pause, a slider to seek, and its speed."""

from pathlib import Path

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QImage, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QSlider, QWidget

from mosaic.gui.models.live.card_layout import fitted
from mosaic.gui.models.runs.video_player import VideoPlayer
from mosaic.gui.models.shown_text import tip
from mosaic.gui.theme import Theme
from mosaic.gui.widgets.blank_page import BlankPage
from mosaic.gui.widgets.choice_chip import ChoiceChip
from mosaic.gui.widgets.labels_and_buttons import column, label, pages, row
from mosaic.gui.widgets.tool_button import IconTool
from mosaic.gui.widgets.visibility import Visibility

SPEEDS = {"¼×": 0.25, "½×": 0.5, "1×": 1.0, "2×": 2.0, "4×": 4.0}
RADIUS = 7


class VideoView(QWidget):
    """Shows one file at a time; `close_film` lets go of it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.reader: VideoPlayer | None = None
        self.canvas = _Canvas(theme)
        self.problem = BlankPage(theme, "film")
        self._stack = pages(self.problem, self.canvas)
        self.play = IconTool(theme, "play", "Play", self._toggle)
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setAccessibleName("Position")
        self.slider.sliderMoved.connect(self._seek)
        self.slider.actionTriggered.connect(self._slid)
        self._time = label("", "muted")
        self.speed = ChoiceChip("speed", {name: (name, name) for name in SPEEDS}, self._set_speed)
        self.speed.choose("1×")
        self._bar = QWidget()
        controls = row(self.play, self.slider, self._time, self.speed, margins=(8, 6, 12, 8))
        controls.setStretch(1, 1)
        self._bar.setLayout(controls)
        column(self, (self._stack, 1), self._bar)
        self._seen = Visibility(self)
        self._seen.changed.connect(self._pause_unseen)
        self.say("")

    def say(self, text: str) -> None:
        """Words instead of a picture."""
        self.problem.say(text)
        self._stack.setCurrentWidget(self.problem)
        self._bar.hide()

    def open(self, path: Path) -> None:
        self.close_film()
        self.say("Opening…")
        self.reader = reader = VideoPlayer(path)
        reader.opened.connect(self._opened)
        reader.came.connect(self._came)
        reader.stopped.connect(self._show_state)
        reader.failed.connect(self._failed)
        reader.start()

    def close_film(self) -> None:
        reader, self.reader = self.reader, None
        self.canvas.image = None
        if reader is not None:
            reader.close()

    def _opened(self) -> None:
        if self.reader is None or self.sender() is not self.reader:
            return
        self.slider.setRange(0, round(1000 * self.reader.duration_s))
        self._set_speed()
        self._bar.show()
        self._stack.setCurrentWidget(self.canvas)
        if self._seen.now:
            self.reader.play()
        self._show_state()

    def _failed(self, problem: str) -> None:
        if self.sender() is not self.reader:
            return  # of the film before
        # What could be shown of it stays.
        if self.canvas.image is None:
            self.say(problem)
        else:
            self._time.setText("incomplete")
            self._time.setToolTip(tip(problem))

    def _came(self) -> None:
        reader = self.reader
        if reader is None or self.sender() is not reader:
            return
        self.canvas.image = reader.image
        self.canvas.update()
        if not self.slider.isSliderDown():
            self.slider.setValue(round(1000 * reader.position_s))
        self._time.setText(f"{_clock(reader.position_s)} / {_clock(reader.duration_s)}")

    def _toggle(self) -> None:
        if self.reader is not None:
            (self.reader.pause if self.reader.playing else self.reader.play)()
            self._show_state()

    def _pause_unseen(self, seen: bool) -> None:
        if not seen and self.reader is not None:
            self.reader.pause()
            self._show_state()

    def _seek(self, milliseconds: int) -> None:
        if self.reader is not None:
            self.reader.seek(milliseconds / 1000)

    def _slid(self, _: int) -> None:
        self._seek(self.slider.sliderPosition())

    def _show_state(self) -> None:
        playing = self.reader is not None and self.reader.playing
        self.play.show_icon("pause" if playing else "play")
        self.play.rename("Pause" if playing else "Play")

    def _set_speed(self) -> None:
        if self.reader is not None:
            self.reader.set_speed(SPEEDS[self.speed.chosen])


class _Canvas(QWidget):
    """The picture as large as fits, smooth, with round corners."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.image: QImage | None = None
        self._theme = theme
        self.setMinimumSize(QSize(160, 120))
        theme.changed.connect(self.update)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(event.rect(), self._theme.colour("panel"))
        if self.image is None:
            return
        place = fitted(self.image.size(), self.rect().adjusted(12, 4, -12, -4))
        clip = QPainterPath()
        clip.addRoundedRect(QRectF(place), RADIUS, RADIUS)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        painter.setClipPath(clip)
        painter.drawImage(place, self.image)
        painter.setClipping(False)
        painter.setPen(self._theme.colour("line"))
        painter.drawRoundedRect(QRectF(place).adjusted(0.5, 0.5, -0.5, -0.5), RADIUS, RADIUS)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{seconds % 60:04.1f}"
