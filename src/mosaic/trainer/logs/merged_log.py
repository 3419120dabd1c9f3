"""One log of a run, in order of time: pages of it before or after a place, and the next line that fits.

Nothing but a page and a block of each file is ever in memory. Where little fits, a call ends after `MOST_LOOKED_AT`
bytes with the place up to which it looked; its client goes on from there.
"""

import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from mosaic.spec.logs import log_times
from mosaic.spec.logs.log_line import SOURCES, LogLine, LogPlace, LogSource
from mosaic.spec.run_dir import RunDir
from mosaic.trainer.logs.line_file import Read, line_start
from mosaic.trainer.logs.log_sources import (
    LONGEST,
    Entry,
    EventSource,
    LogFilter,
    Passed,
    PrintedSource,
    Source,
    entries_after,
    entries_before,
)
from mosaic.trainer.runs.run_secrets import masked

MOST_LINES = 2000
"""Of a page."""
MOST_TEXT = 2**20
"""Characters of a page."""
MOST_LOOKED_AT = 8 * 2**20
"""Bytes that one call goes through."""


@dataclass(frozen=True)
class Page:
    """Lines in order, with the places before the first and after the last."""

    lines: Sequence[LogLine]
    first: LogPlace
    last: LogPlace


class _Head:
    """The next line of one source, in one direction."""

    def __init__(self, source: Source, rank: int, offset: int, entries: Iterator[Entry | Passed]) -> None:
        self.source = source
        self.rank = rank
        self.reached = offset
        """All lines up to here were taken, or do not fit."""
        self.entry: Entry | None = None
        self._entries = entries
        self._is_over = False

    def look(self, most: int) -> int:
        """Look for the next line in at most so many bytes; how many were looked at."""
        looked_at = 0
        while self.entry is None and not self._is_over and looked_at < most:
            found = next(self._entries, None)
            if found is None:
                self._is_over = True
            elif isinstance(found, Entry):
                self.entry = found
            else:
                self.reached = found.offset
                looked_at += found.looked_at
        return looked_at

    @property
    def is_known(self) -> bool:
        return self.entry is not None or self._is_over

    def take(self, *, backwards: bool) -> Entry:
        assert self.entry is not None
        entry, self.entry = self.entry, None
        self.reached = entry.start if backwards else entry.end
        return entry


class MergedLog:
    """The files of one run's log as they are now."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.end = LogPlace(*(source.size for source in sources))

    def within(self, place: LogPlace) -> LogPlace:
        """The same place, or the nearest in files that are shorter by now, at the start of lines."""
        offsets = astuple(place)
        sizes = [source.size for source in self.sources]
        return LogPlace(
            *(
                size if offset >= size else line_start(source.read, max(offset, 0))
                for source, offset, size in zip(self.sources, offsets, sizes, strict=True)
            )
        )

    def after(self, place: LogPlace, wanted: LogFilter, count: int) -> Page:
        lines, reached = self._lines(place, wanted, count, backwards=False)
        return Page(lines, place, reached)

    def before(self, place: LogPlace, wanted: LogFilter, count: int) -> Page:
        lines, reached = self._lines(place, wanted, count, backwards=True)
        return Page(lines[::-1], reached, place)

    def is_end(self, place: LogPlace, wanted: LogFilter) -> bool:
        """Whether no file that is asked for goes on after it."""
        return all(at >= size for at, size in self._asked_for(place, wanted))

    def is_start(self, place: LogPlace, wanted: LogFilter) -> bool:
        return all(at == 0 for at, _ in self._asked_for(place, wanted))

    def _asked_for(self, place: LogPlace, wanted: LogFilter) -> Iterator[tuple[int, int]]:
        for source, offset in zip(self.sources, astuple(place), strict=True):
            if source.name in wanted.sources:
                yield offset, source.size

    def place_of(self, name: LogSource, offset: int, time: float) -> LogPlace:
        """Right before a line that begins there in its file: all of the others that is earlier lies before it."""
        own = SOURCES.index(name)
        return LogPlace(
            *(
                line_start(source.read, min(offset, source.size))
                if rank == own
                else source.before(time, and_at=rank < own)
                for rank, source in enumerate(self.sources)
            )
        )

    def at_part(self, part: float) -> LogPlace:
        """The place that has this part of all bytes before it, by the largest of the files."""
        largest = max(self.sources, key=lambda source: source.size)
        offset = line_start(largest.read, int(min(max(part, 0.0), 1.0) * largest.size))
        # Not of the next line that is shown: hundreds of megabytes of events may have none.
        time = largest.time_at(offset)
        return self.end if time is None else self.place_of(largest.name, offset, time)

    def _lines(
        self, place: LogPlace, wanted: LogFilter, count: int, *, backwards: bool
    ) -> tuple[list[LogLine], LogPlace]:
        entries, choose = (entries_before, max) if backwards else (entries_after, min)
        heads = [
            _Head(source, rank, offset, entries(source, offset, wanted) if source.name in wanted.sources else iter(()))
            for rank, (source, offset) in enumerate(zip(self.sources, astuple(place), strict=True))
        ]
        lines: list[LogLine] = []
        left, text = MOST_LOOKED_AT, 0
        while len(lines) < count and text < MOST_TEXT:
            for head in heads:
                left -= head.look(left)
            # As long as the next line of one is not known, neither is which line is the next of all.
            there = [head for head in heads if head.entry is not None]
            if not there or not all(head.is_known for head in heads):
                break
            head = choose(there, key=lambda head: (head.entry.time if head.entry else 0.0, head.rank))
            entry = head.take(backwards=backwards)
            said = entry.text if len(entry.text) <= LONGEST else _cut(entry.text)
            text += len(said)
            others = self._place(heads)
            around = (
                replace(others, **{head.source.name: entry.start}),
                replace(others, **{head.source.name: entry.end}),
            )
            lines.append(LogLine(head.source.name, said, entry.level, entry.time, *around))
        return lines, self._place(heads)

    def _place(self, heads: Sequence[_Head]) -> LogPlace:
        return LogPlace(*(head.reached for head in heads))


def _cut(text: str) -> str:
    return f"{text[:LONGEST]} … (+{len(text) - LONGEST:,} characters)"


@contextmanager
def opened(run_dir: RunDir, secrets: Mapping[str, str], *, live: bool) -> Generator[MergedLog]:
    """The log of a run, keys masked; of a live one without last lines that are not whole yet."""
    with ExitStack() as stack:
        sources: list[Source] = []
        printed: tuple[tuple[LogSource, Path, Path], ...] = (
            ("stdout", run_dir.stdout, run_dir.stdout_times),
            ("stderr", run_dir.stderr, run_dir.stderr_times),
        )
        for name, path, times_path in printed:
            read, size = _file(stack, run_dir, path, secrets, live=live)
            times = stack.enter_context(log_times.times_of(run_dir, path, times_path))
            sources.append(PrintedSource(name, read, size, times))
        sources.append(EventSource(*_file(stack, run_dir, run_dir.events, {}, live=live)))
        yield MergedLog(sources)


def _file(stack: ExitStack, run_dir: RunDir, path: Path, secrets: Mapping[str, str], *, live: bool) -> tuple[Read, int]:
    try:
        file = stack.enter_context(run_dir.open(path))
    except FileNotFoundError:
        return _nothing, 0
    # Read with a margin, so that a key across two pieces is seen whole.
    margin = max((len(value.encode()) for value in secrets.values()), default=0)

    def read(offset: int, count: int) -> bytes:
        start = max(0, offset - margin)
        data = os.pread(file.fileno(), offset - start + count + margin, start)
        return masked(data, secrets)[offset - start :][:count]

    size = os.fstat(file.fileno()).st_size
    return read, line_start(read, size) if live else size


def _nothing(offset: int, count: int) -> bytes:
    del offset, count
    return b""
