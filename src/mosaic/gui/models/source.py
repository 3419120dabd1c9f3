"""The run directories of a home as a source of news: the only place of the window that reads files of runs."""

import time
from pathlib import Path

import psutil

from mosaic.gui.models.batch import Batch, Machine, Notice, Opened
from mosaic.gui.models.glance import Glance
from mosaic.gui.models.opened import OpenedRun
from mosaic.gui.models.stat import changed_ns
from mosaic.spec.run_dir import Home
from mosaic.spec.run_list import run_ids
from mosaic.spec.run_record import RunRecord

BUDGET_S = 0.03
"""A look ends after about this long; what is left comes with the next one."""
LISTING_S = 2.0
"""`runs/` is listed when its time changes, and this often for file systems with coarse times."""
MACHINE_S = 1.0
ENDED_PER_LOOK = 50
"""Runs that ended are looked at in turn, in case one is resumed."""


class RunFolders:
    """Looks at the home again and again; each look takes a bounded time, whatever the number of runs."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._wanted: tuple[str, ...] = ()
        self._opened: dict[str, OpenedRun] = {}
        self._glances: dict[str, Glance] = {}
        self._unread: list[str] = []
        """Runs of which nothing is known yet, oldest first: the end of it is looked at first."""
        self._turn: list[str] = []
        self._listed = (0, 0.0)
        self._next_machine = 0.0

    def open(self, run_ids: tuple[str, ...]) -> None:
        self._wanted = run_ids

    def poll(self) -> Batch:
        deadline = time.monotonic() + BUDGET_S
        removed = self._list()
        notices: list[Notice] = []
        opened = self._read_opened(deadline, notices)
        records = self._read_glances(deadline, notices)
        more = bool(self._unread) or any(run.has_more for run in self._opened.values())
        return Batch(tuple(records), removed, tuple(opened), tuple(notices), self._machine(), complete=not more)

    def _list(self) -> tuple[str, ...]:
        """Take in what is new; the runs that are gone."""
        changed, now = changed_ns(self._home.runs), time.monotonic()
        if changed == self._listed[0] and now < self._listed[1]:
            return ()
        self._listed = (changed, now + LISTING_S)
        found = set(run_ids(self._home))
        gone = tuple(run_id for run_id in self._glances if run_id not in found)
        for run_id in gone:
            del self._glances[run_id]
            self._opened.pop(run_id, None)
        new = sorted(found - self._glances.keys())
        self._glances |= {run_id: Glance(self._home.run(run_id)) for run_id in new}
        self._unread = [run_id for run_id in self._unread if run_id in found] + new
        return gone

    def _read_opened(self, deadline: float, notices: list[Notice]) -> list[Opened]:
        wanted = [run_id for run_id in self._wanted if run_id in self._glances]
        kept = {run_id: self._opened.get(run_id) or OpenedRun(self._home.run(run_id)) for run_id in wanted}
        self._opened = kept
        news: list[Opened] = []
        # One that waits for its turn goes first next time, so that a long spool starves none.
        for run_id in sorted(kept, key=lambda run_id: not kept[run_id].has_more):
            run = kept[run_id]
            if (read := run.read()) is not None:
                news.append(read)
            notices += [Notice(problem, run_id) for problem in run.problems]
            run.problems.clear()
            if time.monotonic() > deadline:
                break
        return news

    def _read_glances(self, deadline: float, notices: list[Notice]) -> list[RunRecord]:
        records: list[RunRecord] = []
        unread = set(self._unread)
        live = [run_id for run_id, glance in self._glances.items() if glance.is_live and run_id not in unread]
        if not self._turn:
            self._turn = [run_id for run_id, glance in self._glances.items() if not glance.is_live]
        ended, self._turn = self._turn[:ENDED_PER_LOOK], self._turn[ENDED_PER_LOOK:]
        for run_id in (*live, *ended):
            self._look(run_id, records, notices)
        while self._unread and time.monotonic() < deadline:
            self._look(self._unread.pop(), records, notices)
        return records

    def _look(self, run_id: str, records: list[RunRecord], notices: list[Notice]) -> None:
        glance = self._glances.get(run_id)
        if glance is None:
            return
        try:
            record = glance.refresh()
        except OSError as error:  # deleted between two calls, or not ours to read
            if Path(glance.run_dir.root).exists():
                notices.append(Notice(f"{error.filename}: {error.strerror}", run_id))
            return
        if record is not None:
            records.append(record)
        notices += [Notice(problem, run_id) for problem in glance.problems]
        glance.problems.clear()

    def _machine(self) -> Machine | None:
        now = time.monotonic()
        if now < self._next_machine:
            return None
        self._next_machine = now + MACHINE_S
        memory = psutil.virtual_memory()
        folder = next(path for path in (self._home.root, *self._home.root.parents) if path.exists())
        disk = psutil.disk_usage(str(folder))
        return Machine(psutil.cpu_percent(), memory.total - memory.available, memory.total, disk.free, disk.total)
