"""Which runs there are and how they are doing, from the daemon's list and then from its stream of changes."""

from collections.abc import Callable

from mosaic.gui.models import shown_text
from mosaic.gui.models.batch import Batch
from mosaic.gui.models.gathered import Gathered
from mosaic.gui.models.hearing import Hearing
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

PAGE = 500
"""Runs handed over at once."""
PAUSE_S = 0.02
"""Between two pages, and two lists of changes: the GUI thread gets the interpreter in between."""


class RunsEar:
    """After each loss of the daemon the whole list is compared: its index may be another by then."""

    def __init__(self, post: Callable[[Batch], None]) -> None:
        self._post = post
        self.records: dict[str, RunRecord] = {}
        """The newest of each run; read by other threads."""

    def hear(self, hearing: Hearing, client: Client) -> float:
        revision = self._compare(hearing, client)
        stream = client.watch_runs(after_revision=revision)
        hearing.reading(stream)
        for changes in Gathered(stream):
            newest = {record.run_id: record for record in changes}
            self._take([record for record in newest.values() if not record.deleted])
            self._drop([run_id for run_id, record in newest.items() if record.deleted])
            hearing.wait(PAUSE_S)
        return 0.0

    def _compare(self, hearing: Hearing, client: Client) -> int:
        """Take in the whole list; the revision behind which changes may have been missed."""
        revision: int | None = None
        listed: set[str] = set()
        token = ""
        while not hearing.stopping:
            runs, token = client.page(size=PAGE, token=token)
            if revision is None:
                # Of the first page: whatever changes while the others are read has a higher one.
                revision = max((record.revision for record in runs), default=0)
            listed.update(record.run_id for record in runs)
            self._take([record for record in runs if self._is_news(record)])
            if not token:
                self._drop([run_id for run_id in self.records if run_id not in listed])
                break
            hearing.wait(PAUSE_S)
        return revision or 0

    def _is_news(self, record: RunRecord) -> bool:
        known = self.records.get(record.run_id)
        return known is None or known.revision != record.revision

    def _take(self, heard: list[RunRecord]) -> None:
        records = shown_text.records(heard)
        self.records |= {record.run_id: record for record in records}
        if records:
            self._post(Batch(records=tuple(records)))

    def _drop(self, run_ids: list[str]) -> None:
        gone = [run_id for run_id in run_ids if self.records.pop(run_id, None) is not None]
        if gone:
            self._post(Batch(removed=tuple(gone)))
