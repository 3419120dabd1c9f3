"""The daemon's unix socket: the kernel tells the uid of each process that connects; ours and root's get through.

gRPC for Python neither tells that uid nor takes a connection that was accepted elsewhere. So this socket is accepted
here, the peer is checked before one byte of it is read, and its bytes are passed on to gRPC's own socket. On Linux that
one has no name: it is bound, opened and unlinked, and reached through this process's open descriptor alone. Elsewhere
it keeps its name, in the same folder, which only our user can enter.
A peer that is refused finds its connection closed; the daemon's log names its uid.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import grpc

from mosaic.log import get_logger
from mosaic.operating_system import peer_of, take_name_off
from mosaic.spec.processes.unix_sockets import is_of_our_user

BUFFER_BYTES = 256 * 1024
BACKLOG = 128
RETRY_S = 0.1

log = get_logger()


class LocalSocket:
    """Accepts at `path` and passes on to a server of gRPC, which is to be started after this is made."""

    def __init__(self, path: Path, server: grpc.Server) -> None:
        self._path = path
        self._inner_path = path.with_name(f"{path.name}.rpc")
        self._inner = _listening(self._inner_path, server)
        self._refused: set[int] = set()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)
        _with_mode_0600(lambda: self._listener.bind(str(path)))

    def start(self) -> None:
        self._listener.listen(BACKLOG)
        threading.Thread(target=self._accept, name="local-socket", daemon=True).start()

    def close(self, *, unlink: bool) -> None:
        """No further connection; those that are open end with gRPC's server."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        if unlink:
            with contextlib.suppress(OSError):  # A read-only disk keeps it; the next daemon removes it.
                self._path.unlink(missing_ok=True)
                self._inner_path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError as error:
                if self._listener.fileno() < 0:
                    return
                # No descriptors or no memory left for the moment: clients that wait are accepted when there are.
                log.warning("peer.not_accepted", error=str(error))
                time.sleep(RETRY_S)
                continue
            try:
                self._let_in(peer)
            except (OSError, RuntimeError) as error:  # RuntimeError: no thread can be started now.
                log.warning("peer.not_accepted", error=str(error))
                peer.close()

    def _let_in(self, peer: socket.socket) -> None:
        pid, uid = peer_of(peer)
        if not is_of_our_user(uid):
            if uid not in self._refused:  # Once for each: a stranger must not fill the log.
                self._refused.add(uid)
                log.warning("peer.refused", uid=uid, pid=pid)
            peer.close()
            return
        inner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            inner.connect(self._inner)
            ends = _Ends(peer, inner)
            for source, sink in ((peer, inner), (inner, peer)):
                threading.Thread(target=ends.carry, args=(source, sink), name="peer", daemon=True).start()
        except (OSError, RuntimeError):
            inner.close()
            raise


class _Ends:
    """Two connected sockets, closed when neither direction uses them any more."""

    def __init__(self, *sockets: socket.socket) -> None:
        self._sockets = sockets
        self._lock = threading.Lock()
        self._left = len(sockets)

    def carry(self, source: socket.socket, sink: socket.socket) -> None:
        buffer = memoryview(bytearray(BUFFER_BYTES))
        # An OSError is how a peer that is gone looks; the other side is told by the shutdown.
        with contextlib.suppress(OSError):
            while count := source.recv_into(buffer):
                sink.sendall(buffer[:count])
        for end in self._sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._left -= 1
            if self._left == 0:
                for end in self._sockets:
                    end.close()


def _listening(path: Path, server: grpc.Server) -> str:
    """Let the server listen at a path for the moment until that has no name; the address at which it is reached."""
    path.unlink(missing_ok=True)
    _with_mode_0600(lambda: server.add_insecure_port(f"unix:{path}"))
    return take_name_off(path)


def _with_mode_0600(make: Callable[[], object]) -> None:
    """The mode is there from the first moment, not set a moment later."""
    old_mask = os.umask(0o177)
    try:
        make()
    finally:
        os.umask(old_mask)
