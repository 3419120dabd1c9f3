"""Several runs: those of a submit over seeds, or of a list."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

from mosaic.notebook import run_card
from mosaic.notebook.data_frames import data_frame
from mosaic.notebook.run_handle import Run
from mosaic.rpc.client import Client
from mosaic.spec.run_record import RunRecord

COLUMNS = (
    "run_id",
    "label",
    "kind",
    "algo",
    "env_id",
    "seed",
    "state",
    "global_step",
    "total_timesteps",
    "last_return",
    "best_return",
    "steps_per_s",
    "submitted_at",
    "started_at",
    "ended_at",
    "group",
    "notes",
    "run_dir",
)


class Runs(Sequence[Run]):
    """A sequence of runs, in a notebook a table."""

    def __init__(self, client: Client, run_ids: Iterable[str]) -> None:
        self._client = client
        self._runs = [Run(client, run_id) for run_id in run_ids]

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> "Runs": ...
    def __getitem__(self, index: int | slice) -> "Run | Runs":
        if isinstance(index, slice):
            return Runs(self._client, [run.id for run in self._runs[index]])
        return self._runs[index]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    @property
    def records(self) -> list[RunRecord]:
        return [run.record for run in self._runs]

    def wait(self) -> "Runs":
        """Block until all have ended."""
        self._client.wait(*(run.id for run in self._runs))
        return self

    async def wait_async(self) -> "Runs":
        """`wait` in a thread of its own."""
        return await asyncio.to_thread(self.wait)

    def to_frame(self, library: str | None = None) -> Any:
        """A data frame with a row for each run."""
        records = self.records
        columns = {name: [_plain(getattr(record, name)) for record in records] for name in COLUMNS}
        return data_frame(columns, library)

    def metrics(self, *tags: str, points: int = 0, library: str | None = None) -> Any:
        """A data frame with a row for each value of each run: run_id, seed, tag, step, value, time."""
        rows: list[tuple[Any, ...]] = []
        for record in self.records:
            for one in self._client.metrics(record.run_id, tags=tags, points=points).values():
                rows += [
                    (record.run_id, record.seed, one.tag, *row)
                    for row in zip(one.steps, one.values, one.times, strict=True)
                ]
        names = ("run_id", "seed", "tag", "step", "value", "time")
        return data_frame({name: [row[place] for row in rows] for place, name in enumerate(names)}, library)

    def __repr__(self) -> str:
        return f"[{', '.join(map(repr, self._runs))}]"

    def _repr_html_(self) -> str:
        return run_card.table(self.records)


def _plain(value: Any) -> Any:
    """A state as its word."""
    return getattr(value, "value", value)
