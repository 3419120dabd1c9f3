"""What a client asks of a run's log: a page around a place, the next line that fits, how many there are."""

from collections.abc import Callable, Iterator
from typing import Any, cast

from mosaic.errors import ConfigError, Problem
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.logs.log_line import LONGEST_SEARCH, SEVERITY, SOURCES, Level, LogLine, LogPlace, LogSource
from mosaic.spec.run_dir import RunDir
from mosaic.spec.states import TERMINAL
from mosaic.trainer.logs.line_file import chunks_after
from mosaic.trainer.logs.log_sources import LogFilter, counted
from mosaic.trainer.logs.merged_log import MOST_LINES, MergedLog, Page, opened
from mosaic.trainer.runs.supervisor import Supervisor

TOLD_BYTES = 8 * 2**20
"""Between two replies of a count."""
WAIT_S = 1.0


class LogRequests:
    """Answers by the files of the run; nothing is kept between two calls."""

    def __init__(self, supervisor: Supervisor, run_dir_of: Callable[[str], RunDir]) -> None:
        self._supervisor = supervisor
        self._run_dir_of = run_dir_of

    def page(self, request: pb.ReadLogRequest) -> pb.LogPage:
        wanted = _filter(request.filter)
        for name, count in (("before", request.before), ("after", request.after)):
            if count > MOST_LINES:
                raise _wrong(name, f"is {count:,}; at most {MOST_LINES:,} lines at once", "ReadLog")
        with self._opened(request.run_id) as log:
            place = _place(log, request)
            before, after = Page((), place, place), Page((), place, place)
            if request.before:
                before = log.before(place, wanted, request.before)
            if request.after:
                after = log.after(place, wanted, request.after)
            return pb.LogPage(
                lines=[_line(line) for line in (*before.lines, *after.lines)],
                lines_before=len(before.lines),
                first=_message(before.first),
                last=_message(after.last),
                is_start=log.is_start(before.first, wanted),
                is_end=log.is_end(after.last, wanted),
                total_bytes=log.end.bytes,
            )

    def find(self, request: pb.FindInLogRequest) -> pb.FindInLogReply:
        wanted = _filter(request.filter)
        with self._opened(request.run_id) as log:
            place = log.within(_from(request.place)) if request.HasField("place") else log.end
            page = log.before(place, wanted, 1) if request.backwards else log.after(place, wanted, 1)
            reached = page.first if request.backwards else page.last
            over = log.is_start(reached, wanted) if request.backwards else log.is_end(reached, wanted)
            line = _line(page.lines[0]) if page.lines else None
            return pb.FindInLogReply(line=line, reached=_message(reached), over=over, total_bytes=log.end.bytes)

    def count(self, request: pb.CountLogRequest, context: Any) -> Iterator[pb.LogCount]:
        wanted = _filter(request.filter)
        change_signal = self._supervisor.change_signal
        offsets = [0, 0, 0]
        lines = fitting = 0
        told_all = False
        while context.is_active() and not change_signal.closed:
            heard = change_signal.rings
            # Asked before it is read: what an ending run prints last is read after that.
            ended = self._has_ended(request.run_id)
            told = grown = 0
            with self._opened(request.run_id) as log:
                for rank, source in enumerate(log.sources):
                    for chunk in chunks_after(source.read, offsets[rank], source.size):
                        some, fit = counted(source, chunk, wanted)
                        lines, fitting, grown = lines + some, fitting + fit, grown + 1
                        offsets[rank] = chunk[0] + len(chunk[1])
                        told += len(chunk[1])
                        if told >= TOLD_BYTES:
                            told = 0
                            yield pb.LogCount(
                                lines=lines, fitting=fitting, bytes=sum(offsets), total_bytes=log.end.bytes
                            )
                        if not context.is_active() or change_signal.closed:
                            return
                total = log.end.bytes
            if grown or not told_all:
                told_all = True
                yield pb.LogCount(lines=lines, fitting=fitting, bytes=total, total_bytes=total, whole=True)
            if ended or not request.follow:
                return
            change_signal.wait(heard, WAIT_S)

    def _opened(self, run_id: str) -> Any:
        secrets = self._supervisor.secrets.of(run_id)
        return opened(self._run_dir_of(run_id), secrets, live=not self._has_ended(run_id))

    def _has_ended(self, run_id: str) -> bool:
        return self._supervisor.get(run_id).state in TERMINAL


def _filter(message: pb.LogFilter) -> LogFilter:
    unknown = [name for name in message.sources if name not in SOURCES]
    if unknown:
        raise _wrong("sources", f"'{unknown[0]}' is none of {', '.join(SOURCES)}", "the log")
    if message.level not in SEVERITY:
        raise _wrong("level", f"'{message.level}' is none of WARN, ERR and nothing", "the log")
    if len(message.text) > LONGEST_SEARCH:
        raise _wrong("text", f"has {len(message.text):,} characters; at most {LONGEST_SEARCH:,}", "the log")
    sources = cast(list[LogSource], list(message.sources)) or SOURCES
    return LogFilter(frozenset(sources), SEVERITY[cast(Level, message.level)], message.text.lower())


def _wrong(name: str, what: str, of: str) -> ConfigError:
    return ConfigError([Problem(name, what)], what=of)


def _place(log: MergedLog, request: pb.ReadLogRequest) -> LogPlace:
    if request.HasField("place"):
        return log.within(_from(request.place))
    if request.HasField("line"):
        line = request.line
        if line.source not in SOURCES:
            raise _wrong("line", f"'{line.source}' is none of {', '.join(SOURCES)}", "ReadLog")
        return log.place_of(line.source, getattr(line.place, line.source), line.time)
    if request.HasField("part"):
        return log.at_part(request.part if request.part == request.part else 1.0)
    return log.end


def _from(message: pb.LogPlace) -> LogPlace:
    return LogPlace(message.stdout, message.stderr, message.events)


def _message(place: LogPlace) -> pb.LogPlace:
    return pb.LogPlace(stdout=place.stdout, stderr=place.stderr, events=place.events)


def _line(line: LogLine) -> pb.LogLine:
    return pb.LogLine(
        source=line.source,
        level=line.level,
        time=line.time,
        text=line.text,
        place=_message(line.place),
        after=_message(line.after),
    )
