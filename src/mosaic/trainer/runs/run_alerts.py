"""Alerts of runs: what the rules found and how runs ended, written down once for each cause, then told.

The supervisor looks, which is a few comparisons a run; a thread writes to the journal and starts the process that tells
receivers. Neither a disk, a network nor a command of the user's holds up the supervisor or a run.
"""

import contextlib
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mosaic.alerts import alert_journal, desktop
from mosaic.alerts.alert import DESKTOP, Alert, Cause, Finding
from mosaic.alerts.alert_journal import AlertJournal, Entry
from mosaic.alerts.alert_rules import RunWatch, Thresholds
from mosaic.alerts.alert_settings import AlertSettings, AlertSettingsFile, wishes_of
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.plain_text import plain_line
from mosaic.spec.files.shared_files import is_locked
from mosaic.spec.processes.python_child import PythonChild
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL, RunState
from mosaic.trainer.index.ingest import RunIngest

LOOK_S = 1.0
BACKOFF_S = (0.0, 1.0, 5.0, 25.0, 120.0)
"""Before each further start of the process that tells, if it dies with something left to tell."""
TRIAL = "sweep/"
"""The client key of a trial begins so: a sweep tries bad settings on purpose, so only failures of trials are alerts."""
OF_TRIALS: frozenset[Cause] = frozenset({"failure"})
CAUSE_OF_END: dict[RunState, Cause] = {
    RunState.FINISHED: "end",
    RunState.FAILED: "failure",
    RunState.LOST: "failure",
}
"""A run that its user cancelled is not news."""
SPOKEN: dict[Cause, str] = {
    "nan": "not a number",
    "collapse": "the return has collapsed",
    "no_progress": "no progress",
    "end": "finished",
    "failure": "failed",
}

log = get_logger()


@dataclass
class _Followed:
    """A run since it was started, or found."""

    attempt: int
    watch: RunWatch
    stall_s: float
    told: set[Cause] = field(default_factory=set[Cause])
    seq: int = -1
    """Of the newest event."""
    since: float = 0.0
    """When that one came, on the monotonic clock."""


@dataclass(frozen=True)
class _News:
    """For the thread."""

    record: RunRecord
    begun: bool = False
    finding: Finding | None = None
    over: bool = False


class RunAlerts:
    """`follow` and `tick` are called under the supervisor's lock; what is slow happens in a thread."""

    def __init__(
        self,
        home: Home,
        get: Callable[[str], RunRecord | None],
        ingest_of: Callable[[RunRecord], RunIngest],
        *,
        tell: Callable[[], None],
    ) -> None:
        self._home, self._get, self._ingest_of, self._tell = home, get, ingest_of, tell
        self._settings = AlertSettingsFile(home)
        self._followed: dict[str, _Followed] = {}
        self._before: list[str] = []
        """Runs that the daemon before us followed, until they are looked at."""
        self._news: queue.SimpleQueue[_News | None] = queue.SimpleQueue()
        self._journal = AlertJournal(home)
        self._reading = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        """Of the process that tells, since something was told."""
        self._next_start = 0.0
        self._thread = threading.Thread(target=self._work, name="alerts", daemon=True)

    def start(self) -> None:
        try:
            self._journal.refresh()
            self._journal.shorten()
        except OSError as error:
            log.warning("alerts.unread", error=str(error))
        self._before = list(self._journal.open)
        self._thread.start()

    def close(self) -> None:
        """What tells receivers goes on."""
        self._news.put(None)
        if self._thread.is_alive():
            self._thread.join(LOOK_S * 5)

    def newer(self, revision: int) -> list[Entry]:
        """Alerts of which something happened after a revision; from any thread."""
        with self._reading:
            return [replace(entry, deliveries=dict(entry.deliveries)) for entry in self._journal.newer(revision)]

    # Under the supervisor's lock.

    def follow(self, record: RunRecord, ingest: RunIngest) -> None:
        """A training run that has a worker, or is about to have one."""
        if record.kind != "train":
            return
        known = self._followed.get(record.run_id)
        if known is None or known.attempt != record.attempt or known.watch is not ingest.watch:
            thresholds = self._thresholds_of(record)
            ingest.watch.thresholds = thresholds
            self._followed[record.run_id] = known = _Followed(record.attempt, ingest.watch, thresholds.stall_s)
            self._news.put(_News(record, begun=True))
        self._look_for_stall(record, ingest, known)
        self._look(record, known)

    def tick(self) -> None:
        """Runs that were followed and have ended."""
        while self._before:
            record = self._get(run_id := self._before.pop())
            if record is not None and record.state in TERMINAL and run_id not in self._followed:
                # It ended when the daemon before us had no time to say so.
                ingest = self._ingest_of(record)
                self._followed[run_id] = _Followed(record.attempt, ingest.watch, 0.0)
        for run_id, known in list(self._followed.items()):
            record = self._get(run_id)
            if record is not None and record.state not in TERMINAL:
                continue
            del self._followed[run_id]
            if record is None or record.deleted:
                continue
            self._look(record, known)
            finding = None
            if (cause := CAUSE_OF_END.get(record.state)) is not None:
                text = record.reason or f"{record.global_step:,} steps are done"
                finding = Finding(cause=cause, global_step=record.global_step, text=text)
            self._news.put(_News(record, finding=finding, over=True))

    def _look(self, record: RunRecord, known: _Followed) -> None:
        if known.told >= known.watch.found.keys():
            return
        for cause, finding in known.watch.found.items():
            if cause not in known.told:
                known.told.add(cause)
                self._news.put(_News(record, finding=finding))

    def _look_for_stall(self, record: RunRecord, ingest: RunIngest, known: _Followed) -> None:
        now = time.monotonic()
        if ingest.last_seq != known.seq or record.state is not RunState.RUNNING:
            known.seq, known.since = ingest.last_seq, now
        elif now - known.since >= known.stall_s and "no_progress" not in known.told:
            known.told.add("no_progress")
            text = f"the worker lives and has said nothing for {now - known.since:,.0f} s"
            self._news.put(
                _News(record, finding=Finding(cause="no_progress", global_step=record.global_step, text=text))
            )

    def _thresholds_of(self, record: RunRecord) -> Thresholds:
        return self._settings_now().thresholds_for(wishes_of(self._home.run(record.run_id)))

    def _settings_now(self) -> AlertSettings:
        try:
            return self._settings.read()
        except MosaicError as error:
            log.warning("alerts.settings_unusable", error=str(error))
            return AlertSettings(to=())

    # In the thread.

    def _work(self) -> None:
        while True:
            with contextlib.suppress(queue.Empty):
                news = self._news.get(timeout=LOOK_S)
                if news is None:
                    return
                self._take_safely(news)
            try:
                self._take_in()
                self._see_to_telling()
            except Exception as error:  # A border: nothing that an alert meets may end the thread.
                log.error("alerts.failed", error=str(error))

    def _take_safely(self, news: _News) -> None:
        """A disk that is full is asked again until there is room: no alert is lost."""
        while True:
            try:
                self._take(news)
            except OSError as error:
                log.warning("alert.unwritten", run_id=news.record.run_id, error=str(error))
                if not self._home.trainer.exists():
                    return
                time.sleep(LOOK_S)
            except Exception as error:  # A border: as above.
                log.error("alert.failed", run_id=news.record.run_id, error=str(error))
                return
            else:
                return

    def _take(self, news: _News) -> None:
        record, finding = news.record, news.finding
        lines: list[Mapping[str, Any]] = []
        if news.begun and self._journal.open.get(record.run_id) != record.attempt:
            lines.append(alert_journal.begun(record.run_id, record.attempt))
        if finding is not None:
            alert = self._alert_of(record, finding)
            if alert is not None and alert.alert_id not in self._journal.entries:
                lines.append(alert_journal.alert_line(alert))
                if DESKTOP in alert.to and (why := desktop.why_none()):
                    # Without a process that would find out no more.
                    lines.append(alert_journal.failed(alert.alert_id, DESKTOP, why, final=True))
                log.info("alert", run_id=record.run_id, cause=alert.cause, text=alert.text)
                self._starts = 0
        if news.over and record.run_id in self._journal.open:
            lines.append(alert_journal.over(record.run_id))
        if lines:
            with self._reading:
                self._journal.append(*lines)
            self._tell()

    def _alert_of(self, record: RunRecord, finding: Finding) -> Alert | None:
        """None where the user does not want to know."""
        settings, wishes = self._settings_now(), wishes_of(self._home.run(record.run_id))
        if finding.cause not in settings.causes_for(wishes):
            return None
        if record.client_key.startswith(TRIAL) and finding.cause not in OF_TRIALS and wishes.on is None:
            return None
        name = plain_line(record.label or f"{record.algo} {record.env_id} s{record.seed}")
        said = "was lost" if record.state is RunState.LOST and finding.cause == "failure" else SPOKEN[finding.cause]
        return Alert(
            alert_id=f"{record.run_id}-{record.attempt}-{finding.cause}",
            number=self._journal.next_number(),
            run_id=record.run_id,
            attempt=record.attempt,
            cause=finding.cause,
            title=f"{name}: {said}",
            text=plain_line(finding.text),
            time=time.time(),
            global_step=finding.global_step,
            label=record.label,
            algo=record.algo,
            env_id=record.env_id,
            seed=record.seed,
            state=record.state.value,
            to=settings.receivers_for(wishes),
        )

    def _take_in(self) -> None:
        """What the process that tells has written."""
        before = self._journal.revision
        with self._reading:
            self._journal.refresh()
        if self._journal.revision != before:
            self._tell()

    def _see_to_telling(self) -> None:
        if self._process is not None and self._process.poll() is not None:
            log.info("alerts.telling_ended", exit_code=self._process.returncode)
            self._process = None
        if self._process is not None or not self._journal.pending() or is_locked(self._home.alerts_sender_lock):
            return
        now = time.monotonic()
        if self._starts >= len(BACKOFF_S) or now < self._next_start:
            return
        self._starts += 1
        self._next_start = now + BACKOFF_S[min(self._starts, len(BACKOFF_S) - 1)]
        child = PythonChild(module="mosaic.alerts", words=(str(self._home.root),), variables={"OMP_NUM_THREADS": "1"})
        self._process = child.start_apart(self._home.alerts_log)
        log.info("alerts.telling_started", pid=self._process.pid)
