"""One agent from its start to its end: links to the daemon, has the worker run, relays what it leaves behind.

While there is no link the worker goes on, until its lease has run out; its directory is the spool. What the daemon
missed is sent when it is there again: both compare the files that they have.
"""

import json
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

from mosaic import __version__
from mosaic.agent.agent_folder import AgentFolder, Order, scratch_of, sockets_of
from mosaic.agent.link_to_daemon import DaemonLink, LinkBroken
from mosaic.agent.node_frames import NodeFrames
from mosaic.agent.node_worker import LOOK_S, NodeWorker
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.relay.received_files import ReceivedFiles
from mosaic.relay.sent_files import SentFiles
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.processes import lease_file
from mosaic.trainer.machine.repeated_errors import RepeatedErrors

SEND_S = 0.25
"""Events are written four times a second."""
RENEWALS = 4
"""Within a lease."""
RETRY_S = (0.5, 1.0, 2.0, 3.0)
GIVE_UP_S = 14 * 24 * 3600.0
"""An agent whose worker has ended waits so long for its daemon; its files stay."""

log = get_logger()


class RunAgent:
    """One start of one run."""

    def __init__(self, folder: AgentFolder, order: Order) -> None:
        self._folder = folder
        self._order = order
        self._worker = NodeWorker(folder, order)
        self._over = threading.Event()
        self._complaints = RepeatedErrors()

    def serve(self) -> None:
        """Until the daemon has everything, or refuses us."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self._worker.preempt())
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        warden = threading.Thread(target=self._tend, name="warden", daemon=True)
        warden.start()
        failures, alone_since = 0, time.monotonic()
        try:
            while True:
                linked = _Linked(self._order, self._folder, self._worker)
                try:
                    linked.carry(self._target())
                    log.info("agent.done")
                    break
                except (MosaicError, OSError) as broken:
                    if isinstance(broken, LinkBroken) and broken.refused:
                        log.warning("agent.refused", error=str(broken))
                        self._worker.end_now()
                        break
                    log.info("agent.alone", error=str(broken))
                finally:
                    if linked.was_welcome:
                        failures, alone_since = 0, time.monotonic()
                if self._worker.ended is not None and time.monotonic() - alone_since > GIVE_UP_S:
                    log.warning("agent.gave_up", files=str(self._folder.root))
                    return
                time.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
        finally:
            self._over.set()
            warden.join()
        shutil.rmtree(self._folder.root, ignore_errors=True)

    def _target(self) -> str:
        if self._order.target:
            return self._order.target
        return f"unix:{sockets_of(scratch_of(self._order.scratch)) / self._order.home_id}.sock"

    def _tend(self) -> None:
        while not self._over.wait(LOOK_S):
            self._look()
        if self._worker.ended is None and self._worker.started:
            self._look()

    def _look(self) -> None:
        try:
            self._worker.tick()
        except Exception as error:  # A border: the lease would be renewed for a worker that no one looks after.
            self._complaints.tell("worker.tick", error)


class _Linked:
    """One link, from Hello to its end."""

    def __init__(self, order: Order, folder: AgentFolder, worker: NodeWorker) -> None:
        self._order = order
        self._folder = folder
        self._worker = worker
        self._asked_at: dict[int, float] = {}
        self._welcome: wire.Welcome | None = None
        self._brought = threading.Event()
        self._done = threading.Event()
        self._arrived = threading.Event()
        self._received: ReceivedFiles | None = None
        self._link: DaemonLink | None = None
        self._frames: NodeFrames | None = None
        self._renewer = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._lease_s = 0.0
        self._closing = threading.Event()

    @property
    def was_welcome(self) -> bool:
        return self._welcome is not None

    def carry(self, target: str) -> None:
        """Returns when the daemon has everything; LinkBroken otherwise."""
        link = self._link = DaemonLink(target, self._order.token, self._take)
        self._frames = NodeFrames(self._worker.run_dir, self._send_frame)
        try:
            self._prepare()
            self._asked_at[0] = lease_file.now()
            hello = wire.Hello(
                run_id=self._order.run_id,
                epoch=self._order.epoch,
                host=socket.gethostname(),
                version=__version__,
                started=self._worker.started,
                folder_id=self._folder.id,
            )
            link.open(hello)
            self._wait(self._arrived.is_set)
            welcome = self._welcome
            assert welcome is not None
            sent = SentFiles(self._worker.run_dir.root, link.send)
            if not self._worker.started:
                self._wait(self._brought.is_set)
                # It may have taken longer than the first lease lasts.
                self._wait(lambda: self._worker.has_lease)
                self._start(welcome, sent)
            else:
                sent.begin(welcome.files)
            self._relay(sent)
        finally:
            self._closing.set()
            self._frames.close()
            link.close()
            if self._renewer.ident is not None:
                self._renewer.join()

    def _prepare(self) -> None:
        if self._worker.started:
            return
        # What was brought over a link that broke is brought once more.
        root = self._worker.run_dir.root
        shutil.rmtree(root, ignore_errors=True)
        self._folder.home.create()
        self._worker.run_dir.create()
        self._received = ReceivedFiles(root)

    def _start(self, welcome: wire.Welcome, sent: SentFiles) -> None:
        """With the files that were brought: before the worker changes them they are what the daemon has."""
        sent.begin(welcome.files)
        assignment: dict[str, Any] = json.loads(welcome.assignment_json)
        self._worker.start(assignment)

    def _relay(self, sent: SentFiles) -> None:
        link = self._link
        assert link is not None
        told = wire.WorkerStatus()
        while True:
            link.check()
            # In this order: what it wrote last is read after its end is seen.
            over = self._worker.ended is not None
            if (status := self._worker.status) != told:
                link.send(wire.FromAgent(status=status))
                told = status
            while sent.look(final=over) and over:
                pass
            if over:
                link.send(wire.FromAgent(ended=self._worker.files()))
                self._wait(self._done.is_set)
                return
            self._closing.wait(SEND_S)

    def _wait(self, is_so: Callable[[], bool]) -> None:
        link = self._link
        assert link is not None
        while not is_so():
            link.check()
            self._closing.wait(0.05)

    # From the thread that reads.

    def _take(self, message: wire.ToAgent) -> None:
        match message.WhichOneof("said"):
            case "welcome":
                self._welcome = message.welcome
                self._grant(0, message.welcome.lease_s, message.welcome.grace_s)
                self._arrived.set()
            case "granted":
                self._grant(message.granted.number, message.granted.lease_s, message.granted.grace_s)
            case "command":
                self._worker.ask(message.command.verb)
            case "piece" if self._received is not None:
                self._received.take(message.piece)
            case "folder" if self._received is not None:
                self._received.commit(message.folder)
            case "all_brought":
                if self._received is not None:
                    self._received.close()
                self._brought.set()
            case "watch" if self._frames is not None:
                self._frames.watch(message.watch)
            case "unwatch" if self._frames is not None:
                self._frames.unwatch(message.unwatch.viewer)
            case "frame_taken" if self._frames is not None:
                self._frames.taken(message.frame_taken.viewer)
            case "done":
                self._done.set()
            case _:
                pass

    def _grant(self, number: int, lease_s: float, grace_s: float) -> None:
        """From the moment in which it was asked for: the daemon counts from a later one."""
        asked_at = self._asked_at.pop(number, None)
        if asked_at is not None:
            self._worker.hold_lease(asked_at + lease_s, grace_s)
        if self._renewer.ident is None:
            self._lease_s = lease_s
            self._renewer.start()

    def _renew(self) -> None:
        number = 0
        while not self._closing.wait(self._lease_s / RENEWALS):
            number += 1
            self._asked_at[number] = lease_file.now()
            try:
                assert self._link is not None
                self._link.send(wire.FromAgent(renew=wire.Renew(number=number)))
            except LinkBroken:
                return

    def _send_frame(self, message: wire.FromAgent) -> None:
        try:
            assert self._link is not None
            self._link.send(message)
        except LinkBroken:
            return
