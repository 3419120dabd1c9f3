"""A thread that hears something from the daemon, again and again, whether the daemon is there or not."""

import threading
from collections.abc import Callable
from typing import Any

from mosaic.errors import MosaicError
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.daemon.daemon_link import DaemonLink
from mosaic.log import get_logger
from mosaic.rpc.client import Client, Stream
from mosaic.rpc.locate import DaemonUnavailable

AWAY_S = 0.25
"""Between two tries while there is no daemon; `DaemonLink` starts one."""
UNCONNECTED_S = 0.03
"""Between two looks whether the first connection is made."""
FAULT_S = 2.0

log = get_logger()


class DaemonListener:
    """Calls `hear` until it is stopped; that returns, at the latest when its stream ends, with seconds to wait."""

    def __init__(
        self,
        name: str,
        link: DaemonLink,
        hear: Callable[["DaemonListener", Client], float],
        complain: Callable[[str], object],
    ) -> None:
        self._link, self._hear, self._complain = link, hear, complain
        self._stopping = threading.Event()
        self._news = threading.Event()
        self._stream: Stream[Any] | None = None
        self._name = name
        self._thread: threading.Thread | None = None

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self, owner: BackgroundWork) -> None:
        """`owner` is what is heard for: it is kept while there may be news for it."""
        self._thread = owner.run_beside(self._run, self._name)

    def stop(self) -> None:
        """Without waiting for its end."""
        self._stopping.set()
        self.turn()

    def join(self, timeout_s: float) -> None:
        """A call that a hung daemon does not answer is left behind; it ends with the connection."""
        if self._thread is not None:
            self._thread.join(timeout_s)

    def turn(self) -> None:
        """End the stream that is being read, if any, and hear anew at once. From any thread."""
        self._news.set()
        if (stream := self._stream) is not None:
            stream.stop()

    def reading(self, stream: Stream[Any]) -> None:
        """What `turn` ends."""
        self._stream = stream
        if self._news.is_set():
            stream.stop()

    def wait(self, seconds: float) -> None:
        self._stopping.wait(seconds)

    def _run(self) -> None:
        fault = ""
        while not self._stopping.is_set():
            self._news.clear()
            try:
                pause_s, told = self._one(), ""
            except DaemonUnavailable:
                pause_s, told = AWAY_S, fault
            except MosaicError as error:
                pause_s, told = FAULT_S, str(error)
            except Exception as error:  # The border of the thread: one bad answer must not end all news.
                pause_s, told = FAULT_S, f"an error in the window: {error!r}"
                if told != fault and not self._stopping.is_set():
                    log.exception("hearing.failed")
            if told not in ("", fault):
                self._complain(told)
            fault, self._stream = told, None
            if not self._stopping.is_set():
                self._news.wait(pause_s)

    def _one(self) -> float:
        client = self._link.client
        return UNCONNECTED_S if client is None else self._hear(self, client)
