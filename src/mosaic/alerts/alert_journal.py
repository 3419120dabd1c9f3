"""The journal of alerts: `alerts.jsonl` of the home, one JSON object a line, synced before anything is done about it.

| kind | says |
|---|---|
| `begun` | an attempt of a run is watched |
| `over` | its end was dealt with: the next daemon need not look at it |
| `alert` | an alert, whole (`mosaic.alerts.alert.Alert`); each `alert_id` once |
| `try` | a receiver is about to be told: written before that, so that a kill never leads to endless tries |
| `sent` | it was told |
| `failed` | it was not, why, and whether that was the last try |

The daemon and the process that tells receivers both append, under a lock. A line that a power cut left half is ended by
the next line and passed over. It is the only memory: both read it when they start.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from mosaic import config
from mosaic.alerts.alert import Alert
from mosaic.errors import MosaicError
from mosaic.spec.files.shared_files import one_at_a_time, write_atomically
from mosaic.spec.files.spool_reader import LineReader
from mosaic.spec.run_dir import Home

LARGE_BYTES = 4 * 2**20
KEPT = 2000
"""Newest alerts that stay when the file has become large."""


@dataclass
class Delivery:
    """Of an alert to a receiver."""

    tries: int = 0
    outcome: str = ""
    """sent or failed; empty while it is under way."""
    reason: str = ""
    """Of the newest failure."""

    @property
    def shown(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        if self.outcome == "sent":
            return "told"
        return f"failed{reason}" if self.outcome else f"under way{reason}" if self.tries else "waiting"


@dataclass
class Entry:
    """An alert with what came of it."""

    alert: Alert
    revision: int
    """Grows with every line about any alert."""
    deliveries: dict[str, Delivery] = field(default_factory=dict[str, Delivery])

    @property
    def is_pending(self) -> bool:
        return any(not one.outcome for one in self.deliveries.values())


class AlertJournal:
    """Read and written by one thread."""

    def __init__(self, home: Home) -> None:
        self._path, self._lock = home.alerts, home.alerts_lock
        self._reader = LineReader(self._path)
        self._forget()

    def _forget(self) -> None:
        self.entries: dict[str, Entry] = {}
        """By id, the oldest first."""
        self.open: dict[str, int] = {}
        """Attempts of runs whose end was not dealt with."""
        self.revision = 0

    def refresh(self) -> None:
        """Take in what was appended, by others too."""
        lines = self._reader.new_lines()
        if self._reader.restarted:
            self._reader.restarted = False
            self._forget()
        for line in lines:
            try:
                self._take(config.loads(line, what="alerts.jsonl"))
            # Half a line: what it began was not done. Or damage, which must not keep a daemon from starting.
            except (MosaicError, KeyError, TypeError, ValueError, OverflowError):
                continue

    def append(self, *lines: Mapping[str, Any]) -> None:
        """Durable when this returns, and taken in."""
        data = "".join(json.dumps(line) + "\n" for line in lines).encode()
        with one_at_a_time(self._lock):
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    data = b"\n" + data
                os.write(descriptor, data)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        self.refresh()

    def pending(self) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.is_pending]

    def newer(self, revision: int) -> list[Entry]:
        """Alerts of which something was written after a revision, in the order of that."""
        # A revision that this journal has not reached is of one that was lost, or made shorter: everything is news.
        after = revision if revision <= self.revision else 0
        found = [entry for entry in self.entries.values() if entry.revision > after]
        return sorted(found, key=lambda entry: entry.revision)

    def next_number(self) -> int:
        return max((entry.alert.number for entry in self.entries.values()), default=0) + 1

    def shorten(self) -> None:
        """Once it is large: the newest alerts, and the runs that are watched, stay."""
        if self._reader.offset < LARGE_BYTES:
            return
        kept = list(self.entries.values())[-KEPT:]
        lines = [*self._as_lines(kept), *(begun(run_id, attempt) for run_id, attempt in self.open.items())]
        with one_at_a_time(self._lock):
            write_atomically(self._path, "".join(json.dumps(line) + "\n" for line in lines), mode=0o600)
        self._reader = LineReader(self._path)
        self._forget()
        self.refresh()

    @staticmethod
    def _as_lines(entries: Iterable[Entry]) -> Iterable[Mapping[str, Any]]:
        for entry in entries:
            yield alert_line(entry.alert)
            for to, delivery in entry.deliveries.items():
                alert_id = entry.alert.alert_id
                yield from (tried(alert_id, to) for _ in range(delivery.tries))
                if delivery.outcome == "sent":
                    yield sent(alert_id, to)
                elif delivery.reason:
                    yield failed(alert_id, to, delivery.reason, final=bool(delivery.outcome))

    def _take(self, line: Mapping[str, Any]) -> None:
        match line["kind"]:
            case "begun":
                self.open[str(line["run_id"])] = int(line["attempt"])
            case "over":
                self.open.pop(str(line["run_id"]), None)
            case "alert":
                alert = config.from_json(Alert, {key: line[key] for key in line if key != "kind"}, what="alert")
                if alert.alert_id not in self.entries:
                    self.revision += 1
                    waiting = {name: Delivery() for name in alert.to}
                    self.entries[alert.alert_id] = Entry(alert, self.revision, waiting)
            case "try" | "sent" | "failed":
                self._take_delivery(line)
            case _:
                pass

    def _take_delivery(self, line: Mapping[str, Any]) -> None:
        entry = self.entries[line["alert_id"]]
        delivery = entry.deliveries[line["to"]]
        self.revision += 1
        entry.revision = self.revision
        match line["kind"]:
            case "try":
                delivery.tries += 1
            case "sent":
                delivery.outcome, delivery.reason = "sent", ""
            case _:
                delivery.reason = str(line["reason"])
                delivery.outcome = "failed" if line["final"] else ""


def begun(run_id: str, attempt: int) -> Mapping[str, Any]:
    return {"kind": "begun", "run_id": run_id, "attempt": attempt}


def over(run_id: str) -> Mapping[str, Any]:
    return {"kind": "over", "run_id": run_id}


def alert_line(alert: Alert) -> Mapping[str, Any]:
    return {"kind": "alert", **config.to_json(alert)}


def tried(alert_id: str, to: str) -> Mapping[str, Any]:
    return {"kind": "try", "alert_id": alert_id, "to": to}


def sent(alert_id: str, to: str) -> Mapping[str, Any]:
    return {"kind": "sent", "alert_id": alert_id, "to": to}


def failed(alert_id: str, to: str, reason: str, *, final: bool) -> Mapping[str, Any]:
    return {"kind": "failed", "alert_id": alert_id, "to": to, "reason": reason, "final": final}
