"""Structured logs: JSON lines to files, key=value on terminals; events have literal names, never prose."""

import contextlib
import logging
import sys
from collections.abc import MutableMapping
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
        # Looked up at each line rather than bound now: a test or a daemon may replace sys.stderr later.
        factory = _to_stderr
    else:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            stream = file.open("a", encoding="utf-8", buffering=1)
        except OSError as error:
            raise HomeUnusable(f"log file {file} cannot be opened: {error.strerror}; check its folder") from error
        tracebacks = structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False))
        processors = [*shared, tracebacks, structlog.processors.JSONRenderer()]
        factory = structlog.WriteLoggerFactory(cast(TextIO, _Unfailing(stream)))
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=factory,
        cache_logger_on_first_use=False,
    )


class _Unfailing:
    """Writes lines and drops what a full disk refuses: whoever logs that the disk is full must not fail at it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.name = stream.name

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._stream.flush()


def _made_plain(_: object, __: str, line: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """For a terminal: what a run or a client said must not steer it."""
    return {name: plain(value) if isinstance(value, str) else value for name, value in line.items()}


def _to_stderr(*_: object) -> structlog.PrintLogger:
    return structlog.PrintLogger(sys.stderr)


def get_logger(**context: object) -> structlog.typing.FilteringBoundLogger:
    """A logger with `context` on each of its lines: `log.info("run.started", run_id=…)`."""
    return structlog.get_logger(**context)
