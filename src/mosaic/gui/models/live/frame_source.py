"""A look at a run's environments: through its ring on this machine, or through the daemon.

As long as a look is open the worker renders for it.
"""

import io
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PySide6.QtCore import QObject, QSocketNotifier, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.fastlane.ring_layout import Frame
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.live.picture import Picture
from mosaic.rpc.client import Client
from mosaic.rpc.codec import LiveFrame
from mosaic.rpc.newest import Newest
from mosaic.spec import manifest
from mosaic.spec.run_dir import RunDir

BLIND_MS = 33
"""Between two looks at a ring that cannot wake its readers."""
RETRY_S = 1.0
QUALITY = 85


class LocalFrames(QObject):
    """Pictures are painted where they lie, in the ring; its writer wakes the event loop."""

    came = Signal()
    """There is a new picture."""

    def __init__(self, ring: Path, wishes: Wishes) -> None:
        super().__init__()
        self._viewer = Viewer(ring, wishes)
        self._frame: Frame | None = None
        self._picture: Picture | None = None
        self._announced = -1
        """Number of the newest frame of which `came` was said."""
        self._wake: QSocketNotifier | QTimer
        if (descriptor := self._viewer.fileno()) >= 0:
            self._wake = QSocketNotifier(descriptor, QSocketNotifier.Type.Read, self)
            self._wake.activated.connect(self._woken)
        else:
            self._wake = QTimer(self, interval=BLIND_MS)
            self._wake.timeout.connect(self._woken)
            self._wake.start()

    @property
    def note(self) -> str:
        """Why there is no picture, if that is known."""
        return self._viewer.note

    @property
    def over(self) -> bool:
        """No more pictures come."""
        return self._viewer.closed

    def ask(self, wishes: Wishes) -> None:
        self._viewer.ask(wishes)

    def peek(self) -> Picture | None:
        """The newest, as often as one likes."""
        frame = self._viewer.peek()
        if frame is not None and (self._frame is None or frame.number != self._frame.number):
            self._frame = frame
            self._picture = Picture.of(frame.number, frame.head, frame.pixels)
            # This look has used up the wake of the frame, and may be of something that does not paint.
            QTimer.singleShot(0, self._announce)
        return self._picture

    def holds(self, picture: Picture) -> bool:
        """Whether a picture that was peeked at is still the same, after it was painted."""
        return self._frame is None or picture is not self._picture or self._viewer.holds(self._frame)

    def close(self) -> None:
        if isinstance(self._wake, QSocketNotifier):
            self._wake.setEnabled(False)
        else:
            self._wake.stop()
        self._frame = self._picture = None
        self._viewer.close()

    def _woken(self) -> None:
        self.peek()
        self._announce()

    def _announce(self) -> None:
        if self._frame is not None and self._frame.number != self._announced:
            self._announced = self._frame.number
            self.came.emit()


class RemoteFrames(BackgroundWork):
    """Pictures come from the daemon and are unpacked in a thread of their own; a lost daemon is asked again."""

    came = Signal()

    def __init__(
        self, client: Callable[[], Client | None], run_id: str, wishes: Wishes, *, lasting: bool = True
    ) -> None:
        """`lasting` asks again when the stream ends; otherwise the look is over then."""
        super().__init__()
        self._lasting = lasting
        self.note = ""
        self.over = False
        self._client = client
        self._run_id = run_id
        self._wishes = wishes
        self._newest: Picture | None = None
        self._turn = threading.Lock()
        self._stream: Newest[LiveFrame] | None = None
        self._closing = threading.Event()
        self.run_beside(self._work, "remote look")

    def ask(self, wishes: Wishes) -> None:
        with self._turn:
            if wishes != self._wishes:
                self._wishes = wishes
                self._stop_stream()

    def peek(self) -> Picture | None:
        return self._newest

    def holds(self, picture: Picture) -> bool:  # noqa: ARG002 (our own picture does not change)
        return True

    def close(self) -> None:
        self._closing.set()
        with self._turn:
            self._stop_stream()

    def _stop_stream(self) -> None:
        if self._stream is not None:
            self._stream.stop()

    def _work(self) -> None:
        while not self._closing.is_set():
            wishes = self._wishes
            try:
                self._take(wishes)
            except MosaicError as error:
                self.note = str(error)
            if wishes is self._wishes:
                self._closing.wait(RETRY_S)
                if not self._lasting:
                    self.over = True
                    return

    def _take(self, wishes: Wishes) -> None:
        client = self._client()
        if client is None:
            return
        with self._turn:
            if self._closing.is_set() or wishes is not self._wishes:
                return
            self._stream = client.frames(self._run_id, quality=QUALITY, **vars(wishes))
        for frame in self._stream:
            self.note = frame.note
            if frame.image:
                self._newest = unpacked(frame)
                self.tell(self.came)


Look: TypeAlias = LocalFrames | RemoteFrames


def unpacked(frame: LiveFrame) -> Picture:
    from PIL import Image

    image = Image.open(io.BytesIO(frame.image)).convert("RGB")
    pixels = np.frombuffer(image.tobytes("raw", "BGRX"), np.uint8).reshape(image.height, image.width, 4)
    return Picture.of(frame.number, frame.head, pixels)


def rings_of(run_dir: Path) -> Sequence[Path]:
    """The rings that a run's manifest names, the newest first; they may be gone, or be another machine's."""
    try:
        announced = manifest.read(RunDir(run_dir)).artifacts
    except (OSError, MosaicError):  # Not there yet, being replaced, or gone.
        return ()
    return [Path(artifact.path) for artifact in reversed(announced) if artifact.kind == "fastlane"]
