"""The worker of an agent: started once by the local engine, looked after, ended when its lease has run out."""

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mosaic.agent.agent_folder import AgentFolder, Order
from mosaic.errors import MosaicError
from mosaic.fastlane import ring_sweep
from mosaic.log import get_logger
from mosaic.relay.file_states import FileStates
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.processes import lease_file
from mosaic.spec.processes.life_lock import INHERITED
from mosaic.spec.states import KILLED_FROM_OUTSIDE
from mosaic.trainer.engines.engine import Collected, Handle, Launch
from mosaic.trainer.engines.local_engine import LocalEngine
from mosaic.trainer.runs import out_of_memory

LOOK_S = 0.2
LATE_S = 5.0
"""A worker that does not end by itself after its grace is killed so much later."""
SIGKILL = -9

log = get_logger()


@dataclass
class _Asked:
    """What was asked of the worker."""

    stop: bool = False
    stop_sent: bool = False
    kill: bool = False
    preempted: bool = False


class NodeWorker:
    """One worker. Methods may be called from any thread."""

    def __init__(self, folder: AgentFolder, order: Order) -> None:
        self._folder = folder
        self.run_dir = folder.run_dir(order)
        self._epoch = order.epoch
        self._engine = LocalEngine()
        self._kernel = out_of_memory.counts()
        self._asked = _Asked()
        self._lock = threading.Lock()
        self._life = threading.RLock()
        """Held while it is started, and while it is looked at: one that is just being started has no life lock yet."""
        # An agent before us may have been granted it. Without a worker it may be of another boot.
        self._until, self._grace_s = lease_file.read(folder.lease) if self.started else (0.0, 0.0)
        self.status = wire.WorkerStatus()
        self.ended: wire.Ended | None = None
        """How it ended; its files are in it once `files` was called."""
        self._handle = Handle(run_dir=self.run_dir, epoch=order.epoch)

    @property
    def started(self) -> bool:
        return self._folder.started.exists()

    @property
    def has_lease(self) -> bool:
        return lease_file.now() < self._until

    def hold_lease(self, until: float, grace_s: float) -> None:
        with self._lock:
            if until > self._until:
                self._until, self._grace_s = until, grace_s
                lease_file.write(self._folder.lease, until=until, grace_s=grace_s)

    def start(self, assignment: Mapping[str, Any]) -> None:
        """Once, whatever becomes of us afterwards."""
        home = self._folder.home
        home.create()
        self.run_dir.create()
        file = home.worker_config(self.run_dir.run_id, 1)
        write_atomically(file, str(assignment["config"]))
        environment = {str(name): str(text) for name, text in assignment["environment"].items()}
        environment |= {
            "MOSAIC_HOME": str(home.root),
            INHERITED: "1",
            lease_file.VARIABLE: str(self._folder.lease),
        }
        launch = Launch(
            run_dir=self.run_dir,
            module=str(assignment["module"]),
            config=file,
            options=[str(word) for word in assignment["options"]],
            resume=assignment["resume"],
            epoch=self._epoch,
            environment=environment,
            warm=False,
        )
        with self._life:
            self._launch(launch)

    def _launch(self, launch: Launch) -> None:
        write_atomically(self._folder.started, json.dumps({"epoch": self._epoch}))
        if self._asked.stop or self._asked.kill:
            self.ended = wire.Ended(problem="ended before its worker was started")
            return
        try:
            self._handle = self._engine.launch(launch)
        except (MosaicError, OSError) as error:
            self.ended = wire.Ended(problem=f"the worker could not be started: {error}")
            return
        log.info("worker.started", pid=self._handle.pid)

    def ask(self, verb: str) -> None:
        """stop, hold, go_on or kill."""
        log.info("worker.asked", verb=verb)
        if verb == "stop":
            self._asked.stop = True
        elif verb == "kill":
            self._asked.kill = True
        else:
            with self._life:
                if verb == "hold":
                    self._engine.hold(self._known())
                elif verb == "go_on":
                    self._engine.let_go(self._known())

    def preempt(self) -> None:
        """The machine is taken from us soon."""
        self._asked.preempted = self._asked.stop = True

    def tick(self) -> None:
        """Look at it."""
        with self._life:
            self._tick()

    def _tick(self) -> None:
        if self.ended is not None or not self.started:
            return
        handle = self._handle = self._known()
        if not self._engine.poll(handle):
            self._conclude()
            return
        would_save = self._engine.would_save(handle)
        self.status = wire.WorkerStatus(pid=handle.pid, would_save=would_save)
        late = lease_file.now() - self._until - self._grace_s
        if self._asked.kill or (self._until and late > LATE_S):
            self._engine.kill(handle)
        elif self._asked.stop and not self._asked.stop_sent and would_save:
            # Sent twice, it would end without a checkpoint.
            self._asked.stop_sent = self._engine.stop(handle)

    def files(self) -> wire.Ended:
        """How it ended, with all its files as they are now."""
        assert self.ended is not None
        ended = wire.Ended()
        ended.CopyFrom(self.ended)
        ended.files.extend(FileStates(self.run_dir.root).all())
        return ended

    def end_now(self) -> None:
        """It may not go on: another start has taken its place."""
        self._asked.kill = True
        with self._life:
            handle = self._known()
            if self._engine.poll(handle):
                self._engine.kill(handle)

    def _known(self) -> Handle:
        """With the pid of a worker that an agent before us started."""
        if self._handle.pid:
            return self._handle
        pid = self._engine.pid_of(self._handle)
        return Handle(run_dir=self.run_dir, epoch=self._epoch, pid=pid)

    def _conclude(self) -> None:
        collected = self._engine.collect(self._handle)
        ended = wire.Ended(cause=self._cause(), kernel=self._told_by_kernel(collected))
        if collected.exit_code is not None:
            ended.exit_code = collected.exit_code
        if collected.usage.peak_bytes is not None:
            ended.peak_bytes = collected.usage.peak_bytes
        if collected.usage.address_limit_bytes is not None:
            ended.address_limit_bytes = collected.usage.address_limit_bytes
        self.ended = ended
        self.status = wire.WorkerStatus()
        log.info("worker.ended", exit_code=collected.exit_code, cause=ended.cause)
        # A daemon sweeps every minute; here there is none.
        with contextlib.suppress(OSError):
            ring_sweep.sweep()

    def _cause(self) -> str:
        if self._asked.preempted:
            return "preempted"
        was_asked = self._asked.stop or self._asked.kill
        return "lease" if not was_asked and lease_file.now() >= self._until else ""

    def _told_by_kernel(self, collected: Collected) -> str:
        if collected.exit_code != SIGKILL or self._asked.kill:
            return ""
        told = out_of_memory.of_a_kill(self._handle.pid, collected.usage, self._kernel)
        return told or KILLED_FROM_OUTSIDE
