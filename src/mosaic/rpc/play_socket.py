"""The socket of a play session (docs/protocols/play.md): for a client on the session's machine, and for the daemon.

A client of another machine reaches it through the daemon (`mosaic.rpc.client.PlayLink`), with the same methods.
"""

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator

from mosaic import config
from mosaic.config import JsonObject
from mosaic.spec.files.files_of_run import NotAFile
from mosaic.spec.processes.unix_sockets import connect
from mosaic.spec.run_dir import RunDir

CONNECT_TIMEOUT_S = 2.0
LOOK_S = 0.5
MAX_LINE = 8 * 2**20


def connected(run_dir: RunDir) -> socket.socket:
    """A stream to the session of a run; OSError if none listens."""
    if run_dir.play_socket.is_symlink():
        # Another program's socket, behind a link, must not be spoken to in the client's name.
        raise NotAFile(run_dir.play_socket)
    session = connect(run_dir.play_socket, timeout_s=CONNECT_TIMEOUT_S)
    session.settimeout(LOOK_S)
    return session


def lines(session: socket.socket, goes_on: Callable[[], bool]) -> Iterator[bytes]:
    """What a session says, until it ends or `goes_on` is False."""
    rest = b""
    while goes_on() and len(rest) < MAX_LINE:
        try:
            data = session.recv(1 << 16)
        except TimeoutError:
            continue
        except OSError:
            return
        if not data:
            return
        *whole, rest = (rest + data).split(b"\n")
        yield from whole


def end(session: socket.socket) -> None:
    """A thread that reads from it or writes to it gets its end."""
    with contextlib.suppress(OSError):
        session.shutdown(socket.SHUT_RDWR)


class PlaySocket:
    """Commands to a session, from any thread; iterate over it for states and answers."""

    def __init__(self, run_dir: RunDir) -> None:
        self._session = connected(run_dir)
        self._closing = threading.Event()
        self._commands: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="play-commands", daemon=True)
        self._thread.start()

    def send(self, do: str, **values: config.JsonValue) -> None:
        """Never waits."""
        self._commands.put(json.dumps({"do": do, **values}).encode() + b"\n")

    def __iter__(self) -> Iterator[JsonObject]:
        for line in lines(self._session, lambda: not self._closing.is_set()):
            yield config.loads(line, what="state of a play session")

    def close(self) -> None:
        """What was sent before still goes out."""
        self._closing.set()
        self._commands.put(None)

    def _write(self) -> None:
        # A session that has ended, or does not read, takes no commands any more; its reader hears that, too.
        with contextlib.suppress(OSError):
            for command in iter(self._commands.get, None):
                self._session.sendall(command)
        end(self._session)
        self._session.close()
