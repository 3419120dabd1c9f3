"""The curves of the opened runs: of each the rows that it has more than the window, in bounded pieces, in turn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.news import Batch, NewPoints, Points
from mosaic.rpc.client import Client, NewRows, Refused
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE

PIECE_ROWS = 50_000
"""In one answer: 1.2 MB, and a few milliseconds of the GUI thread."""
LIVE_S = 0.25
"""Between two looks at runs that learn."""
BUSY_S = 0.02


@dataclass(eq=False)
class Opening:
    """How far the window has the curves of a run."""

    run_id: str
    rows: dict[str, int] = field(default_factory=dict[str, int])
    generation: int = 0
    revision: int = -1
    """Of the record when all was fetched; as long as that is the newest, there is no more."""
    is_closed: bool = False
    """This run is not shown any more: what is still under way is dropped."""


class CurvesListener:
    """Asks only where there may be something new."""

    def __init__(self, post: Callable[[Batch, Opening], None], records: Mapping[str, RunRecord]) -> None:
        self._post = post
        self._records = records
        self._openings: tuple[Opening, ...] = ()

    def open(self, run_ids: tuple[str, ...]) -> None:
        """Fetch these and no others; what is there of one that stays is kept. In the GUI thread."""
        before = {opening.run_id: opening for opening in self._openings}
        self._openings = tuple(before.pop(run_id, None) or Opening(run_id) for run_id in run_ids)
        for opening in before.values():
            opening.is_closed = True

    def hear(self, listener: DaemonListener, client: Client) -> float:
        more = False
        for opening in self._openings:
            if listener.stopping:
                break
            record = self._records.get(opening.run_id)
            if record is None or (record.state not in LIVE and record.revision == opening.revision):
                continue
            try:
                new = client.new_metrics(
                    opening.run_id,
                    after_rows=opening.rows,
                    generation=opening.generation,
                    max_rows=PIECE_ROWS,
                )
            except Refused as refused:
                if refused.status == "NOT_FOUND":  # deleted: the stream of changes will say so
                    continue
                raise
            self._take(opening, new)
            if new.more:
                more = True
            else:
                opening.revision = record.revision
        return BUSY_S if more else LIVE_S

    def _take(self, opening: Opening, new: NewRows) -> None:
        anew = new.generation != opening.generation
        if not (new.rows or anew):
            return
        points = {tag: _points(rows) for tag, (_, rows) in new.rows.items()}
        self._post(Batch(points=(NewPoints(opening.run_id, points, anew=anew),)), opening)
        if anew:
            opening.generation, opening.rows = new.generation, {}
        for tag, (first, _) in new.rows.items():
            opening.rows[tag] = first + len(points[tag].steps)


def _points(data: bytes) -> Points:
    rows = np.frombuffer(data, dtype="<f8").reshape(-1, 3)
    return Points(rows[:, 0], rows[:, 2], rows[:, 1])
