"""What the daemon remembers of runs between two looks; all of it can be found out again."""

from collections import OrderedDict
from dataclasses import dataclass, field

from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL
from mosaic.trainer.index.ingest import RunIngest
from mosaic.trainer.runs import out_of_memory
from mosaic.trainer.runs.out_of_memory import KernelCounts
from mosaic.trainer.runs.verdicts import Verdict

ENDED_KEPT = 32
"""Ended runs whose metrics were asked for lately stay open, so that a chart which zooms is answered at once."""


@dataclass
class Watched:
    """One run."""

    ingest: RunIngest
    stop_asked: bool = False
    """This daemon has sent the signal."""
    stop_deadline: float | None = None
    release_deadline: float | None = None
    last_progress: float = 0.0
    news: bool = False
    """There is progress that the index does not have yet."""
    killed: bool = False
    verdict: Verdict | None = None
    """Of a worker that has ended, until it is written down; a full disk may delay that."""
    kernel: KernelCounts = field(default_factory=out_of_memory.counts)
    """Before its worker ended."""
    complaints: int = 0
    """Complaints about its events that were logged."""


class WatchedRuns:
    """All of them, by run id. The caller holds the supervisor's lock."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._live: dict[str, Watched] = {}
        self._ended: OrderedDict[str, Watched] = OrderedDict()

    def of(self, record: RunRecord) -> Watched:
        if record.state in TERMINAL:
            return self._of_ended(record)
        if record.run_id not in self._live:
            watched = self._ended.pop(record.run_id, None)
            self._live[record.run_id] = Watched(watched.ingest if watched else self._open(record))
        return self._live[record.run_id]

    def _of_ended(self, record: RunRecord) -> Watched:
        watched = self._ended.pop(record.run_id, None) or self._live.pop(record.run_id, None)
        self._ended[record.run_id] = watched = watched or Watched(self._open(record))
        while len(self._ended) > ENDED_KEPT:
            self._ended.popitem(last=False)
        return watched

    def forget(self, run_id: str) -> None:
        self._live.pop(run_id, None)
        self._ended.pop(run_id, None)

    def save(self) -> None:
        """Remember how far each is, for the next daemon."""
        for watched in self._live.values():
            watched.ingest.save()

    def _open(self, record: RunRecord) -> RunIngest:
        return RunIngest(self._home, self._home.run(record.run_id))
