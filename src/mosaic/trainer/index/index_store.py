"""The index: `index.sqlite`, a cache of what the run directories say, with a revision for every change.

Durability: WAL. A submit and a terminal state are committed with synchronous=FULL, everything else with NORMAL (a power
cut may lose the last moments, never consistency; `run.json` in each run directory is the truth in any case). Each row
carries a checksum; an index in which anything does not fit is set aside and made anew from the run directories. So is
one of another version, without being kept: there is nothing in it to migrate.

A small index is checked as a whole before it is used. A large one would keep the daemon from answering: each of its
rows is checked when it is first read, and all of them by `check`, a moment later
(`mosaic.trainer.index.index_builder`).

A record that the disk refuses is held in memory (a table of SQLite's temporary database) and shown over the stored one
by every question, until it can be written.
"""

import contextlib
import json
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from mosaic.log import get_logger
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, revision INTEGER NOT NULL, state TEXT NOT NULL, priority INTEGER NOT NULL,
    search TEXT NOT NULL, client_key TEXT NOT NULL, deleted INTEGER NOT NULL, record TEXT NOT NULL,
    checksum INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS runs_by_revision ON runs (revision);
CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state, deleted) WHERE NOT deleted;
CREATE INDEX IF NOT EXISTS runs_queued ON runs (json_extract(record, '$.engine'), priority DESC, run_id)
    WHERE state = 'queued' AND NOT deleted;
CREATE INDEX IF NOT EXISTS runs_by_kind ON runs (json_extract(record, '$.kind')) WHERE NOT deleted;
CREATE INDEX IF NOT EXISTS runs_by_key ON runs (client_key) WHERE client_key != '';
CREATE TABLE IF NOT EXISTS unread (run_id TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_HOLDING = """
PRAGMA temp_store=MEMORY;
CREATE TEMP TABLE held AS SELECT * FROM main.runs LIMIT 0;
CREATE UNIQUE INDEX temp.held_by_id ON held (run_id);
CREATE TEMP VIEW shown AS
    SELECT * FROM main.runs WHERE run_id NOT IN (SELECT run_id FROM held) UNION ALL SELECT * FROM held;
"""
_PUT_HELD = "INSERT OR REPLACE INTO temp.held VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
# A change of the tables or the record makes another version.
SCHEMA_VERSION = zlib.crc32(" ".join([_SCHEMA, *(field.name for field in fields(RunRecord))]).encode()) & 0x7FFFFFFF

CACHED = 10_000
"""Records kept decoded."""
CHECKED_AT_ONCE_BYTES = 2**20
"""An index up to this size is checked before it is used: a few hundred runs, a few milliseconds."""
SUFFIXES = ("", "-wal", "-shm")
NOT_ITS_FAULT = (
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_READONLY",
    "SQLITE_CANTOPEN",
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
)
"""Errors that say nothing about what is in the file."""
REFUSED = (OSError, sqlite3.OperationalError)
"""A disk without room, without inodes, or read-only: for a file beside the index, and for the index."""
DAMAGE = ("SQLITE_CORRUPT", "SQLITE_NOTADB")

log = get_logger()


class OtherVersion(sqlite3.DatabaseError):
    """An index that another version of MOSAIC wrote."""


class DoesNotFit(sqlite3.DatabaseError):
    """An index, or a row of it, that fails its check."""


@dataclass(frozen=True)
class Page:
    """One page of a list."""

    runs: list[RunRecord]
    total: int
    next_token: str


class Store:
    """All access to the index, from any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._cache: dict[str, RunRecord] = {}
        self.is_checked = False
        """Whether every row and page was found to be right."""
        self.begun_anew: Callable[[], None] = lambda: None
        """Called when a damaged index was set aside: every run is to be listed again."""
        self._connection = self._open(path)
        self._held: dict[str, RunRecord] = {}
        """Records that are in memory only, by run."""
        row = self._connection.execute("SELECT MAX(revision), MAX(run_id) FROM runs").fetchone()
        # It goes on at the time of day, in milliseconds: beyond what a lost index had reached, and beyond what was told
        # of records that were never written, so that a watcher who comes back with such a revision misses nothing.
        self.revision: int = max(row[0] or 0, time.time_ns() // 1_000_000)
        """Newest revision."""
        self.newest_id: str = row[1] or ""
        """Highest run id, of deleted runs too."""

    def _open(self, path: Path | str) -> sqlite3.Connection:
        connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA busy_timeout=5000")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise OtherVersion(f"index version {version} is not {SCHEMA_VERSION}")
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            pages *= connection.execute("PRAGMA page_size").fetchone()[0]
            is_small = pages <= CHECKED_AT_ONCE_BYTES
            if is_small:
                _check_pages(connection)
            if version == 0:
                connection.executescript(_SCHEMA)
                connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            if is_small:
                _check_rows(connection)
            self.is_checked = is_small
            connection.executescript(_HOLDING)
        except BaseException:
            connection.close()
            raise
        return connection

    def check(self) -> None:
        """Read all of an index that was not checked when it was opened; begin it anew if anything does not fit."""
        if self.is_checked:
            return
        try:
            # By a connection of its own: no question waits meanwhile.
            with contextlib.closing(sqlite3.connect(f"{self._path.as_uri()}?mode=ro", uri=True)) as connection:
                _check_pages(connection)
                _check_rows(connection)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not _is_damage(error):
                raise
            self._begin_anew(error)
        self.is_checked = True

    def _begin_anew(self, error: Exception) -> None:
        """Set a damaged index aside while it is in use; what is held in memory stays."""
        with self._lock:
            self._connection.close()
            self._cache.clear()
            try:
                _set_aside(self._path, error)
                self._connection = self._open(self._path)
            except (OSError, sqlite3.OperationalError) as refused:
                # The next daemon makes one that lasts.
                log.error("index.in_memory", error=str(refused))
                self._connection = self._open(":memory:")
            for record in self.held():
                self._connection.execute(_PUT_HELD, _row(record))
            self.begun_anew()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def put(self, records: Iterable[RunRecord], *, durable: bool = False, unread: bool = False) -> list[RunRecord]:
        """Store new versions of records, all or none; they come back with their revisions.

        `unread` notes that their events are still to be read (`mosaic.trainer.index.index_builder`), until `mark_read`.
        """
        with self._lock:
            stored: list[RunRecord] = []
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            revision = self.revision
            with self._transaction():
                for record in records:
                    revision += 1
                    stored.append(replace(record, revision=revision))
                    self._connection.execute(
                        "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _row(stored[-1])
                    )
                if unread:
                    ids = [(record.run_id,) for record in stored]
                    self._connection.executemany("INSERT OR IGNORE INTO unread VALUES (?)", ids)
            self.revision = revision
            self.newest_id = max([self.newest_id, *(record.run_id for record in stored)])
            for record in stored:
                if self._held.pop(record.run_id, None) is not None:
                    self._connection.execute("DELETE FROM temp.held WHERE run_id = ?", (record.run_id,))
            return stored

    def hold(self, record: RunRecord) -> RunRecord:
        """Show a record that the disk refuses; `put` stores it later, and it is lost if this process ends before."""
        with self._lock:
            held = replace(record, revision=self.revision + 1)
            self._connection.execute(_PUT_HELD, _row(held))
            self._held[record.run_id] = held
            self.revision = held.revision
            return held

    def held(self) -> list[RunRecord]:
        """What is in memory only, deleted runs too; the earliest change first."""
        with self._lock:
            return sorted(self._held.values(), key=lambda record: record.revision)

    @property
    def _runs(self) -> str:
        """The table to ask: the stored one alone, which has indexes, while nothing is held."""
        return "shown" if self._held else "runs"

    def get(self, run_id: str) -> RunRecord | None:
        rows = self._query("WHERE run_id = ? AND NOT deleted", (run_id,))
        return rows[0] if rows else None

    def by_key(self, client_key: str) -> list[RunRecord]:
        return self._query("WHERE client_key = ? ORDER BY run_id", (client_key,))

    def by_states(self, states: Iterable[RunState]) -> list[RunRecord]:
        names = [state.value for state in states]
        marks = ",".join("?" * len(names))
        return self._query(f"WHERE state IN ({marks}) AND NOT deleted ORDER BY run_id", names)

    def engines_of_queue(self) -> list[str]:
        """Those that queued runs wait for."""
        engine = "json_extract(record, '$.engine')"
        question = f"SELECT DISTINCT {engine} FROM {self._runs} WHERE state = 'queued' AND NOT deleted"
        return sorted(row[0] for row in self._rows(question))

    def queue(self, limit: int, *, engine: str) -> list[RunRecord]:
        """The first queued runs of an engine, in the order in which they start."""
        which = "state = 'queued' AND NOT deleted AND json_extract(record, '$.engine') = ?"
        return self._query(f"WHERE {which} ORDER BY priority DESC, run_id LIMIT ?", (engine, limit))

    def changed_since(self, revision: int, limit: int = 1000) -> list[RunRecord]:
        return self._query("WHERE revision > ? ORDER BY revision LIMIT ?", (revision, limit))

    def all_ids(self) -> set[str]:
        return {row[0] for row in self._rows(f"SELECT run_id FROM {self._runs} WHERE NOT deleted")}

    def bytes_read(self, states: Iterable[RunState]) -> dict[str, int]:
        """Of each run in one of these states: how long its events were when they were read."""
        names = [state.value for state in states]
        question = f"SELECT run_id, json_extract(record, '$.events_bytes') FROM {self._runs}"
        marks = ",".join("?" * len(names))
        return dict(self._rows(f"{question} WHERE state IN ({marks}) AND NOT deleted", names))

    def unread_ids(self) -> set[str]:
        """Runs whose record is of their `run.json` alone: their events are still to be read."""
        return {row[0] for row in self._rows("SELECT run_id FROM unread")}

    def mark_read(self, run_ids: Iterable[str]) -> None:
        with self._lock, self._transaction():
            self._connection.executemany("DELETE FROM unread WHERE run_id = ?", [(run_id,) for run_id in run_ids])

    @contextlib.contextmanager
    def _transaction(self) -> Generator[None]:
        """All or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            # A full disk ends the transaction by itself.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def counts(self) -> dict[str, int]:
        return dict(self._rows(f"SELECT state, COUNT(*) FROM {self._runs} WHERE NOT deleted GROUP BY state"))

    def page(self, *, states: Sequence[str], text: str, size: int, after: str, kinds: Sequence[str] = ()) -> Page:
        """Newest first, from behind `after` on."""
        where, values = ["NOT deleted"], list[Any]()
        if states:
            where.append(f"state IN ({','.join('?' * len(states))})")
            values += states
        if kinds:
            where.append(f"json_extract(record, '$.kind') IN ({','.join('?' * len(kinds))})")
            values += kinds
        if text:
            where.append("search LIKE ? ESCAPE '\\'")
            values.append(f"%{_escaped(text.lower())}%")
        clause = " AND ".join(where)
        total = self._rows(f"SELECT COUNT(*) FROM {self._runs} WHERE {clause}", values)[0][0]
        if after:
            clause += " AND run_id < ?"
            values.append(after)
        runs = self._query(f"WHERE {clause} ORDER BY run_id DESC LIMIT ?", [*values, size])
        return Page(runs, total, runs[-1].run_id if len(runs) == size else "")

    def _query(self, which: str, values: Sequence[Any]) -> list[RunRecord]:
        return self._rows(f"SELECT * FROM {self._runs} {which}", values, self._decoded)

    def _rows(
        self, sql: str, values: Sequence[Any] = (), decoded: Callable[[tuple[Any, ...]], Any] = tuple
    ) -> list[Any]:
        """All of an answer; an index that turns out to be damaged is begun anew, and asked again."""
        with self._lock:
            try:
                return [decoded(row) for row in self._connection.execute(sql, values)]
            except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                if not _is_damage(error):
                    raise
                self._begin_anew(error)
                return [decoded(row) for row in self._connection.execute(sql, values)]

    def _decoded(self, row: tuple[Any, ...]) -> RunRecord:
        """Most rows are asked for again and again, unchanged."""
        run_id, revision = row[:2]
        known = self._cache.get(run_id)
        if known is None or known.revision != revision:
            if len(self._cache) >= CACHED:
                self._cache.clear()
            if not self.is_checked:
                _check_row(row)
            known = self._cache[run_id] = _record(row[-2])
        return known


def open_store(path: Path) -> tuple[Store, bool]:
    """The index, and whether it is new; one that is corrupt is set aside with its WAL and begun anew."""
    existed = path.exists()
    try:
        return Store(path), not existed
    except OtherVersion as error:
        log.info("index.other_version", error=str(error))
        for suffix in SUFFIXES:
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if getattr(error, "sqlite_errorname", "").startswith(NOT_ITS_FAULT):
            raise
        _set_aside(path, error)
    return Store(path), True


def _set_aside(path: Path, error: Exception) -> None:
    """Keep a damaged index, with its WAL, for a look."""
    log.warning("index.corrupt", error=str(error), set_aside=f"{path}.corrupt")
    for suffix in SUFFIXES:
        source = path.with_name(path.name + suffix)
        if source.exists():
            source.replace(path.with_name(f"{path.name}.corrupt{suffix}"))


def _is_damage(error: Exception) -> bool:
    """Whether an error of SQLite, or of what it returned, says that the file is damaged."""
    named = getattr(error, "sqlite_errorname", "").startswith(DAMAGE)
    return named or isinstance(error, (DoesNotFit, UnicodeDecodeError))


def _check_pages(connection: sqlite3.Connection) -> None:
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        raise DoesNotFit("the index fails its own integrity check")


def _check_rows(connection: sqlite3.Connection) -> None:
    for row in connection.execute("SELECT * FROM runs"):
        _check_row(row)


def _check_row(row: Sequence[Any]) -> None:
    if _checksum(row[:-1]) != row[-1]:
        raise DoesNotFit(f"the row of run {row[0]!r:.60} does not fit its checksum")


def _row(record: RunRecord) -> tuple[Any, ...]:
    words = (record.run_id, record.label, record.algo, record.env_id, record.group, record.notes, *record.tags)
    search = " ".join(words).lower()
    row = (
        record.run_id,
        record.revision,
        record.state.value,
        record.priority,
        search,
        record.client_key,
        int(record.deleted),
        json.dumps(vars(record)),
    )
    return (*row, _checksum(row))


def _checksum(row: Sequence[Any]) -> int:
    return zlib.crc32("\0".join(map(str, row)).encode(errors="surrogatepass"))


def _record(text: str) -> RunRecord:
    # Written by ourselves a moment ago: checked by type here and there, not field by field as a stranger's would be.
    data = json.loads(text)
    data["state"] = RunState(data["state"])
    for name in ("stderr_tail", "sparkline", "gpu_ids", "tags", "warnings"):
        data[name] = tuple(data[name])
    return RunRecord(**data)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
