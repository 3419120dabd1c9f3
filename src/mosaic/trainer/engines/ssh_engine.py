"""The engine `ssh`: hosts with slots from the user's file, agents started over ssh, a tunnel back for each host.

Each host that has runs has one thread here. It keeps the tunnel up, and sees to it that an agent of each of the host's
starts lives there; one that was killed is started again and finds its worker.
"""

import hashlib
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mosaic.errors import ConfigError, MosaicError, Problem
from mosaic.log import get_logger
from mosaic.spec.run_config import TrainRunConfig
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.trainer.agents.agents import Agents
from mosaic.trainer.agents.starts import Start
from mosaic.trainer.engines import ssh_connection, ssh_hosts
from mosaic.trainer.engines.agent_engine import AgentEngine
from mosaic.trainer.engines.engine import Probe, Surroundings
from mosaic.trainer.engines.ssh_connection import NoConnection, Tunnel
from mosaic.trainer.engines.ssh_hosts import Host
from mosaic.trainer.runs import schedule
from mosaic.trainer.runs.schedule import Slots

NAME = "ssh"
LOOK_S = 0.5
AWAY_S = 2.0
"""An agent that is away for so long is looked for on its host: the agent itself makes a link that breaks anew."""
LOOK_AGAIN_S = 10.0
"""And again after so long: it has to load its modules first."""
BACKOFF_S = (1.0, 2.0, 5.0, 10.0, 30.0)
TUNNEL_S = 40.0
IDLE_S = 60.0
"""A connection that no run needs is kept for so long: the next run begins sooner."""
END_S = 3.0
UNREACHABLE_S = 60.0
"""A start whose host could not be reached for so long, and that has no worker yet, goes back to the queue."""

log = get_logger()


@dataclass
class _HostState:
    """What the thread of a host knows."""

    starts: dict[str, Start] = field(default_factory=dict[str, Start])
    problem: str = ""
    """Why it cannot be reached now."""
    failures: int = 0
    next_try: float = 0.0
    thread: threading.Thread | None = None
    tunnel: Tunnel | None = None


class SshNodes:
    """All hosts of the file. What the file says is read again at each look."""

    def __init__(self, home: Home, agents: Agents) -> None:
        self._home = home
        self._agents = agents
        self._hosts: dict[str, _HostState] = {}
        self._places: dict[str, str] = {}
        self._complained = ""
        self._lock = threading.Lock()
        self._closing = threading.Event()

    def misfits(self, config: TrainRunConfig) -> Sequence[Problem]:
        hosts = ssh_hosts.read(self._home.hosts)
        if not hosts:
            return [Problem("--engine", f"'ssh' has no hosts: 'mosaic engines' says how to write {self._home.hosts}")]
        wanted = config.resources
        if any(wanted.cpus <= host.slots and wanted.gpus <= host.gpus for host in hosts.values()):
            return ()
        has = ", ".join(f"{name} {host.slots} and {host.gpus}" for name, host in hosts.items())
        return [Problem("--cpus", f"no host has {wanted.cpus} slots and {wanted.gpus:g} GPUs (slots and GPUs: {has})")]

    def choose(self, queued: Sequence[RunRecord], live: Sequence[RunRecord]) -> Sequence[RunRecord]:
        try:
            hosts = ssh_hosts.read(self._home.hosts)
        except ConfigError as error:
            if str(error) != self._complained:
                self._complained = str(error)
                log.error("ssh.hosts_refused", error=str(error))
            return ()
        places = {start.file.run_id: start.file.place for start in self._agents.of_engine(NAME)}
        left, chosen = list(queued), list[RunRecord]()
        with self._lock:
            states = {name: self._hosts.setdefault(name, _HostState()) for name in hosts}
        # Those that answer first.
        for name, host in sorted(hosts.items(), key=lambda one: bool(states[one[0]].problem)):
            state = states[name]
            with self._lock:
                if state.problem and time.monotonic() < state.next_try:
                    continue
            fitting = [run for run in left if run.cpus <= host.slots and run.gpus <= host.gpus]
            there = [run for run in live if places.get(run.run_id) == name]
            if state.problem:
                # Not heard of lately: one run tries whether it is there again.
                fitting = fitting[: int(not there)]
            found = schedule.choose(fitting, there, Slots(host.slots, host.gpus))
            self._places.update({run.run_id: name for run in found})
            chosen += found
            left = [run for run in left if run.run_id not in {one.run_id for one in found}]
        return chosen

    def place_for(self, run_id: str) -> str:
        return self._places.pop(run_id)

    def send(self, start: Start) -> None:
        with self._lock:
            state = self._hosts.setdefault(start.file.place, _HostState())
            state.starts[start.file.run_id] = start
            if state.thread is None and not self._closing.is_set():
                state.thread = threading.Thread(
                    target=self._keep, args=(start.file.place, state), name=f"ssh-{start.file.place}", daemon=True
                )
                state.thread.start()

    def let_go(self, start: Start) -> None:
        with self._lock:
            state = self._hosts.get(start.file.place)
            if state is not None and state.starts.get(start.file.run_id) is start:
                del state.starts[start.file.run_id]

    def close(self) -> None:
        """Agents and their workers go on; they link to the next daemon."""
        self._closing.set()
        with self._lock:
            threads = [state.thread for state in self._hosts.values() if state.thread is not None]
        for thread in threads:
            # One that waits for a host ends with this process.
            thread.join(END_S)

    def probe(self) -> Probe:
        line = f"$EDITOR {self._home.hosts}"
        try:
            hosts = ssh_hosts.read(self._home.hosts)
        except ConfigError as error:
            return Probe(missing=[str(error)], start=line)
        if not hosts:
            return Probe(missing=[f"no hosts: write {self._home.hosts}, for example\n{ssh_hosts.EXAMPLE}"], start=line)
        answers: dict[str, str] = {}
        threads = [threading.Thread(target=_look, args=(answers, *one), daemon=True) for one in hosts.items()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        found = [answers[name] for name in hosts if not answers[name].startswith("!")]
        missing = [answers[name][1:] for name in hosts if answers[name].startswith("!")]
        # One host that answers is enough to train on.
        told = [*found, *(f"{one} (not used)" for one in missing)] if found else []
        return Probe(found=told, missing=[] if found else missing, start="mosaic train ppo --engine ssh")

    def _home_id(self, name: str) -> str:
        """What a tunnel is called by. A machine that has two names here has two of them, and each ends by itself."""
        return hashlib.sha256(f"{self._home.root}\0{name}".encode()).hexdigest()[:16]

    # The thread of a host.

    def _keep(self, name: str, state: _HostState) -> None:
        tried: dict[str, float] = {}
        unreachable_since, busy_at = 0.0, time.monotonic()
        while not self._closing.wait(LOOK_S):
            now = time.monotonic()
            with self._lock:
                starts = dict(state.starts)
                busy_at = now if starts else busy_at
                if now - busy_at > IDLE_S:
                    state.thread = None
                    break
            if not starts:
                continue
            if now < state.next_try:
                self._give_back(name, state, starts, unreachable_since)
                continue
            try:
                host = ssh_hosts.read(self._home.hosts).get(name)
                if host is None:
                    raise NoConnection(f"{name} is not in {self._home.hosts} any more")
                self._keep_tunnel(name, host, state)
                for start in starts.values():
                    self._keep_agent(name, host, start, tried)
                state.problem, state.failures, unreachable_since = "", 0, 0.0
            except Exception as error:  # A border: whatever a host answers, its runs are looked after.
                unreachable_since = unreachable_since or now
                if str(error) != state.problem:
                    expected = isinstance(error, (MosaicError, OSError))
                    log.error("ssh.unreachable", host=name, error=str(error), exc_info=None if expected else error)
                state.problem = str(error)
                state.next_try = time.monotonic() + BACKOFF_S[min(state.failures, len(BACKOFF_S) - 1)]
                state.failures += 1
        if state.tunnel is not None:
            state.tunnel.close()
            state.tunnel = None

    def _give_back(self, name: str, state: _HostState, starts: Mapping[str, Start], since: float) -> None:
        """Runs that have no worker yet wait in the queue rather than for a host that is not there."""
        if not since or time.monotonic() - since < UNREACHABLE_S:
            return
        for start in starts.values():
            if not self._agents.leases.was_granted(start.file.run_id, start.file.epoch):
                start.problem = state.problem or f"{name} cannot be reached"
                self._agents.wake()

    def _keep_tunnel(self, name: str, host: Host, state: _HostState) -> None:
        if state.tunnel is not None and state.tunnel.is_alive:
            return
        if state.tunnel is not None:
            state.tunnel.close()
            state.tunnel = None
        ready = ssh_connection.prepare(name, host)
        tunnel = Tunnel(name, host, folder=ready.sockets, home_id=self._home_id(name), local=self._agents.address)
        tunnel.wait_until_up(TUNNEL_S)
        state.tunnel = tunnel
        log.info("ssh.tunnel", host=name, pid=tunnel.pid)

    def _keep_agent(self, name: str, host: Host, start: Start, tried: dict[str, float]) -> None:
        key = f"{start.file.run_id}-{start.file.epoch}"
        if start.is_linked or start.over or start.ended is not None:
            return
        if self._agents.clock() - start.linked_at < AWAY_S or time.monotonic() < tried.get(key, 0.0) + LOOK_AGAIN_S:
            return
        tried[key] = time.monotonic()
        order = {
            "run_id": start.file.run_id,
            "epoch": start.file.epoch,
            "token": start.file.token,
            "home_id": self._home_id(name),
            "scratch": host.scratch,
        }
        answer = ssh_connection.ask(name, host, "start", document=order)
        told = {"agent_pid": answer.get("agent_pid"), "already": answer.get("already", False)}
        log.info("ssh.agent", host=name, run_id=start.file.run_id, epoch=start.file.epoch, **told)


def _look(answers: dict[str, str], name: str, host: Host) -> None:
    try:
        ready = ssh_connection.prepare(name, host)
        answers[name] = (
            f"{name}: {host.slots} slots of {ready.cores} cores, {host.gpus} GPUs,"
            f" {ready.free_bytes / 2**30:.0f} GiB free in {host.scratch}"
        )
    except Exception as error:  # A border: each host has an answer.
        answers[name] = f"!{error}"


def make(surroundings: Surroundings) -> AgentEngine:
    return AgentEngine(NAME, surroundings.agents, SshNodes(surroundings.home, surroundings.agents))
