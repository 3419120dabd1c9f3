"""Structured logs: JSON lines to files, key=value on terminals; events have literal names, never prose."""

import io
import json
import logging
import sys
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any, TextIO, cast

import structlog
from structlog.tracebacks import ExceptionDictTransformer

from mosaic.errors import HomeUnusable
from mosaic.plain_text import plain


def configure(*, level: str = "INFO", file: Path | None = None) -> None:
    """Send this process's log to stderr as key=value or, with `file`, to that file as JSON lines.

    Tracebacks are without local variables, which structlog shows by default: one of them may hold an API key.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]
    if file is None:
        console = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
        processors = [*shared, _made_plain, console]
        write = _to_stderr
    else:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            write = file.open("ab", buffering=0).write
        except OSError as error:
            raise HomeUnusable(f"log file {file} cannot be opened: {error.strerror}; check its folder") from error
        tracebacks = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
        processors = [*shared, tracebacks, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, _Unfailing(write, as_json=file is not None))),
        cache_logger_on_first_use=False,
    )


def _to_stderr(data: bytes) -> int | None:
    """Looks sys.stderr up at each line rather than once: a test or a daemon may replace it later."""
    buffer = getattr(sys.stderr, "buffer", None)
    raw = getattr(buffer, "raw", buffer)  # with PYTHONUNBUFFERED there is none between
    if isinstance(raw, io.FileIO):
        # Past its buffer: a line that a full disk refused would stay there, and be refused again and again.
        return raw.write(data)
    sys.stderr.write(data.decode())
    sys.stderr.flush()
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


def _made_plain(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For a terminal: what a run or a client said must not steer it."""
    return {name: plain(value) if isinstance(value, str) else value for name, value in line.items()}


def get_logger(**context: object) -> structlog.typing.FilteringBoundLogger:
    """A logger with `context` on each of its lines: `log.info("run.started", run_id=…)`."""
    return structlog.get_logger(**context)
