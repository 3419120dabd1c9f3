"""What the window asks of a run's log, and what comes back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.logs.log_line import SOURCES, START, Level, LogLine, LogPlace, LogSource

Where: TypeAlias = Literal["end", "part", "line", "before", "after", "next", "previous"]


@dataclass(frozen=True)
class LogFilter:
    """Which lines are shown, or counted as found."""

    sources: tuple[LogSource, ...] = SOURCES
    level: Level = ""
    text: str = ""

    @property
    def is_open(self) -> bool:
        return self == LogFilter()

    @property
    def message(self) -> pb.LogFilter:
        return pb.LogFilter(sources=self.sources, level=self.level, text=self.text)


@dataclass(frozen=True, eq=False)
class LogRequest:
    """A page, or the next line with a text; of two that are asked for quickly only the last is answered."""

    run_id: str
    where: Where
    filter: LogFilter
    before: int = 0
    after: int = 0
    place: LogPlace = START
    """Of before, after, next and previous."""
    line: LogLine | None = None
    part: float = 0.0

    @property
    def finds(self) -> bool:
        return self.where in ("next", "previous")

    @property
    def to_read(self) -> pb.ReadLogRequest:
        made = pb.ReadLogRequest(run_id=self.run_id, before=self.before, after=self.after, filter=self.filter.message)
        if self.where in ("before", "after"):
            made.place.CopyFrom(_message(self.place))
        elif self.where == "line" and self.line is not None:
            line = self.line
            made.line.CopyFrom(pb.LogLine(source=line.source, time=line.time, place=_message(line.place)))
        elif self.where == "part":
            made.part = self.part
        return made

    @property
    def to_find(self) -> pb.FindInLogRequest:
        return pb.FindInLogRequest(
            run_id=self.run_id,
            place=_message(self.place),
            backwards=self.where == "previous",
            filter=self.filter.message,
        )


@dataclass(frozen=True)
class LogPage:
    """Lines, and what lies around them."""

    request: LogRequest
    lines: Sequence[LogLine]
    lines_before: int
    first: LogPlace
    last: LogPlace
    is_start: bool
    is_end: bool
    total_bytes: int

    @classmethod
    def of(cls, request: LogRequest, page: pb.LogPage) -> "LogPage":
        return cls(
            request,
            [_line(line) for line in page.lines],
            page.lines_before,
            _place(page.first),
            _place(page.last),
            page.is_start,
            page.is_end,
            page.total_bytes,
        )


@dataclass(frozen=True)
class LogFound:
    """The line that was looked for, or how far it was looked for."""

    request: LogRequest
    line: LogLine | None
    reached: LogPlace
    over: bool
    total_bytes: int

    @classmethod
    def of(cls, request: LogRequest, reply: pb.FindInLogReply) -> "LogFound":
        line = _line(reply.line) if reply.HasField("line") else None
        return cls(request, line, _place(reply.reached), reply.over, reply.total_bytes)


@dataclass(frozen=True)
class LogCounted:
    """How many lines there are, and how many of them fit, as far as they were counted."""

    run_id: str
    filter: LogFilter
    lines: int
    fitting: int
    part: float
    whole: bool

    @classmethod
    def of(cls, run_id: str, wanted: LogFilter, count: pb.LogCount) -> "LogCounted":
        part = count.bytes / count.total_bytes if count.total_bytes else 1.0
        return cls(run_id, wanted, count.lines, count.fitting, part, count.whole)


LogAnswer: TypeAlias = LogPage | LogFound | LogCounted


def _message(place: LogPlace) -> pb.LogPlace:
    return pb.LogPlace(stdout=place.stdout, stderr=place.stderr, events=place.events)


def _place(message: pb.LogPlace) -> LogPlace:
    return LogPlace(message.stdout, message.stderr, message.events)


def _line(line: pb.LogLine) -> LogLine:
    # A daemon of another version may name sources and levels that this window does not know: it shows them as they are.
    source, level = cast(LogSource, line.source), cast(Level, line.level)
    return LogLine(source, line.text, level, line.time, _place(line.place), _place(line.after))
