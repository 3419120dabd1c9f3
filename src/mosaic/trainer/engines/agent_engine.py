"""An engine whose workers run on other machines, each started and looked after by an agent there.

How an agent gets to its machine is the matter of `Nodes`: over ssh, for one. All else is here: what an agent is told to
start, what is asked of it, when its start is over. A start is over when its agent says that the worker has ended and
its files are the same here, or when its lease has run out (`mosaic.trainer.agents.leases`).
"""

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from mosaic.errors import InvalidTransition, Problem
from mosaic.log import get_logger
from mosaic.rpc import agent_pb2 as wire
from mosaic.scripts.allowed_folders import Allowed
from mosaic.scripts.code_gate import code_of
from mosaic.spec.files.shared_files import read_small
from mosaic.spec.processes.life_lock import INHERITED, life_lock
from mosaic.spec.run_config import TrainExtras, TrainRunConfig
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.starts import Start
from mosaic.trainer.engines.engine import Collected, Handle, Launch, Probe
from mosaic.trainer.runs.out_of_memory import Usage
from mosaic.trainer.runs.schedule import Slots

MOST_LOSSES = 5
"""A run that loses its machine so often without getting any further is not queued again."""
_NOT_SENT = ("MOSAIC_HOME", INHERITED)
"""Variables of a worker that mean something on this machine only."""
CAUSES = {
    "lease": "its agent could not reach the daemon, and saved a checkpoint",
    "preempted": "its time on the machine was over; a checkpoint was saved",
}

log = get_logger()


class Nodes(Protocol):
    """The machines of an engine, and how an agent gets to one of them."""

    def misfits(self, config: TrainRunConfig) -> Sequence[Problem]:
        """Why none of them can run this."""
        ...

    def choose(self, queued: Sequence[RunRecord], live: Sequence[RunRecord]) -> Sequence[RunRecord]:
        """Which may start now."""
        ...

    def place_for(self, run_id: str) -> str:
        """Where a chosen run goes, in words that a later daemon understands."""
        ...

    def send(self, start: Start) -> None:
        """See to it from now on that an agent of this start lives on its node; returns at once."""
        ...

    def let_go(self, start: Start) -> None:
        """This start is over."""
        ...

    def probe(self) -> Probe: ...

    def close(self) -> None: ...


class AgentEngine:
    """Starts on other machines."""

    runs_here = False
    is_warm = False

    def __init__(self, name: str, agents: Agents, nodes: Nodes) -> None:
        self._name = name
        self._agents = agents
        self._nodes = nodes
        self._locks: dict[str, contextlib.ExitStack] = {}
        """The life locks of runs that are elsewhere: no worker is started beside them by hand on this machine."""
        self._losses: dict[str, tuple[int, int]] = {}
        """Of each run: how often it lost its machine in a row, and the size of its events then."""
        self._lock = threading.Lock()
        self._unlocked: dict[str, str] = {}
        """Runs whose life lock another process has, and what was told of it."""

    def misfits(self, config: TrainRunConfig, slots: Slots) -> Sequence[Problem]:
        worker = config.metadata.worker.config
        if not isinstance(worker.extras, TrainExtras):
            what = "a play session" if worker.extras.mode == "play" else "an evaluation"
            return [Problem("--engine", f"'{self._name}' runs trainings; start {what} on this machine (local)")]
        for code in code_of(worker, Allowed(self._agents.home), config.environment.settings):
            why = f"'{self._name}' cannot run {code.path}: files of yours are not copied to other machines"
            return [Problem("--engine", why)]
        return self._nodes.misfits(config)

    def choose(self, queued: Sequence[RunRecord], live: Sequence[RunRecord], slots: Slots) -> Sequence[RunRecord]:
        # One whose last start may still work waits until its lease has run out.
        free = [run for run in queued if self._agents.leases.is_free(run.run_id)]
        return self._nodes.choose(free, live)

    def probe(self) -> Probe:
        return self._nodes.probe()

    def launch(self, launch: Launch) -> Handle:
        run_id = launch.run_dir.run_id
        self._hold_locally(launch.run_dir)
        try:
            start = self._agents.begin(
                run_id,
                launch.epoch,
                engine=self._name,
                place=self._nodes.place_for(run_id),
                assignment={
                    "module": launch.module,
                    "config": read_small(launch.config).decode(),
                    "options": list(launch.options),
                    "resume": launch.resume,
                    "environment": {name: text for name, text in launch.environment.items() if name not in _NOT_SENT},
                },
            )
        except BaseException:
            self._let_go_locally(run_id)
            raise
        self._nodes.send(start)
        return Handle(run_dir=launch.run_dir, engine=self._name, epoch=launch.epoch)

    def poll(self, handle: Handle) -> bool:
        start = self._find(handle)
        if start is None:
            return self._agents.is_missed(handle.run_dir.run_id, handle.epoch)
        if start.over or start.ended is not None or start.problem:
            return False
        granted = self._agents.leases.was_granted(start.file.run_id, start.file.epoch)
        if not granted:
            # No worker was ever allowed: it need not be waited for.
            return not (start.stop_asked or start.killed)
        return not self._agents.leases.has_lapsed(start.file.run_id, start.file.epoch)

    def pid_of(self, handle: Handle) -> int:
        start = self._find(handle)
        return 0 if start is None else start.pid

    def stop(self, handle: Handle) -> bool:
        start = self._find(handle)
        if start is None:
            return False
        with start.lock:
            start.stop_asked += 1
        self._tell(start, "stop")
        return True

    def would_save(self, handle: Handle) -> bool:
        start = self._find(handle)
        return start is not None and start.would_save and not start.stop_asked

    def hold(self, handle: Handle) -> None:
        self._set_held(handle, held=True)

    def let_go(self, handle: Handle) -> None:
        self._set_held(handle, held=False)

    def kill(self, handle: Handle) -> None:
        start = self._find(handle)
        if start is None:
            return
        with start.lock:
            told, start.killed = start.killed, True
        if not told:
            self._tell(start, "kill")

    def collect(self, handle: Handle) -> Collected:
        start = self._find(handle)
        if start is None:
            return Collected()
        with start.lock:
            # Together: its link grants no lease any more, nor lets a worker begin.
            start.over = True
            ended, problem = start.ended, start.problem
            granted = self._agents.leases.was_granted(start.file.run_id, start.file.epoch)
        self._nodes.let_go(start)
        host = start.host or start.file.place
        if ended is None:
            whole_s = self._agents.leases.terms.whole_s
            lost = f"{host} did not answer for {whole_s:.0f} s"
            return self._lost(handle, lost) if granted else Collected(again=problem or "it was not started yet")
        usage = Usage(
            peak_bytes=ended.peak_bytes if ended.HasField("peak_bytes") else None,
            address_limit_bytes=ended.address_limit_bytes if ended.HasField("address_limit_bytes") else None,
        )
        code = ended.exit_code if ended.HasField("exit_code") else None
        if ended.cause:
            again = self._lost(handle, f"{host}: {CAUSES.get(ended.cause, ended.cause)}")
            return replace(again, exit_code=code, usage=usage)
        if ended.problem:
            return Collected(exit_code=code, usage=usage, reason=f"{host}: {ended.problem}")
        if code is None:
            return self._lost(handle, f"the worker on {host} ended while its agent was away")
        return Collected(exit_code=code, usage=usage, reason=ended.kernel)

    def forget(self, handle: Handle) -> None:
        start = self._find(handle)
        if start is not None and start.over:
            self._agents.forget(start)
        self._let_go_locally(handle.run_dir.run_id)

    def warm_up(self) -> None: ...

    def close(self) -> None:
        self._nodes.close()

    def _lost(self, handle: Handle, why: str) -> Collected:
        """Once more, but not for ever where it gets no further."""
        run_id = handle.run_dir.run_id
        found = handle.run_dir.look(handle.run_dir.events)
        size = 0 if found is None else found.st_size
        with self._lock:
            count, before = self._losses.get(run_id, (0, -1))
            count = count + 1 if size == before else 1
            self._losses[run_id] = (count, size)
        if count >= MOST_LOSSES:
            return Collected(reason=f"{why}; it has lost its machine {count} times without getting any further")
        return Collected(again=why)

    def _find(self, handle: Handle) -> Start | None:
        run_id = handle.run_dir.run_id
        start = self._agents.find(run_id, handle.epoch)
        if start is None or start.over:
            return start
        if run_id not in self._locks:
            # One that an earlier daemon began.
            try:
                self._hold_locally(handle.run_dir)
            except (InvalidTransition, OSError) as error:
                # Once: this is asked several times a second.
                if self._unlocked.get(run_id) != str(error):
                    self._unlocked[run_id] = str(error)
                    log.warning("run.not_locked", run_id=run_id, error=str(error))
            self._nodes.send(start)
        return start

    def _hold_locally(self, run_dir: RunDir) -> None:
        with self._lock:
            if run_dir.run_id in self._locks:
                return
            held = contextlib.ExitStack()
            self._locks[run_dir.run_id] = held
        try:
            held.enter_context(life_lock(run_dir))
        except BaseException:
            with self._lock:
                del self._locks[run_dir.run_id]
            raise

    def _let_go_locally(self, run_id: str) -> None:
        with self._lock:
            held = self._locks.pop(run_id, None)
            self._unlocked.pop(run_id, None)
        if held is not None:
            held.close()

    def _set_held(self, handle: Handle, *, held: bool) -> None:
        start = self._find(handle)
        if start is None:
            return
        with start.lock:
            changed, start.held = start.held != held, held
        if changed:
            self._tell(start, "hold" if held else "go_on")

    def _tell(self, start: Start, verb: str) -> None:
        """What an agent that is away misses it is told when it comes back (`Start.commands`)."""
        start.send(wire.ToAgent(command=wire.WorkerCommand(verb=verb)))
