"""Hears of alerts; goes on from the newest that it has heard of."""

from collections.abc import Callable
from dataclasses import replace

from mosaic.gui.models.daemon.daemon_listener import DaemonListener
from mosaic.gui.models.daemon.gathered_messages import Gathered
from mosaic.gui.models.daemon.news import Batch
from mosaic.plain_text import plain_line
from mosaic.rpc.client import AlertNews, Client

PAUSE_S = 0.1
"""Between two lists of changes."""


class AlertsListener:
    """Its text is made plain here: a label may hold anything."""

    def __init__(self, post: Callable[[Batch], None]) -> None:
        self._post = post
        self._revision = 0

    def hear(self, listener: DaemonListener, client: Client) -> float:
        stream = client.watch_alerts(after_revision=self._revision)
        listener.reading(stream)
        for changes in Gathered(stream):
            newest = {alert.alert_id: alert for alert in changes}
            self._revision = max(alert.revision for alert in changes)
            self._post(Batch(alerts=tuple(map(_plain, newest.values()))))
            listener.wait(PAUSE_S)
        return 0.0


def _plain(alert: AlertNews) -> AlertNews:
    told = tuple(replace(one, to=plain_line(one.to), reason=plain_line(one.reason)) for one in alert.deliveries)
    return replace(alert, title=plain_line(alert.title), text=plain_line(alert.text), deliveries=told)
