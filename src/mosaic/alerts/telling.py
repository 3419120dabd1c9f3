"""Telling the receivers of alerts: each in a thread of its own, so that one which hangs holds up no other."""

import threading
import time
from collections.abc import Mapping
from typing import Any

from mosaic.alerts import alert_journal, desktop, user_command, webhook
from mosaic.alerts.alert import DESKTOP, Alert, NotTold
from mosaic.alerts.alert_journal import AlertJournal
from mosaic.alerts.alert_settings import AlertSettings, AlertSettingsFile
from mosaic.errors import MosaicError
from mosaic.log import get_logger
from mosaic.spec.run_dir import Home

LOOK_S = 0.2
LATER = 5
"""Each further pause between two tries is that many times as long."""

log = get_logger()


def tell(home: Home, settings: AlertSettings, to: str, alert: Alert) -> None:
    """Tell one receiver once; NotTold says why it could not be."""
    if to == DESKTOP:
        desktop.notify(alert, settings.time_limit_s)
        return
    receiver = settings.receivers.get(to)
    if receiver is None:
        raise NotTold(f"'{to}' is not a receiver any more; 'mosaic alerts' lists them")
    if receiver.command:
        user_command.run(home, receiver, alert, settings.time_limit_s)
    else:
        webhook.post(receiver, alert, settings.time_limit_s)


class Telling:
    """All that waits in the journal of a home, until nothing does."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._settings = AlertSettingsFile(home)
        self._journal = AlertJournal(home)
        self._writing = threading.Lock()
        self._threads: dict[str, threading.Thread] = {}
        """By receiver."""

    def run(self) -> None:
        while True:
            with self._writing:
                self._journal.refresh()
                waiting = self._waiting()
            self._threads = {to: thread for to, thread in self._threads.items() if thread.is_alive()}
            if not waiting and not self._threads:
                return
            for to in waiting:
                if to not in self._threads:
                    self._threads[to] = threading.Thread(target=self._tell_all, args=(to,), name=to, daemon=True)
                    self._threads[to].start()
            time.sleep(LOOK_S)

    def _waiting(self) -> list[str]:
        found = [
            to for entry in self._journal.pending() for to, delivery in entry.deliveries.items() if not delivery.outcome
        ]
        return list(dict.fromkeys(found))

    def _tell_all(self, to: str) -> None:
        """In the order of the alerts."""
        while (alert := self._next(to)) is not None:
            self._tell(to, alert)

    def _next(self, to: str) -> Alert | None:
        with self._writing:
            waits = (
                one.alert for one in self._journal.pending() if to in one.deliveries and not one.deliveries[to].outcome
            )
            return next(waits, None)

    def _tell(self, to: str, alert: Alert) -> None:
        while True:
            try:
                settings = self._settings.read()
            except MosaicError as error:
                self._write(alert_journal.failed(alert.alert_id, to, error.sentence, final=True))
                return
            receiver = settings.receivers.get(to)
            most = settings.tries if receiver is not None and receiver.url else 1
            with self._writing:
                before = self._journal.entries[alert.alert_id].deliveries[to].tries
            if before >= most:
                # Begun by a process that was killed: once more might be twice.
                reason = "it was being told when this was cut off; whether it was is not known"
                self._write(alert_journal.failed(alert.alert_id, to, reason, final=True))
                return
            self._write(alert_journal.tried(alert.alert_id, to))
            try:
                tell(self._home, settings, to, alert)
            except NotTold as error:
                is_last = before + 1 >= most
                self._write(alert_journal.failed(alert.alert_id, to, str(error), final=is_last))
                log.warning("alert.not_told", alert_id=alert.alert_id, to=to, reason=str(error), is_last=is_last)
                if is_last:
                    return
                time.sleep(settings.retry_s * LATER**before)
            else:
                self._write(alert_journal.sent(alert.alert_id, to))
                log.info("alert.told", alert_id=alert.alert_id, to=to)
                return

    def _write(self, line: Mapping[str, Any]) -> None:
        with self._writing:
            self._journal.append(line)
