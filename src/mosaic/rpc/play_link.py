"""The controls of a living play session, through the daemon; `play_socket` has those of one on this machine."""

import json
import queue
from typing import Any

from mosaic import config
from mosaic.config import JsonObject
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.reply_stream import Stream


class PlayLink:
    """Commands to a play session, from any thread; iterate over it for states and answers (docs/protocols/play.md)."""

    def __init__(self, stub: Any, run_id: str) -> None:
        self._commands: queue.SimpleQueue[pb.PlayCommand | None] = queue.SimpleQueue()
        self._commands.put(pb.PlayCommand(run_id=run_id))
        self._states: Stream[JsonObject] = Stream(stub.Play(iter(self._commands.get, None)), _state)

    def send(self, do: str, **values: config.JsonValue) -> None:
        """Never waits."""
        self._commands.put(pb.PlayCommand(json=json.dumps({"do": do, **values}).encode()))

    def __iter__(self) -> "Stream[JsonObject]":
        return self._states

    def close(self) -> None:
        self._commands.put(None)
        self._states.stop()


def _state(message: pb.PlayState) -> JsonObject:
    return config.loads(message.json, what="state of a play session")
