"""Plays a video file: frames are decoded in a thread of their own, at their time, and handed out one by one."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtGui import QImage

from mosaic.gui.models.background_work import BackgroundWork

DEFAULT_FPS = 30


class VideoPlayer(BackgroundWork):
    """Opened paused at its first frame. All calls return at once."""

    opened = Signal()
    came = Signal()
    """There is another picture."""
    stopped = Signal()
    """Its end was reached."""
    failed = Signal(str)

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.duration_s = 0.0
        self.position_s = 0.0
        self.image: QImage | None = None
        self.playing = False
        self._speed = 1.0
        self._wanted_s: float | None = None
        self._closing = False
        self._changed = threading.Condition()
        self._clock = (0.0, 0.0)
        """A moment of the film, and when it was shown."""

    def start(self) -> None:
        """Open the file, once the signals are connected."""
        self.run_beside(self._work, "film")

    @property
    def at_end(self) -> bool:
        return not self.playing and self.position_s >= self.duration_s

    def play(self) -> None:
        with self._changed:
            if self.at_end:
                self._wanted_s = 0.0
            self.playing = True
            self._clock = (self.position_s, time.monotonic())
            self._changed.notify()

    def pause(self) -> None:
        with self._changed:
            self.playing = False
            self._changed.notify()

    def seek(self, seconds: float) -> None:
        """Show the frame of this moment."""
        with self._changed:
            self._wanted_s = min(max(seconds, 0.0), self.duration_s)
            self._changed.notify()

    def set_speed(self, speed: float) -> None:
        with self._changed:
            self._speed = speed
            self._clock = (self.position_s, time.monotonic())
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify()

    # In the thread.

    def _work(self) -> None:
        # Only here: it is large, and most windows play no film.
        import av

        library: Any = av
        try:
            with library.open(str(self.path)) as container:
                self._run(container)
        except (library.error.FFmpegError, OSError, IndexError) as error:
            if not self._closing:
                self.tell(self.failed, f"{self.path.name} cannot be played: {error}. It may not be complete.")

    def _run(self, container: Any) -> None:
        stream = container.streams.video[0]
        # One thread: a learner wants the others.
        stream.codec_context.thread_count = 1
        frame_s = float(1 / (stream.average_rate or DEFAULT_FPS))
        self.duration_s = float((stream.duration or 0) * stream.time_base)
        frames: Iterator[Any] = container.decode(stream)
        self._show(next(frames, None))
        self.tell(self.opened)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._closing or self._wanted_s is not None or self.playing)
                if self._closing:
                    return
                wanted_s, self._wanted_s = self._wanted_s, None
            if wanted_s is not None:
                container.seek(int(wanted_s / stream.time_base), stream=stream, backward=True)
                frames = container.decode(stream)
                self._show(next((frame for frame in frames if frame.time > wanted_s - frame_s / 2), None))
                self._clock = (self.position_s, time.monotonic())
            elif (frame := next(frames, None)) is None:
                self.playing = False
                self.position_s = self.duration_s
                self.tell(self.stopped)
            elif self._wait_for(frame):
                self._show(frame)

    def _wait_for(self, frame: Any) -> bool:
        """Until it is time for this frame; False if something else was asked for before that."""
        with self._changed:
            while self.playing and not self._closing and self._wanted_s is None:
                moment_s, shown_at = self._clock
                left_s = shown_at + (float(frame.time) - moment_s) / self._speed - time.monotonic()
                if left_s <= 0:
                    return True
                self._changed.wait(left_s)
        # Paused while it waited: it is the next picture all the same.
        return self._wanted_s is None and not self._closing

    def _show(self, frame: Any) -> None:
        if frame is None:
            return
        pixels = frame.to_ndarray(format="bgra")
        height, width = pixels.shape[:2]
        image = QImage(pixels.reshape(-1).data, width, height, 4 * width, QImage.Format.Format_RGB32)
        self.image = image.copy()
        self.position_s = float(frame.time)
        self.tell(self.came)
