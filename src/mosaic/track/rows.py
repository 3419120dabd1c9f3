"""From events to rows of history: what belongs to one step in one row, and nothing left out."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from mosaic.spec.events import Episode, EvalBatch, Event, RunStarted, Scalars, scalars_of


@dataclass(frozen=True)
class Row:
    """One row of history."""

    global_step: int
    time: float
    values: dict[str, float] = field(default_factory=dict[str, float])


class Rows:
    """Joins neighbouring events of one step; two episodes that end at the same step stay two rows."""

    def __init__(self) -> None:
        self._open: Row | None = None

    def take(self, event: Event) -> Row | None:
        """A row that is complete by now."""
        row = row_of(event)
        if row is None:
            return None
        last = self._open
        if last is not None and last.global_step == row.global_step and not last.values.keys() & row.values.keys():
            self._open = Row(row.global_step, row.time, last.values | row.values)
            return None
        self._open = row
        return last

    def rest(self) -> Row | None:
        """The row that was still open."""
        row, self._open = self._open, None
        return row


def row_of(event: Event) -> Row | None:
    """CleanRL's tags; None for an event without numbers."""
    match event.body:
        case Scalars() | Episode() as body:
            return Row(body.global_step, event.time, scalars_of(body))
        case EvalBatch() as batch:
            names = ("mean", "std", "minimum", "maximum", "duration_s")
            values = {f"eval/batch_{name}": float(getattr(batch, name)) for name in names}
            return Row(batch.batch * batch.episodes, event.time, values)
        case _:
            return None


class Attempts:
    """Which events a curve keeps: a resumed attempt drops what earlier ones logged after its checkpoint."""

    def __init__(self, starts: Sequence[Event]) -> None:
        self._cuts: list[tuple[int, int]] = []
        for event in starts:
            self.note(event)

    def note(self, event: Event) -> int | None:
        """Remember a start; the step after which earlier events are dropped, if it is new and there is one."""
        if not isinstance(event.body, RunStarted) or event.body.resumed_from_step is None:
            return None
        cut = (event.seq, event.body.resumed_from_step)
        if cut in self._cuts:
            return None
        self._cuts.append(cut)
        return cut[1]

    def keeps(self, event: Event) -> bool:
        step = getattr(event.body, "global_step", None)
        return step is None or all(event.seq > seq or step <= last for seq, last in self._cuts)
