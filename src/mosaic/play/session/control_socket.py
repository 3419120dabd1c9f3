"""The socket of a session: commands in, states out, both as JSON objects, one a line. docs/protocols/play.md has them.

`play.sock` in the run directory, a unix stream socket, mode 0600, for processes of the same user and of root. Every
state replaces the one before it: a reader that is slow misses states rather than see old ones. A command with an `id`
is answered by `{"id": …, "error": ""}`.
"""

import contextlib
import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.operating_system import peer_of
from mosaic.spec.processes.unix_sockets import is_of_our_user, short_address

MAX_LINE = 1 << 20
SEND_TIMEOUT_S = 5.0
CLOSE_S = 1.0


@dataclass(frozen=True)
class Command:
    data: dict[str, Any]
    reply: Callable[[str], None]
    """Told what was wrong with it; an empty text if it was obeyed."""


class ControlSocket:
    """A thread for each client; the session only hands over its newest state."""

    def __init__(self, path: Path, take: Callable[[Command], None]) -> None:
        self._path = path
        self._take = take
        self._news = threading.Condition()
        self._version = 0
        self._state = b""
        self._connections: set[_Connection] = set()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path.unlink(missing_ok=True)
        with short_address(path) as name:
            self._listener.bind(name)
        path.chmod(0o600)
        self._listener.listen(8)
        self._thread = threading.Thread(target=self._accept, name="control", daemon=True)
        self._thread.start()

    @property
    def heard(self) -> bool:
        """Whether a client is connected."""
        return bool(self._connections)

    def say(self, state: dict[str, Any]) -> None:
        """The newest state; a client that has not got the last one yet gets this one instead."""
        line = json.dumps(state, separators=(",", ":"), default=str).encode() + b"\n"
        with self._news:
            self._version += 1
            self._state = line
            self._news.notify_all()

    def close(self) -> None:
        """Every client that reads gets the last state."""
        self._path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in tuple(self._connections):
            connection.end()
        for connection in tuple(self._connections):
            connection.join(CLOSE_S)

    def _accept(self) -> None:
        while True:
            try:
                made, _ = self._listener.accept()
            except OSError:
                return
            if not is_of_our_user(peer_of(made)[1]):
                made.close()
                continue
            connection = _Connection(self, made)
            self._connections.add(connection)
            connection.start()

    # For a connection.

    def take(self, line: bytes, connection: "_Connection") -> None:
        try:
            command: Any = json.loads(line)
            if not isinstance(command, dict) or not isinstance(command.get("do"), str):
                raise ValueError('a command is {"do": …}')
        except ValueError as error:
            connection.answer(None, f"no command: {error}")
            return
        name = command.pop("id", None)
        self._take(Command(command, lambda problem: connection.answer(name, problem)))

    def next_lines(self, seen: int, connection: "_Connection") -> tuple[int, list[bytes], bool]:
        """Wait for something to say: the version of the state, the lines, and whether this is the end."""
        with self._news:
            self._news.wait_for(lambda: self._version > seen or connection.answers or connection.ending)
            lines = [connection.answers.popleft() for _ in range(len(connection.answers))]
            if self._version > seen:
                lines.append(self._state)
            return self._version, lines, connection.ending

    def wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def forget(self, connection: "_Connection") -> None:
        self._connections.discard(connection)


class _Connection:
    """One who listens."""

    def __init__(self, control: ControlSocket, made: socket.socket) -> None:
        self._control = control
        self._socket = made
        # Of sending alone: a reader that stands still is let go, one that has nothing to say is not.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(SEND_TIMEOUT_S), 0))
        self.answers: deque[bytes] = deque()
        self.ending = False
        self._writer = threading.Thread(target=self._write, name="control-write", daemon=True)
        self._reader = threading.Thread(target=self._read, name="control-read", daemon=True)

    def start(self) -> None:
        self._writer.start()
        self._reader.start()
        # A newcomer is told how things are, though nothing changed.
        self._control.take(b'{"do": "look"}', self)

    def answer(self, name: Any, problem: str) -> None:
        if name is not None or problem:
            self.answers.append(json.dumps({"id": name, "error": problem}).encode() + b"\n")
            self._control.wake()

    def end(self) -> None:
        self.ending = True
        self._control.wake()

    def join(self, timeout_s: float) -> None:
        self._writer.join(timeout_s)

    def _read(self) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while data := self._socket.recv(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._control.take(line, self)
                if len(rest) > MAX_LINE:
                    break
        self.end()

    def _write(self) -> None:
        seen = 0
        with contextlib.suppress(OSError):
            while True:
                seen, lines, ending = self._control.next_lines(seen, self)
                self._socket.sendall(b"".join(lines))
                if ending:
                    break
        self._control.forget(self)
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
