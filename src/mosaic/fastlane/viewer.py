"""A viewer: a ring, a lease that is kept alive, and the newest frame as soon as it is there."""

import threading
import time
from pathlib import Path
from types import TracebackType

from mosaic.fastlane.lease import RENEW_S, Lease, Wishes
from mosaic.fastlane.ring import Frame, RingReader

POLL_S = 0.0007


class Viewer:
    """Opened on a ring's path; as long as it is open the worker renders for it."""

    def __init__(self, path: Path, wishes: Wishes | None = None) -> None:
        self._reader = RingReader(path)
        self._lease = Lease(path, wishes or Wishes())
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()
        self._seen = 0

    def ask(self, wishes: Wishes) -> None:
        """Change mode, slot, rate, size or budget."""
        self._lease.ask(wishes)

    @property
    def note(self) -> str:
        """Why there is no picture, if the worker said so."""
        return self._reader.note

    @property
    def closed(self) -> bool:
        """The run has ended or closed its live view."""
        return self._reader.closed

    def newest(self) -> Frame | None:
        """The newest frame that this viewer has not had yet, or None; does not wait."""
        frame = self._reader.newest(self._seen)
        if frame is not None:
            self._seen = frame.number
        return frame

    def wait(self, timeout_s: float) -> Frame | None:
        """The next frame, or None when the time is over or the ring is closed."""
        deadline = time.monotonic() + timeout_s
        while (frame := self.newest()) is None and not self.closed and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return frame

    def _renew(self) -> None:
        while not self._closing.wait(RENEW_S):
            self._lease.renew()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self._lease.close()
        self._reader.close()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
