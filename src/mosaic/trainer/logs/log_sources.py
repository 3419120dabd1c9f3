"""The files of a run's log as lines with times: what it printed, and the events that the curves do not show."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from mosaic.errors import SpoolCorrupt
from mosaic.spec.events import decode
from mosaic.spec.logs.log_line import (
    DRAWN,
    LEVEL_WORDS,
    SEVERITY,
    SOURCES,
    Level,
    LogSource,
    line_of_event,
    line_of_output,
)
from mosaic.spec.logs.log_times import LogTimes
from mosaic.trainer.logs.line_file import Chunk, Read, chunks_after, chunks_before, line_start, lines_of

LONGEST = 4000
"""Characters of a line that are handed out."""
_DRAWN = tuple(b',"kind":"%b"' % kind.encode() for kind in DRAWN)
_TIME = re.compile(rb'^\{"v":\d+,"seq":\d+,"time":([0-9.]+),"kind":')
_HEAD_BYTES = 96
_TERMINAL = re.compile(rb"[\x00-\x09\x0b-\x1f\x7f]")


@dataclass(frozen=True)
class LogFilter:
    """Which lines are asked for."""

    sources: frozenset[LogSource] = frozenset(SOURCES)
    severity: int = 0
    text: str = ""
    """In lower case."""

    @property
    def takes_all(self) -> bool:
        """Of the sources."""
        return not self.severity and not self.text

    def fits(self, level: Level, text: str) -> bool:
        return SEVERITY[level] >= self.severity and self.text in text.lower()

    def may_fit(self, printed: bytes) -> bool:
        """Whether one of these lines may fit; no is certain, and found without looking at each of them."""
        if self.severity and not LEVEL_WORDS.search(printed):
            return False
        # What a terminal is told, and letters beyond ASCII, are seen line by line only.
        if not self.text or not self.text.isascii() or _TERMINAL.search(printed):
            return True
        return self.text.encode() in printed.lower()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line in its file."""

    start: int
    end: int
    time: float
    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class Passed:
    """Nothing fits up to here."""

    offset: int
    looked_at: int
    """Bytes."""


class Source(Protocol):
    """One of the three files of a log."""

    @property
    def name(self) -> LogSource: ...

    @property
    def size(self) -> int:
        """Bytes up to the end of the last line that counts."""
        ...

    @property
    def read(self) -> Read: ...

    def entry(self, start: int, end: int, line: bytes) -> Entry | None: ...

    def may_fit(self, chunk: bytes, wanted: LogFilter) -> bool: ...

    def before(self, time: float, *, and_at: bool) -> int:
        """Where lines of a time begin, or those after it."""
        ...

    def time_at(self, offset: int) -> float | None:
        """Of the line that begins there, or of the next that tells one; None behind the last."""
        ...


class PrintedSource:
    """Stdout or stderr."""

    def __init__(self, name: LogSource, read: Read, size: int, times: LogTimes) -> None:
        self.name: LogSource = name
        self.size = size
        self.read = read
        self._times = times

    def entry(self, start: int, end: int, line: bytes) -> Entry | None:
        level, text = line_of_output(line)
        return Entry(start, end, self._times.at(end), level, text)

    def may_fit(self, chunk: bytes, wanted: LogFilter) -> bool:
        return wanted.may_fit(chunk)

    def before(self, time: float, *, and_at: bool) -> int:
        return line_start(self.read, self._times.bytes_before(time, self.size, and_at=and_at))

    def time_at(self, offset: int) -> float | None:
        return self._times.at(offset + 1) if offset < self.size else None


class EventSource:
    """`events.jsonl`; a line that is not an event is a warning in its place."""

    name: LogSource = "events"

    def __init__(self, read: Read, size: int) -> None:
        self.size = size
        self.read = read

    def entry(self, start: int, end: int, line: bytes) -> Entry | None:
        head = line[:_HEAD_BYTES]
        if any(kind in head for kind in _DRAWN):
            return None
        try:
            event = decode(line)
        except SpoolCorrupt as error:
            return Entry(start, end, _time_of(line), "WARN", f"events.jsonl: {error}")
        said = line_of_event(event)
        return None if said is None else Entry(start, end, event.time, *said)

    def may_fit(self, chunk: bytes, wanted: LogFilter) -> bool:
        del chunk, wanted
        return True

    def before(self, time: float, *, and_at: bool) -> int:
        low, high = 0, self.size
        while low < high:
            middle = line_start(self.read, (low + high) // 2)
            if middle < low:
                middle = low
            start, found = self._next_timed(middle, high)
            if found is not None and (found < time or (and_at and found == time)):
                low = start
            elif middle == low:
                return low
            else:
                high = middle
        return low

    def time_at(self, offset: int) -> float | None:
        return self._next_timed(offset, self.size)[1]

    def _next_timed(self, offset: int, high: int) -> tuple[int, float | None]:
        """The end and the time of the next line that tells one."""
        for chunk in chunks_after(self.read, offset, high):
            for _, end, line in lines_of(chunk):
                if found := _TIME.match(line):
                    return end, float(found[1])
        return high, None


def _time_of(line: bytes) -> float:
    found = _TIME.match(line[:_HEAD_BYTES])
    return float(found[1]) if found else 0.0


def entries_after(source: Source, offset: int, wanted: LogFilter) -> Iterator[Entry | Passed]:
    for chunk in chunks_after(source.read, offset, source.size):
        yield from _fitting(source, chunk, wanted)
        yield Passed(chunk[0] + len(chunk[1]), len(chunk[1]))


def entries_before(source: Source, offset: int, wanted: LogFilter) -> Iterator[Entry | Passed]:
    for chunk in chunks_before(source.read, offset):
        yield from reversed(list(_fitting(source, chunk, wanted)))
        yield Passed(chunk[0], len(chunk[1]))


def _fitting(source: Source, chunk: Chunk, wanted: LogFilter) -> Iterator[Entry]:
    if source.name not in wanted.sources or not source.may_fit(chunk[1], wanted):
        return
    for start, end, line in lines_of(chunk):
        entry = source.entry(start, end, line)
        if entry is not None and wanted.fits(entry.level, entry.text):
            yield entry


def counted(source: Source, chunk: Chunk, wanted: LogFilter) -> tuple[int, int]:
    """Lines of a chunk, and those of them that fit."""
    data = chunk[1]
    is_wanted = source.name in wanted.sources
    if source.name == "events":
        entries = [entry for line in lines_of(chunk) if (entry := source.entry(*line)) is not None]
        return len(entries), sum(wanted.fits(entry.level, entry.text) for entry in entries) if is_wanted else 0
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    if not is_wanted or not source.may_fit(data, wanted):
        return lines, 0
    if wanted.takes_all:
        return lines, lines
    if not wanted.severity and wanted.text.isascii() and not _TERMINAL.search(data):
        text = wanted.text.encode()
        return lines, sum(text in line for line in data.lower().split(b"\n"))
    return lines, sum(1 for _ in _fitting(source, chunk, wanted))
