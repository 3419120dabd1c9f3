"""Telling the daemon that a run's spool has grown: the daemon reads the events there. Never in the way of the run.

Whether a daemon is there, slow, stopped or dead makes no difference to the learner.
"""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mosaic import config
from mosaic.log import get_logger
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_methods import TrainerStub
from mosaic.rpc.trainer_pb2 import PublishEventsRequest, RegisterWorkerRequest
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import RunDir

POLL_S = 0.2
RETRY_S = 1.0
LAST_WORDS_S = 2.0
"""How long the end of a run waits for the last ping; the spool has everything in any case."""
CALL_TIMEOUT_S = 10.0

log = get_logger()


class EventPublisher:
    """One thread that keeps a daemon up to date as long as the run lasts."""

    def __init__(self, run_dir: RunDir, target: str, *, superseded: Callable[[], None]) -> None:
        self._run_dir = run_dir
        self._target = target
        self._superseded = superseded
        """Called if the daemon has started a later attempt of this run: this one must end."""
        self._closing = threading.Event()
        self._abandoned = threading.Event()
        self._thread = threading.Thread(target=self._work, name="publisher", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send the last ping if a daemon listens, and end."""
        self._closing.set()
        self._thread.join(LAST_WORDS_S)
        self._abandoned.set()

    def _work(self) -> None:
        while not self._abandoned.is_set():
            try:
                with open_channel(self._target) as channel:
                    self._talk(TrainerStub(channel))
                return
            except Exception as error:  # A border: whatever a missing or dying daemon does, the run goes on.
                log.debug("publisher.retry", error=repr(error))
                if self._closing.wait(RETRY_S):
                    return

    def _talk(self, stub: Any) -> None:
        """Register, then ping until the run ends; raises when the connection breaks."""
        who = process_identity.read(self._run_dir.worker)
        request = RegisterWorkerRequest(
            run_id=self._run_dir.run_id,
            identity_json=json.dumps(config.to_json(who)).encode(),
        )
        reply = stub.RegisterWorker(request, timeout=CALL_TIMEOUT_S)
        if not reply.accepted:
            self._superseded()
            return
        for _ in stub.PublishEvents(self._pings()):
            pass

    def _pings(self) -> Iterator[PublishEventsRequest]:
        """One without events each time that the spool has grown."""
        told = -1
        while not self._abandoned.is_set():
            # Before the size: what is written before the closing is then certainly told after it.
            closing = self._closing.is_set()
            size = self._run_dir.events.stat().st_size
            if size != told:
                told = size
                yield PublishEventsRequest(run_id=self._run_dir.run_id)
            elif closing:
                return
            else:
                self._closing.wait(POLL_S)
