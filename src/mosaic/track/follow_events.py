"""Following a run's spool until the run has ended."""

import time
from collections.abc import Iterator

from mosaic.errors import MosaicError, SpoolCorrupt
from mosaic.log import get_logger
from mosaic.spec import events
from mosaic.spec.events import Event, EventReader, RunCompleted, RunFailed, RunStarted
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.processes import process_identity
from mosaic.spec.run_dir import RunDir

POLL_S = 0.5
PIECE_BYTES = 4 << 20
TAIL_BYTES = 1 << 20
FIRST_EVENT_S = 60.0
"""How long a run without a living worker may take to write its first event."""
_START = RunStarted.kind.encode()

log = get_logger()


def starts(run_dir: RunDir) -> list[Event]:
    """The beginnings of all attempts so far."""
    reader = LineReader(run_dir.events)
    found: list[Event] = []
    while lines := reader.new_lines(PIECE_BYTES):
        found += [event for line in lines if _START in line and (event := _decoded(line)) is not None]
    return [event for event in found if isinstance(event.body, RunStarted)]


def follow(run_dir: RunDir) -> Iterator[Event | None]:
    """Every event from the first one on, and None whenever there is no further one yet; ends with the run."""
    reader, spool = LineReader(run_dir.events), EventReader()
    deadline = time.monotonic() + FIRST_EVENT_S
    seen, over, complaints = False, False, 0
    while True:
        # Asked before the events are read: what is written before the end is then certainly read after it.
        alive = is_alive(run_dir)
        lines = reader.new_lines(PIECE_BYTES)
        for event in spool.read(lines) if lines else spool.rest():
            seen = True
            over = isinstance(event.body, (RunCompleted, RunFailed)) or (
                over and not isinstance(event.body, RunStarted)
            )
            yield event
        for complaint in spool.complaints[complaints:]:
            log.warning("event.skipped", error=complaint)
        complaints = len(spool.complaints)
        if not lines:
            if over or (not alive and (seen or time.monotonic() > deadline)):
                return
            yield None
            time.sleep(POLL_S)


def last_seq(run_dir: RunDir) -> int:
    """Of the newest event that is whole on disk; 0 if there is none."""
    try:
        size = run_dir.events.stat().st_size
    except FileNotFoundError:
        return 0
    lines = LineReader(run_dir.events, offset=max(0, size - TAIL_BYTES)).new_lines()
    last = next((event for line in reversed(lines) if (event := _decoded(line)) is not None), None)
    return 0 if last is None else last.seq


def is_alive(run_dir: RunDir) -> bool:
    """Whether the run's worker lives, by the name it wrote down: the life lock is not touched, a start may need it."""
    try:
        return process_identity.read(run_dir.worker).is_alive
    except (OSError, MosaicError):
        return False


def _decoded(line: bytes) -> Event | None:
    try:
        return events.decode(line)
    except SpoolCorrupt:  # Told by the one that follows the run.
        return None
