"""Waking the readers of a ring: one empty datagram each, never waited for."""

import contextlib
import socket
from collections.abc import Iterable


class ReaderWakeup:
    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def ring(self, sockets: Iterable[str]) -> None:
        for path in sockets:
            # Gone, never made, or full: then it has unheard news already.
            with contextlib.suppress(OSError):
                self._socket.sendto(b"", path)

    def close(self) -> None:
        self._socket.close()
