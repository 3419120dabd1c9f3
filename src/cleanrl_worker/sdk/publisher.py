"""Streaming a run's events to the daemon: from the spool, acknowledged, again after a reconnect; never in the way.

The publisher only reads what the recorder has written. Whether a daemon is there, slow, stopped or dead makes no
difference to the learner; what it missed it reads from the spool.
"""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from mosaic import config
from mosaic.log import get_logger
from mosaic.rpc.channel import open_channel
from mosaic.rpc.trainer_pb2 import EventLine, PublishEventsReply, PublishEventsRequest, RegisterWorkerRequest
from mosaic.rpc.trainer_pb2_grpc import TrainerStub
from mosaic.spec import identity
from mosaic.spec.run_dir import RunDir

POLL_S = 0.2
RETRY_S = 1.0
LAST_WORDS_S = 2.0
"""How long the end of a run waits for a daemon that listens; the spool has everything in any case."""
BATCH = 2_000
MAX_DIGITS = 19
"""Digits of numbers that a message can carry."""
CALL_TIMEOUT_S = 10.0

log = get_logger()


class Publisher:
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
        """Say the last words if somebody listens, and end."""
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
        """Register, then stream until the run ends; raises when the connection breaks."""
        who = identity.read(self._run_dir.worker)
        request = RegisterWorkerRequest(
            run_id=self._run_dir.run_id,
            identity_json=json.dumps(config.to_json(who)).encode(),
        )
        reply = stub.RegisterWorker(request, timeout=CALL_TIMEOUT_S)
        if not reply.accepted:
            self._superseded()
            return
        acknowledgements: Iterator[PublishEventsReply] = stub.PublishEvents(self._batches(reply.last_seq))
        for _ in acknowledgements:
            pass

    def _batches(self, last_seq: int) -> Iterator[PublishEventsRequest]:
        with self._run_dir.events.open("rb") as file:
            rest = b""
            while not self._abandoned.is_set():
                # Looked at before reading: what is written before the closing is then certainly read after it.
                closing = self._closing.is_set()
                data = rest + file.read(1 << 20)
                whole, _, rest = data.rpartition(b"\n")
                lines = [line for line in _numbered(whole.split(b"\n")) if line.seq > last_seq]
                for start in range(0, len(lines), BATCH):
                    yield PublishEventsRequest(run_id=self._run_dir.run_id, events=lines[start : start + BATCH])
                if lines:
                    last_seq = lines[-1].seq
                elif closing:
                    return
                elif not data[len(rest) :]:
                    self._closing.wait(POLL_S)


def _numbered(lines: list[bytes]) -> Iterator[EventLine]:
    for line in lines:
        # {"v":1,"seq":7,… : the number stands at a fixed place, no need to parse the rest.
        number = line[len(b'{"v":1,"seq":') :].split(b",", 1)[0]
        # The daemon reads damaged lines of an earlier attempt from the spool, as it reads all others.
        if number.isdigit() and len(number) < MAX_DIGITS:
            yield EventLine(seq=int(number), json=line)
