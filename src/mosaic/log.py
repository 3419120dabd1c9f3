"""Structured logs: JSON lines to files, key=value on terminals; events have literal names, never prose.

Written here in a few lines: every process logs, and a logging library costs each of them a tenth of a second at its
start. Tracebacks are without local variables: one of them may hold an API key.
"""

import io
import json
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from mosaic.errors import HomeUnusable
from mosaic.plain_text import plain

LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}
MAX_FRAMES = 50
"""Of a traceback in a file: of a deeper one, the first and the last."""
_EVENT_WIDTH = 30
_COLOURS = {"debug": "\x1b[32m", "info": "\x1b[32m", "warning": "\x1b[33m", "error": "\x1b[31m"}


class Logger:
    """Writes lines with `context` on each of them: `log.info("run.started", run_id=…)`."""

    def __init__(self, context: Mapping[str, object]) -> None:
        self._context = context

    def debug(self, event: str, **fields: object) -> None:
        self._log("debug", event, fields)

    def info(self, event: str, **fields: object) -> None:
        self._log("info", event, fields)

    def warning(self, event: str, **fields: object) -> None:
        self._log("warning", event, fields)

    def error(self, event: str, *, exc_info: BaseException | None = None, **fields: object) -> None:
        self._log("error", event, fields, exc_info)

    def exception(self, event: str, **fields: object) -> None:
        """An error with the exception that is being handled."""
        self._log("error", event, fields, sys.exc_info()[1])

    def _log(self, level: str, event: str, fields: Mapping[str, object], error: BaseException | None = None) -> None:
        if LEVELS[level] >= _log.level:
            _log.write(level, event, {**self._context, **fields}, error)


def get_logger(**context: object) -> Logger:
    """A logger with `context` on each of its lines."""
    return Logger(context)


def configure(*, level: str = "INFO", file: Path | None = None, beside: Path | None = None) -> None:
    """Send this process's log to stderr as key=value or, with `file`, to that file as JSON lines.

    With `beside` that file gets JSON lines and stderr warnings and errors. A process that asks for none of these, as a
    worker, logs on stdout.
    """
    global _log
    threshold = LEVELS[level.lower()]
    _log.close()
    if file is not None:
        _log = _in_file(file, threshold)
    elif beside is not None:
        _log = _in_file(beside, threshold, too=_on("stderr", LEVELS["warning"]))
    else:
        _log = _on("stderr", threshold)


def _in_file(path: Path, level: int, *, too: "_Log | None" = None) -> "_Log":
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = path.open("ab", buffering=0)
    except OSError as error:
        raise HomeUnusable(f"log file {path} cannot be opened: {error.strerror}; check its folder") from error
    return _Log(level, _json, _Unfailing(opened.write, as_json=True), opened.close, too)


class _Log:
    """Where the lines of this process go, from which level on."""

    def __init__(
        self,
        level: int,
        render: Callable[..., str],
        out: "_Unfailing",
        close: Callable[[], None] = lambda: None,
        too: "_Log | None" = None,
    ) -> None:
        self.level = level
        self.close = close
        self._render = render
        self._out = out
        self._too = too
        """A second place, with a level of its own."""

    def write(self, level: str, event: str, fields: Mapping[str, object], error: BaseException | None) -> None:
        now = datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        self._out.write(self._render(now, level, event, fields, error) + "\n")
        if self._too is not None and LEVELS[level] >= self._too.level:
            self._too.write(level, event, fields, error)


def _json(now: str, level: str, event: str, fields: Mapping[str, object], error: BaseException | None) -> str:
    line: dict[str, object] = {**fields, "event": event, "level": level, "timestamp": now}
    if error is not None:
        line["exception"] = list(_exceptions(error))
    return json.dumps(line, default=repr)


def _exceptions(error: BaseException) -> Iterator[dict[str, object]]:
    """An exception and what led to it, the last one first."""
    seen: set[int] = set()
    found: BaseException | None = error
    is_cause = False
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        frames = [
            {"filename": frame.f_code.co_filename, "lineno": number, "name": frame.f_code.co_name}
            for frame, number in traceback.walk_tb(found.__traceback__)
        ]
        if len(frames) > MAX_FRAMES:
            frames = [*frames[: MAX_FRAMES // 2], *frames[-MAX_FRAMES // 2 :]]
        kind = type(found).__name__
        yield {"exc_type": kind, "exc_value": str(found), "is_cause": is_cause, "frames": frames}
        is_cause = found.__cause__ is not None
        found = found.__cause__ if is_cause or found.__suppress_context__ else found.__context__


def _key_value(
    stream: str, now: str, level: str, event: str, fields: Mapping[str, object], error: BaseException | None
) -> str:
    """For a terminal: what a run or a client said must not steer it."""
    dim, colour, bold, key, value, end = (
        ("\x1b[2m", _COLOURS[level], "\x1b[1m", "\x1b[36m", "\x1b[35m", "\x1b[0m") if _is_terminal(stream) else [""] * 6
    )
    pairs = (f"{key}{name}{end}={value}{_shown(fields[name])}{end}" for name in sorted(fields))
    head = f"{dim}{now}{end} [{colour}{bold}{level:<9}{end}] {bold}{plain(event):<{_EVENT_WIDTH}}{end}"
    line = " ".join([head, *pairs]).rstrip()
    if error is None:
        return line
    return f"{line}\n{plain(''.join(traceback.format_exception(error)).rstrip())}"


def _shown(value: object) -> str:
    """A word as it is; a text of several in quotes."""
    if not isinstance(value, str):
        return repr(value)
    text = plain(value)
    return repr(text) if any(character in " \t=\r\n\"'" for character in text) else text


def _is_terminal(stream: str) -> bool:
    return bool(getattr(getattr(sys, stream), "isatty", bool)())


def _write_to(name: str, data: bytes) -> int | None:
    """Looks sys.stderr up at each line rather than once: a test or a daemon may replace it later."""
    stream = getattr(sys, name)
    buffer = getattr(stream, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is none between
    if name == "stderr" and isinstance(raw, io.FileIO):
        # Past its buffer: a line that a full disk refused would stay there, and be refused again and again.
        return raw.write(data)
    stream.write(data.decode())
    stream.flush()
    return len(data)


class _Unfailing:
    """Writes lines and drops those that the disk refuses: a thread that logs that the disk is full must not end by it.

    How many were dropped is the next line that can be written.
    """

    def __init__(self, write: Callable[[bytes], int | None], *, as_json: bool) -> None:
        self._write = write
        self._as_json = as_json
        self._dropped = 0
        self._torn = False
        """The last line was written in part."""

    def write(self, text: str) -> None:
        try:
            if self._dropped:
                self._put(self._gap())
                self._dropped = 0
            self._put(text)
        except (OSError, ValueError):  # ValueError: the stream was closed
            self._dropped += 1

    def flush(self) -> None:
        """Nothing is kept back."""

    def _put(self, text: str) -> None:
        left = text.encode(errors="backslashreplace")
        while left:
            written = self._write(left)
            if not written:
                raise BlockingIOError("the log takes nothing now")
            left = left[written:]
            self._torn = bool(left)

    def _gap(self) -> str:
        told = {"event": "log.dropped", "level": "warning", "lines": self._dropped}
        line = json.dumps(told) if self._as_json else f"log.dropped lines={self._dropped}"
        return ("\n" if self._torn else "") + line + "\n"


def _on(stream: str, level: int) -> _Log:
    return _Log(level, partial(_key_value, stream), _Unfailing(partial(_write_to, stream), as_json=False))


_log = _on("stdout", LEVELS["info"])
