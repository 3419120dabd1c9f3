"""Live frames of runs on other machines: asked of their agents while a viewer is there, and handed on as they come.

A viewer that cannot keep up misses frames: an agent sends the next one when the last one was taken.
"""

import contextlib
import itertools
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mosaic.rpc import agent_pb2 as wire
from mosaic.rpc import trainer_pb2 as pb
from mosaic.trainer.agents.starts import Start

WAIT_S = 0.5
MOST = 8
"""Frames that wait for a viewer: an agent that does not keep to what it may send fills no memory."""


@dataclass
class _Viewer:
    run_id: str
    frames: "queue.Queue[wire.WatchedFrame | None]" = field(
        default_factory=lambda: queue.Queue[wire.WatchedFrame | None](MOST)
    )

    def put(self, message: wire.WatchedFrame | None) -> None:
        """The oldest one gives way to it."""
        while True:
            try:
                self.frames.put_nowait(message)
                return
            except queue.Full:
                with contextlib.suppress(queue.Empty):
                    self.frames.get_nowait()


class WatchedFrames:
    """All viewers of runs on other machines."""

    def __init__(self) -> None:
        self._viewers: dict[int, _Viewer] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def stream(
        self, start: Start, request: pb.StreamFramesRequest, *, is_wanted: Callable[[], bool]
    ) -> Iterator[pb.LiveFrame]:
        """Frames until the viewer, the worker or the link to its node is gone."""
        viewer = _Viewer(start.file.run_id)
        with self._lock:
            number = next(self._numbers)
            self._viewers[number] = viewer
        try:
            start.send(wire.ToAgent(watch=wire.Watch(viewer=number, wishes=request)))
            while is_wanted():
                try:
                    message = viewer.frames.get(timeout=WAIT_S)
                except queue.Empty:
                    continue
                if message is None:
                    return
                if message.over:
                    if message.problem:
                        yield pb.LiveFrame(note=message.problem)
                    return
                yield message.frame
                start.send(wire.ToAgent(frame_taken=wire.FrameTaken(viewer=number)))
        finally:
            with self._lock:
                del self._viewers[number]
            start.send(wire.ToAgent(unwatch=wire.Unwatch(viewer=number)))

    def take(self, run_id: str, message: wire.WatchedFrame) -> None:
        """From an agent, which may only speak for its own run."""
        with self._lock:
            viewer = self._viewers.get(message.viewer)
        if viewer is not None and viewer.run_id == run_id:
            viewer.put(message)

    def lost(self, run_id: str) -> None:
        """Its agent is away: a viewer asks again if it still wants to look."""
        with self._lock:
            for viewer in self._viewers.values():
                if viewer.run_id == run_id:
                    viewer.put(None)
