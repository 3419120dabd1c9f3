"""What the server knows of the daemon: all runs as a table, how the machine does, and whether the daemon is there.

One thread reads the stream of changes of runs, another asks once in a while how the daemon does: whatever number of
pages look, the daemon is asked once.
"""

import threading
from pathlib import Path
from typing import Literal, TypeAlias

from mosaic.errors import HomeVanished, MosaicError
from mosaic.log import get_logger
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client
from mosaic.rpc.locate import DaemonStopped, DaemonUnavailable, bring_back, why_gone
from mosaic.run_table.table_rows import TableRows
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.web.change_notice import ChangeNotice

State: TypeAlias = Literal["connecting", "connected", "lost", "stopped", "homeless"]
PAGE = 500
"""Runs asked for at once."""
AWAY_S = 0.3
"""Between two tries while there is no daemon."""
LOOK_S = 2.0
ANSWER_S = 3.0
"""A daemon that takes longer to say how it does counts as gone."""

log = get_logger()


class DaemonNews:
    """Of the daemon of a home, or of one at `target`."""

    def __init__(self, home: Home, *, target: str | None = None, certificate: Path | None = None) -> None:
        self.home, self.target = home, target
        self.state: State = "connecting"
        self.problem = ""
        self.health: pb.Health | None = None
        self.table = TableRows()
        self.records: dict[str, RunRecord] = {}
        """The newest of each run."""
        self.lock = threading.RLock()
        """Held while the table is read or changed."""
        self.runs_changed = ChangeNotice()
        self.state_changed = ChangeNotice()
        self._certificate = certificate
        self._client: Client | None = None
        self._connecting = threading.Lock()
        self._stopping = threading.Event()

    @property
    def client(self) -> Client:
        """DaemonUnavailable if there has been none so far."""
        with self._connecting:
            if self._client is None:
                self._client = Client(self.target, home=self.home, start=False, certificate=self._certificate)
            return self._client

    def start(self) -> None:
        for work, name in ((self._hear_runs, "runs"), (self._look, "daemon")):
            threading.Thread(target=work, name=name, daemon=True).start()

    def stop(self) -> None:
        self._stopping.set()
        if self._client is not None:
            self._client.close()

    def bring_back(self) -> None:
        """For what a user does: a daemon that was killed is started again, one that was told to stop is not."""
        if self.target is None and self.state != "connected":
            bring_back(self.home)

    def run(self, run_id: str) -> RunRecord:
        """As it is known here, or asked for."""
        return self.records.get(run_id) or self.client.get(run_id)

    def _look(self) -> None:
        while not self._stopping.is_set():
            try:
                self.health = self.client.health(timeout_s=ANSWER_S)
                self._be("connected", "")
            except MosaicError as error:
                self._lose(error)
            self._stopping.wait(LOOK_S if self.state == "connected" else AWAY_S)

    def _hear_runs(self) -> None:
        while not self._stopping.is_set():
            try:
                self._read_changes(self.client)
            except MosaicError as error:
                self._lose(error)
            except Exception:  # The border of the thread: one bad answer must not end all news.
                log.exception("web.hearing_failed")
            self._stopping.wait(AWAY_S)

    def _read_changes(self, client: Client) -> None:
        revision = self._compare(client)
        self._be("connected", "")
        for record in client.watch_runs(after_revision=revision):
            self._take([] if record.deleted else [record], [record.run_id] if record.deleted else [])
        if not self._stopping.is_set():
            raise DaemonUnavailable("the daemon has ended; its runs go on")

    def _compare(self, client: Client) -> int:
        """Take in the whole list; the revision behind which changes may have been missed."""
        revision, token = -1, ""
        listed: set[str] = set()
        while True:
            runs, token = client.page(size=PAGE, token=token)
            if revision < 0:
                # Of the first page: a run that changes while the others are read has a higher one.
                revision = max((record.revision for record in runs), default=0)
            listed.update(record.run_id for record in runs)
            self._take(runs, [])
            if not token:
                self._take([], [run_id for run_id in self.records if run_id not in listed])
                return revision

    def _take(self, records: list[RunRecord], gone: list[str]) -> None:
        if not (records or gone):
            return
        with self.lock:
            self.table.take(records)
            self.records |= {record.run_id: record for record in records}
            if gone:
                self.table.remove(gone)
                for run_id in gone:
                    self.records.pop(run_id, None)
        self.runs_changed.raise_it()

    def _lose(self, error: MosaicError) -> None:
        """Of a daemon of this machine that was there it can be seen why it does not answer."""
        was_there = isinstance(error, DaemonUnavailable) and self._client is not None and self.target is None
        found = (why_gone(self.home) if was_there else None) or error
        state: State = "lost"
        if isinstance(found, HomeVanished):
            state = "homeless"
        elif isinstance(found, DaemonStopped):
            state = "stopped"
        self._be(state, found.sentence)

    def _be(self, state: State, problem: str) -> None:
        if (self.state, self.problem) != (state, problem):
            self.state, self.problem = state, problem
        self.state_changed.raise_it()
