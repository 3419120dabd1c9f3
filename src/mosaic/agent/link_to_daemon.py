"""The stream to the daemon while it holds: messages out in order, a window over files, answers in."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from mosaic.errors import MosaicError
from mosaic.rpc import agent_pb2 as wire
from mosaic.rpc.channel import MAX_MESSAGE_BYTES

WINDOW = 8
"""Messages with files that the daemon has not taken in yet, at most: what is behind them waits here."""
WAIT_S = 1.0
_OPTIONS = [
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.enable_http_proxy", 0),
]
_FILES = ("piece", "folder", "gone")


class LinkBroken(MosaicError):
    """The stream to the daemon ended; `refused` if this start may not go on."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class DaemonLink:
    """From its making to `close`."""

    def __init__(self, target: str, token: str, take: Callable[[wire.ToAgent], None]) -> None:
        self._take = take
        self._outbox: queue.SimpleQueue[wire.FromAgent | None] = queue.SimpleQueue()
        self._under_way = 0
        self._changed = threading.Condition()
        self._broken: LinkBroken | None = None
        self._channel = grpc.insecure_channel(target, options=_OPTIONS)
        call = self._channel.stream_stream(
            "/mosaic.v1.Agents/Link",
            request_serializer=wire.FromAgent.SerializeToString,
            response_deserializer=wire.ToAgent.FromString,
        )
        self._call: Any = call(self._messages(), metadata=(("authorization", f"Bearer {token}"),))
        self._reader = threading.Thread(target=self._read, name="link", daemon=True)

    def open(self, hello: wire.Hello) -> None:
        self._outbox.put(wire.FromAgent(hello=hello))
        self._reader.start()

    def send(self, message: wire.FromAgent) -> None:
        """Waits as long as too many files are under way; LinkBroken when there is no link any more."""
        is_file = message.WhichOneof("said") in _FILES
        with self._changed:
            while is_file and self._under_way >= WINDOW and self._broken is None:
                self._changed.wait(WAIT_S)
            self.check()
            self._under_way += is_file
            self._outbox.put(message)

    def check(self) -> None:
        if self._broken is not None:
            raise self._broken

    def close(self) -> None:
        self._outbox.put(None)
        self._call.cancel()
        self._channel.close()
        if self._reader.is_alive() and self._reader is not threading.current_thread():
            self._reader.join()

    def _messages(self) -> Iterator[wire.FromAgent]:
        while (message := self._outbox.get()) is not None:
            yield message

    def _read(self) -> None:
        taken = 0
        problem = LinkBroken("the daemon ended the stream")
        try:
            for message in self._call:
                if message.WhichOneof("said") == "taken":
                    with self._changed:
                        self._under_way -= message.taken.messages - taken
                        taken = message.taken.messages
                        self._changed.notify_all()
                else:
                    self._take(message)
        except grpc.RpcError as error:
            refused = error.code() is grpc.StatusCode.FAILED_PRECONDITION
            problem = LinkBroken(f"{error.code().name}: {error.details()}", refused=refused)
        except (MosaicError, OSError) as error:
            problem = LinkBroken(str(error))
        finally:
            # Whatever it was: who waits for an answer must hear that none comes.
            with self._changed:
                self._broken = problem
                self._changed.notify_all()
