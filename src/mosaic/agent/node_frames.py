"""Live frames of an agent's run: read from the ring of its worker while a viewer is there."""

import threading
from collections.abc import Callable

from mosaic.errors import MosaicError
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.run_dir import RunDir
from mosaic.trainer.serving import live_frames
from mosaic.trainer.serving.change_signal import ChangeSignal

IN_FLIGHT = 4
"""Frames under way at most: a slow link shows fewer of them, never older ones."""


class _Viewer:
    """What `live_frames` asks of a call."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.credit = threading.Semaphore(IN_FLIGHT)

    def is_active(self) -> bool:
        return not self.over.is_set()


class NodeFrames:
    """All viewers of one run."""

    def __init__(self, run_dir: RunDir, send: Callable[[wire.FromAgent], None]) -> None:
        self._run_dir = run_dir
        self._send = send
        self._viewers: dict[int, _Viewer] = {}
        self._signal = ChangeSignal()

    def watch(self, watch: wire.Watch) -> None:
        viewer = self._viewers[watch.viewer] = _Viewer()
        threading.Thread(target=self._show, args=(watch, viewer), name="frames", daemon=True).start()

    def taken(self, number: int) -> None:
        if (viewer := self._viewers.get(number)) is not None:
            viewer.credit.release()

    def unwatch(self, number: int) -> None:
        if (viewer := self._viewers.pop(number, None)) is not None:
            viewer.over.set()
            viewer.credit.release()

    def close(self) -> None:
        for number in list(self._viewers):
            self.unwatch(number)

    def _show(self, watch: wire.Watch, viewer: _Viewer) -> None:
        problem = ""
        try:
            for frame in live_frames.stream(self._run_dir, watch.wishes, self._signal, viewer):
                self._send(wire.FromAgent(frame=wire.WatchedFrame(viewer=watch.viewer, frame=frame)))
                viewer.credit.acquire()
        except MosaicError as error:
            problem = str(error)
        if viewer.is_active():
            self._send(wire.FromAgent(frame=wire.WatchedFrame(viewer=watch.viewer, over=True, problem=problem)))
