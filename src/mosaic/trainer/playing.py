"""The controls of a play session for clients: what they say goes to the session's socket, what it says comes back."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from mosaic.errors import InvalidTransition
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.own_files import NotAFile
from mosaic.spec.run_dir import RunDir
from mosaic.spec.sockets import connect
from mosaic.trainer.bell import Bell

CONNECT_TIMEOUT_S = 2.0
STARTING_S = 15.0
TRY_S = 0.05
LOOK_S = 0.5
MAX_LINE = 8 * 2**20


def relay(
    run_dir: RunDir,
    first: pb.PlayCommand,
    rest: Iterator[pb.PlayCommand],
    bell: Bell,
    context: Any,
    *,
    lives: Callable[[], bool],
) -> Iterator[pb.PlayState]:
    """Until the session or its client is gone."""
    session = _connected(run_dir, lives, context)
    session.settimeout(LOOK_S)
    forward = threading.Thread(target=_forward, args=(session, first, rest), name="play-commands", daemon=True)
    forward.start()
    try:
        for line in _lines(session, bell, context):
            yield pb.PlayState(json=line)
    finally:
        with contextlib.suppress(OSError):
            session.shutdown(socket.SHUT_RDWR)
        session.close()


def _connected(run_dir: RunDir, lives: Callable[[], bool], context: Any) -> socket.socket:
    """A session that `lives` may still be making its environment: it is waited for."""
    deadline = time.monotonic() + STARTING_S
    while True:
        try:
            if run_dir.play_socket.is_symlink():
                # Another program's socket, behind a link, must not be spoken to in the client's name.
                raise NotAFile(run_dir.play_socket)
            return connect(run_dir.play_socket, timeout_s=CONNECT_TIMEOUT_S)
        except OSError as error:
            if time.monotonic() > deadline or not context.is_active() or not lives():
                raise InvalidTransition(
                    f"run {run_dir.run_id} takes no commands: it is no living play session ({error.strerror})"
                ) from error
        time.sleep(TRY_S)


def _forward(session: socket.socket, first: pb.PlayCommand, rest: Iterator[pb.PlayCommand]) -> None:
    try:
        _send(session, first)
        for command in rest:
            _send(session, command)
    except Exception:
        # A border: the stream of a client that is gone raises what it likes, the socket of a session that ended or does
        # not read an OSError. The relay ends then: one that goes on showing and takes no commands would be a lie.
        with contextlib.suppress(OSError):
            session.shutdown(socket.SHUT_RDWR)


def _send(session: socket.socket, command: pb.PlayCommand) -> None:
    if command.json:
        session.sendall(command.json.replace(b"\n", b" ") + b"\n")


def _lines(session: socket.socket, bell: Bell, context: Any) -> Iterator[bytes]:
    rest = b""
    while context.is_active() and not bell.closed and len(rest) < MAX_LINE:
        try:
            data = session.recv(1 << 16)
        except TimeoutError:
            continue
        except OSError:
            return
        if not data:
            return
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
