"""The controls of a play session for clients of other machines: their commands go to its socket, its states to them."""

import threading
import time
from collections.abc import Callable, Iterator
from socket import socket
from typing import Any

from mosaic.errors import InvalidTransition
from mosaic.rpc import play_socket
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.run_dir import RunDir
from mosaic.trainer.serving.change_signal import ChangeSignal

STARTING_S = 15.0
TRY_S = 0.05


def relay(
    run_dir: RunDir,
    first: pb.PlayCommand,
    rest: Iterator[pb.PlayCommand],
    change_signal: ChangeSignal,
    context: Any,
    *,
    lives: Callable[[], bool],
) -> Iterator[pb.PlayState]:
    """Until the session or its client is gone."""
    session = _connected(run_dir, lives, context)
    forward = threading.Thread(target=_forward, args=(session, first, rest), name="play-commands", daemon=True)
    forward.start()
    try:
        for line in play_socket.lines(session, lambda: context.is_active() and not change_signal.closed):
            yield pb.PlayState(json=line)
    finally:
        play_socket.end(session)
        session.close()


def _connected(run_dir: RunDir, lives: Callable[[], bool], context: Any) -> socket:
    """A session that `lives` may still be making its environment: it is waited for."""
    deadline = time.monotonic() + STARTING_S
    while True:
        try:
            return play_socket.connected(run_dir)
        except OSError as error:
            if time.monotonic() > deadline or not context.is_active() or not lives():
                raise InvalidTransition(
                    f"run {run_dir.run_id} takes no commands: it is not a living play session ({error.strerror})"
                ) from error
        time.sleep(TRY_S)


def _forward(session: socket, first: pb.PlayCommand, rest: Iterator[pb.PlayCommand]) -> None:
    try:
        _send(session, first)
        for command in rest:
            _send(session, command)
    except Exception:
        # A border: the stream of a client that is gone raises what it likes, the socket of a session that ended or does
        # not read an OSError. The relay ends then: one that goes on showing and takes no commands would be a lie.
        play_socket.end(session)


def _send(session: socket, command: pb.PlayCommand) -> None:
    if command.json:
        session.sendall(command.json.replace(b"\n", b" ") + b"\n")
