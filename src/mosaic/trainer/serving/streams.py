"""What watchers receive: each reads from disk at its own pace and waits for a change, so none holds up another."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.alerts.alert_journal import Entry
from mosaic.errors import MosaicError
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.codec import to_message
from mosaic.spec.files.files_of_run import is_regular, open_regular
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.run_dir import RunDir
from mosaic.spec.states import TERMINAL
from mosaic.trainer.index.index_store import Store
from mosaic.trainer.runs.run_alerts import RunAlerts
from mosaic.trainer.runs.run_secrets import masked
from mosaic.trainer.runs.supervisor import Supervisor
from mosaic.trainer.serving.change_signal import ChangeSignal

WAIT_S = 1.0
CHUNK_BYTES = 256 * 1024
HEAD = b'{"v":1,"seq":'
MAX_DIGITS = 19
"""Digits of numbers that every reader can keep."""
KIND = b',"kind":"'
HEAD_BYTES = 96
"""Number, time and kind stand in as many bytes at the beginning of each line."""


class DaemonEnding(MosaicError):
    """A stream is cut off, rather than at its end."""

    def __init__(self) -> None:
        super().__init__("the daemon is ending; the next one goes on from where this stream was")


def runs(store: Store, change_signal: ChangeSignal, after_revision: int, context: Any) -> Iterator[pb.Run]:
    """Every run that changed after a revision, then every change; of changes in quick succession only the last."""
    # A revision that this index has not reached is of an index that was lost: everything is news.
    revision = after_revision if after_revision <= store.revision else 0
    while context.is_active() and not change_signal.closed:
        heard = change_signal.rings
        changed = store.changed_since(revision)
        for record in changed:
            revision = record.revision
            yield to_message(record)
        if not changed:
            change_signal.wait(heard, WAIT_S)


def alerts(found: RunAlerts, change_signal: ChangeSignal, after_revision: int, context: Any) -> Iterator[pb.Alert]:
    """Every alert that changed after a revision, then every change."""
    revision = after_revision
    while context.is_active() and not change_signal.closed:
        heard = change_signal.rings
        newer = found.newer(revision)
        for entry in newer:
            revision = entry.revision
            yield _alert_message(entry)
        if not newer:
            change_signal.wait(heard, WAIT_S)


def _alert_message(entry: Entry) -> pb.Alert:
    alert = entry.alert
    names = ("alert_id", "number", "run_id", "attempt", "cause", "title", "text", "time", "global_step")
    deliveries = [
        pb.AlertDelivery(to=to, outcome=one.outcome, tries=one.tries, reason=one.reason)
        for to, one in entry.deliveries.items()
    ]
    facts = {name: getattr(alert, name) for name in names}
    return pb.Alert(**facts, deliveries=deliveries, revision=entry.revision)


def events(
    supervisor: Supervisor, run_dir: RunDir, request: pb.WatchEventsRequest, context: Any
) -> Iterator[pb.EventLine]:
    """The lines of the spool behind a sequence number, until the run has ended and all are out."""
    change_signal, after_seq = supervisor.change_signal, request.after_seq
    only = {kind.encode() for kind in request.kinds}
    without = {kind.encode() for kind in request.without_kinds}
    reader = LineReader(run_dir.events, offset=offset_before(run_dir.events, after_seq))
    reached, order = 0, _Order(None if reader.offset else 0)
    while context.is_active() and not change_signal.closed:
        heard = change_signal.rings
        ended = supervisor.get(run_dir.run_id).state in TERMINAL
        lines = reader.new_lines(CHUNK_BYTES)
        for line, seq in order.numbers(lines):
            if seq is None:
                # After the line before it: a client that asks for what follows that line is sent it again.
                if reached >= after_seq:
                    yield pb.EventLine(json=line)
                continue
            reached = seq
            if seq > after_seq and _is_wanted(line, only, without):
                yield pb.EventLine(seq=seq, json=line)
        if not lines and ended:
            return
        if not lines:
            change_signal.wait(heard, WAIT_S)
    if change_signal.closed:
        raise DaemonEnding


def offset_before(path: Path, seq: int) -> int:
    """Start of a line at or shortly before the one after `seq`: found by halving, as the lines are in order."""
    if seq <= 0 or not is_regular(path):
        return 0
    with open_regular(path) as file:
        low, high = 0, file.seek(0, os.SEEK_END)
        while high - low > CHUNK_BYTES:
            file.seek((low + high) // 2)
            file.readline()
            start, line = file.tell(), file.readline()
            found = _seq(line) if line.endswith(b"\n") and start < high else None
            if found is not None and found <= seq:
                low = start
            else:
                high = (low + high) // 2
    return low


class _Order:
    """The numbers of lines in a row, read without parsing the rest of each."""

    def __init__(self, last: int | None) -> None:
        self._last = last
        """Of the line before; None if it is not known."""
        self._lines_since = 0

    def numbers(self, lines: Sequence[bytes]) -> Iterator[tuple[bytes, int | None]]:
        """None for a line that is not an event or is misplaced: a repeat, or a number that no other goes on from."""
        raw = [*map(_seq, lines), None]
        for line, seq, following in zip(lines, raw, raw[1:], strict=False):
            self._lines_since += 1
            if seq is None or not self._is_next(seq, following):
                yield line, None
            else:
                self._last, self._lines_since = seq, 0
                yield line, seq

    def _is_next(self, seq: int, following: int | None) -> bool:
        if self._last is None:
            return following is None or following == seq + 1
        return self._last < seq and (seq <= self._last + self._lines_since or following == seq + 1)


def _seq(line: bytes) -> int | None:
    """The number stands at a fixed place of every line: no need to parse the rest. None if the line is not an event."""
    if not line.startswith(HEAD):
        return None
    number = line[len(HEAD) : HEAD_BYTES].split(b",", 1)[0]
    return int(number) if number.isdigit() and len(number) < MAX_DIGITS else None


def _is_wanted(line: bytes, only: set[bytes], without: set[bytes]) -> bool:
    if not only and not without:
        return True
    _, _, rest = line[:HEAD_BYTES].partition(KIND)
    kind = rest.partition(b'"')[0]
    return kind not in without and (not only or kind in only)


def log(
    supervisor: Supervisor, run_dir: RunDir, path: Path, offset: int, follow: bool, context: Any
) -> Iterator[pb.LogChunk]:
    """A log file from an offset on; negative counts from its end."""
    change_signal = supervisor.change_signal
    if offset < 0:
        found = run_dir.look(path)
        offset = max(0, (found.st_size if found else 0) + offset)
    while context.is_active() and not change_signal.closed:
        heard = change_signal.rings
        ended = supervisor.get(run_dir.run_id).state in TERMINAL
        data = _read(run_dir, path, offset, supervisor.secrets.of(run_dir.run_id))
        offset += len(data)
        if data:
            yield pb.LogChunk(data=data, next_offset=offset)
        elif ended or not follow:
            return
        else:
            change_signal.wait(heard, WAIT_S)
    if change_signal.closed:
        raise DaemonEnding


def _read(run_dir: RunDir, path: Path, offset: int, secrets: Mapping[str, str]) -> bytes:
    """The next chunk, keys masked; read with a margin, so that one across two chunks is seen whole."""
    margin = max((len(value.encode()) for value in secrets.values()), default=0)
    start = max(0, offset - margin)
    try:
        with run_dir.open(path) as file:
            if start >= os.fstat(file.fileno()).st_size:
                return b""
            data = os.pread(file.fileno(), CHUNK_BYTES + 2 * margin, start)
    except FileNotFoundError:
        return b""
    return masked(data, secrets)[offset - start :][:CHUNK_BYTES]
