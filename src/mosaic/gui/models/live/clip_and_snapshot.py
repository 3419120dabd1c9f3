"""What a person keeps of the live view: a clip or a snapshot, written in a thread beside the window."""

import contextlib
import queue
import re
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtGui import QImage

from mosaic.fastlane.video_file import VideoFile
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.live.picture import Picture, Pixels
from mosaic.spec.run_dir import Home

MOST_QUEUED = 32
"""Pictures that wait for the encoder; what comes meanwhile is left out."""
LONGEST_S = 600.0
LOOK_S = 0.5
_UNSAFE = re.compile(r"[^\w.=+-]+")


class Clip(BackgroundWork):
    """An mp4 file from now until `stop`; each picture is shown from the moment at which it came."""

    ended = Signal(object, str)
    """The file and, if something went wrong, what."""

    def __init__(self, path: Path, *, fps: int) -> None:
        super().__init__()
        self.path = path
        self.pictures = 0
        """Taken so far."""
        self._fps = fps
        self._place = -1
        """Of the last one, in the film."""
        self._began = time.monotonic()
        self._waiting: queue.SimpleQueue[tuple[float, Pixels] | None] = queue.SimpleQueue()
        self._stopping = False
        # Not a daemon thread: a window that is closed meanwhile waits for a whole file.
        self.run_beside(self._work, "clip", daemon=False)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    @property
    def is_full(self) -> bool:
        return self.seconds > LONGEST_S

    def add(self, picture: Picture) -> None:
        at_s = self.seconds
        # Two that come in the time of one are one picture of the film.
        if not self._stopping and self._waiting.qsize() < MOST_QUEUED and self._place < round(at_s * self._fps):
            self._place = round(at_s * self._fps)
            self.pictures += 1
            self._waiting.put((at_s, np.ascontiguousarray(picture.pixels[:, :, 2::-1])))

    def stop(self) -> None:
        """Finish the file; `ended` says when it is whole."""
        if not self._stopping:
            self._stopping = True
            self._waiting.put(None)

    def _work(self) -> None:
        frames, problem = 0, ""
        film: VideoFile | None = None
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            for at_s, pixels in self._coming():
                film = film or VideoFile(self.path, fps=self._fps)
                frames += film.add(pixels, at_s=at_s)
        except OSError as error:
            problem = f"{self.path} could not be written: {error}"
        finally:
            if film is not None:
                film.close()
        self._stopping = True
        self.tell(self.ended, self.path, problem or ("" if frames else "no picture came while the clip was recorded"))

    def _coming(self) -> Iterator[tuple[float, Pixels]]:
        # The clips end with the application, however that ends.
        while threading.main_thread().is_alive():
            with contextlib.suppress(queue.Empty):
                if (item := self._waiting.get(timeout=LOOK_S)) is None:
                    return
                yield item


class Snapshots(BackgroundWork):
    """PNG files; compressing one takes longer than a frame lasts, so it is done beside the window."""

    saved = Signal(object, str)
    """The file and, if something went wrong, what."""

    def save(self, picture: Picture, path: Path) -> None:
        image = picture.image.copy()
        self.run_beside(lambda: self._write(image, path), "snapshot")

    def _write(self, image: QImage, path: Path) -> None:
        problem = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            problem = f"{path} could not be written: {error}"
        if not problem and not image.save(str(path)):
            problem = f"{path} could not be written; is the disk full?"
        self.tell(self.saved, path, problem)


def kept_path(home: Home, folder: str, name: str, suffix: str, *, now: Callable[[], datetime] = datetime.now) -> Path:
    """A file of the window's own, named by the run and the moment."""
    return home.root / "gui" / folder / f"{_UNSAFE.sub('-', name)}-{now():%Y%m%d-%H%M%S}{suffix}"
