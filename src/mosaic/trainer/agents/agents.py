"""All starts on other machines: which there are, what their agents say, what is asked of them."""

import contextlib
import secrets
import threading
from collections.abc import Callable
from dataclasses import replace

from google.protobuf import json_format

from mosaic.errors import MosaicError
from mosaic.plain_text import plain_line
from mosaic.rpc import agent_pb2 as wire
from mosaic.spec.processes import lease_file
from mosaic.spec.run_dir import Home
from mosaic.trainer.agents import starts
from mosaic.trainer.agents.leases import Leases, OldStart, Terms
from mosaic.trainer.agents.starts import Assignment, Start, StartFile

TOKEN_BYTES = 32
LONGEST = 2000
"""Characters of what a node says that become the reason of a run, which is in every list of runs."""


class NotReady(MosaicError):
    """It cannot be said yet whether an agent may go on."""


def words_of(said: str) -> str:
    """What another machine says, on one line that is not too long."""
    return plain_line(said[:LONGEST])


class Agents:
    """Shared by the engines of other machines and by the listener that agents link to. Thread-safe."""

    def __init__(self, home: Home, terms: Terms | None = None, clock: Callable[[], float] = lease_file.now) -> None:
        self.home = home
        self.clock = clock
        self.leases = Leases(terms or Terms(), clock)
        self.address = ""
        """The unix socket on which agents are listened to."""
        self.wake: Callable[[], None] = lambda: None
        """Called when there is something new of any of them."""
        self.may_go_on: Callable[[str, int], bool] = lambda _run_id, _epoch: True
        """Whether a run's record still counts on a start."""
        self.is_ready: Callable[[], bool] = lambda: True
        """Whether all runs are known: before that a start that goes on looks like an old one."""
        self._starts: dict[str, Start] = {}
        self._lock = threading.Lock()

    def begin(self, run_id: str, epoch: int, *, engine: str, place: str, assignment: Assignment) -> Start:
        """A new start, written down, which an agent may link to from now on."""
        self.leases.open(run_id, epoch)
        token = secrets.token_urlsafe(TOKEN_BYTES)
        file = StartFile(
            run_id=run_id,
            epoch=epoch,
            engine=engine,
            place=place,
            token=token,
            assignment=dict(assignment),
            whole_s=self.leases.terms.whole_s,
        )
        with self._lock:
            starts.write(self.home, file)
            start = self._starts[run_id] = Start.of(file, self.home.run(run_id))
        return start

    def find(self, run_id: str, epoch: int) -> Start | None:
        """Also one that an earlier daemon began; None if this start is not there any more."""
        # One reader at a time: two would make two starts of one file, and an agent is linked to one of them.
        with self._lock:
            known = self._starts.get(run_id)
            if known is None:
                file = starts.read(self.home, run_id)
                if file is None:
                    return None
                known = Start.of(file, self.home.run(run_id))
                self.leases.adopt(run_id, file.epoch, whole_s=file.whole_s)
                if known.ended is not None:
                    self._release(known)
                self._starts[run_id] = known
        return known if known.file.epoch == epoch else None

    def is_missed(self, run_id: str, epoch: int) -> bool:
        """Whether a worker may be at work of a start that a record counts on and of which no file is left."""
        if not self.may_go_on(run_id, epoch):
            return False
        self.leases.adopt(run_id, epoch)
        return not self.leases.has_lapsed(run_id, epoch)

    def admit(self, run_id: str, epoch: int, token: str) -> Start:
        """The start of an agent that links; OldStart if it may not go on."""
        if not self.is_ready():
            raise NotReady("the daemon does not know all of its runs yet; link again in a moment")
        start = self.find(run_id, epoch) if self.may_go_on(run_id, epoch) else None
        if start is None or start.is_over:
            raise OldStart(f"start {epoch} of run {run_id} is over")
        if not start.bears(token):
            raise OldStart(f"this is not the agent of start {epoch} of run {run_id}")
        self.leases.check(run_id, epoch)
        return start

    def grant(self, start: Start) -> None:
        """Renew its lease; OldStart if it was judged meanwhile."""
        with start.lock:
            self._check(start)
            if self.leases.terms.whole_s > start.file.whole_s:
                # Written down first: the daemon after us may have shorter ones.
                self._rewrite(start, replace(start.file, whole_s=self.leases.terms.whole_s))
            self.leases.grant(start.file.run_id, start.file.epoch)

    def check(self, start: Start) -> None:
        """OldStart if nothing more is taken from its agent."""
        with start.lock:
            self._check(start)

    def begun(self, start: Start, folder_id: str) -> None:
        """A worker may be started in this folder of a node, and in no other; written down before the agent hears it."""
        with start.lock:
            self._check(start)
            self._rewrite(start, replace(start.file, begun_by=folder_id))

    def ended(self, start: Start, how: wire.Ended) -> None:
        """Its worker is gone, and all its files are here; written down before the agent hears it, and forgets it."""
        told = wire.Ended()
        told.CopyFrom(how)
        told.ClearField("files")
        for name in ("cause", "problem", "kernel"):
            setattr(told, name, words_of(getattr(told, name)))
        with start.lock:
            self._check(start)
            self._rewrite(start, replace(start.file, ended=json_format.MessageToJson(told, indent=None)))
            start.ended = told
        self._release(start)
        self.wake()

    def forget(self, start: Start) -> None:
        """It is over: an agent that comes back is refused."""
        with self._lock:
            if self._starts.get(start.file.run_id) is start:
                del self._starts[start.file.run_id]
                starts.forget(self.home, start.file.run_id)

    def of_engine(self, engine: str) -> list[Start]:
        with self._lock:
            return [start for start in self._starts.values() if start.file.engine == engine]

    def linked(self, run_id: str) -> Start | None:
        """A start whose agent is there now."""
        with self._lock:
            start = self._starts.get(run_id)
        return start if start is not None and start.is_linked else None

    def _check(self, start: Start) -> None:
        if start.is_over:
            raise OldStart(f"start {start.file.epoch} of run {start.file.run_id} is over")
        self.leases.check(start.file.run_id, start.file.epoch)

    def _rewrite(self, start: Start, file: StartFile) -> None:
        starts.write(self.home, file)
        start.file = file

    def _release(self, start: Start) -> None:
        with contextlib.suppress(OldStart):
            self.leases.release(start.file.run_id, start.file.epoch)
