"""A viewer: a ring, a lease that is kept alive, and the newest frame as soon as it is there."""

import contextlib
import select
import threading
import time
from pathlib import Path
from types import TracebackType

from mosaic.fastlane.ring import RingReader
from mosaic.fastlane.ring_files import writer_lives
from mosaic.fastlane.ring_layout import Frame, RingRefused
from mosaic.fastlane.viewer_lease import RENEW_S, Lease, Wishes

LOOK_S = 0.1
"""A frame whose datagram was lost is seen this late."""
POLL_S = 0.001
"""Without a socket."""


class Viewer:
    """Opened on a ring's path; as long as it is open the worker renders for it."""

    def __init__(self, path: Path, wishes: Wishes | None = None) -> None:
        self._path = path
        self._reader = RingReader(path)
        try:
            self._lease = Lease(path, wishes or Wishes())
        except OSError as error:
            self._reader.close()
            raise RingRefused(f"the viewer's lease beside {path} could not be written: {error.strerror}") from error
        self._lost = False
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()
        # What was published before this viewer came may be old, and not what it asked for.
        self._first = self._seen = self._reader.published

    def ask(self, wishes: Wishes) -> None:
        """Change mode, slot, rate, size or budget."""
        with contextlib.suppress(OSError):  # No room just now: the lease's thread tries again.
            self._lease.ask(wishes)

    @property
    def note(self) -> str:
        """Why there is no picture, if the worker said so."""
        return self._reader.note

    @property
    def closed(self) -> bool:
        """The run has ended, was killed, or closed its live view."""
        return self._lost or self._reader.closed

    def fileno(self) -> int:
        """Readable when there may be a new frame (for select or a QSocketNotifier), or -1: then look now and then."""
        return -1 if self._lease.wake is None else self._lease.wake.fileno()

    def newest(self) -> Frame | None:
        """The newest frame that this viewer has not had yet, or None; does not wait."""
        self._drain()
        frame = self._reader.newest(self._seen)
        if frame is not None:
            self._seen = frame.number
        return frame

    def peek(self) -> Frame | None:
        """The newest frame since this viewer came, as often as one likes, in place: for a painter that copies nothing.

        What was painted is whole if `holds` says so afterwards.
        """
        self._drain()
        return self._reader.peek(self._first)

    def holds(self, frame: Frame) -> bool:
        """Whether a frame that was peeked at has not been overwritten since."""
        return self._reader.holds(frame)

    def wait(self, timeout_s: float) -> Frame | None:
        """The next frame, or None when the time is over or the ring is closed."""
        deadline = time.monotonic() + timeout_s
        while (frame := self.newest()) is None and not self.closed:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                break
            if self._lease.wake is None:
                time.sleep(min(left_s, POLL_S))
            else:
                select.select([self._lease.wake], [], [], min(left_s, LOOK_S))
        return frame

    def _drain(self) -> None:
        wake = self._lease.wake
        with contextlib.suppress(BlockingIOError):
            while wake is not None:
                wake.recv(1)

    def _renew(self) -> None:
        while not self._closing.wait(RENEW_S):
            with contextlib.suppress(OSError):
                self._lease.renew()
            self._lost = not writer_lives(self._path)

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
        self._lease.close()
        self._reader.close()

    def __enter__(self) -> "Viewer":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
