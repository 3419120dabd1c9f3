"""The alerts that the window knows of: all, those that the user has not seen, and those that come while it is open."""

import time
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from mosaic.rpc.client import AlertNews

MOST = 1000


class Alerts(QObject):
    """`came` tells of each that happens from now on, once; what happened while no window was open is only counted."""

    changed = Signal()
    came = Signal(object)
    undelivered = Signal(object)
    """One that came, of which the daemon could show no notification on its desktop."""

    def __init__(self) -> None:
        super().__init__()
        self._opened_at = time.time()
        self._by_id: dict[str, AlertNews] = {}
        self._told: set[str] = set()
        self._shown_on_desktop: set[str] = set()
        self.seen = 0
        """Number of the newest that the user has seen."""

    def take(self, alerts: Sequence[AlertNews]) -> None:
        for alert in alerts:
            self._by_id[alert.alert_id] = alert
            if alert.time < self._opened_at:
                continue
            if alert.alert_id not in self._told:
                self._told.add(alert.alert_id)
                self.came.emit(alert)
            if alert.needs_desktop and alert.alert_id not in self._shown_on_desktop:
                self._shown_on_desktop.add(alert.alert_id)
                self.undelivered.emit(alert)
        for oldest in sorted(self._by_id, key=lambda name: self._by_id[name].number)[:-MOST]:
            del self._by_id[oldest]
        if alerts:
            self.changed.emit()

    @property
    def newest_first(self) -> Sequence[AlertNews]:
        return sorted(self._by_id.values(), key=lambda alert: alert.number, reverse=True)

    @property
    def unseen(self) -> int:
        return sum(alert.number > self.seen for alert in self._by_id.values())

    def see_all(self) -> None:
        self.seen = max((alert.number for alert in self._by_id.values()), default=self.seen)
        self.changed.emit()
