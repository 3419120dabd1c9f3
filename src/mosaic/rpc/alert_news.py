"""An alert as a client receives it: what happened, who was told, and what came of that."""

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.alerts.alert import DESKTOP, Alert
from mosaic.rpc import trainer_pb2 as pb


@dataclass(frozen=True, kw_only=True)
class AlertDelivery:
    """To one receiver."""

    to: str
    outcome: str
    """sent or failed; empty while it is under way."""
    tries: int
    reason: str

    @property
    def spoken(self) -> str:
        if self.outcome == "sent":
            return f"{self.to} was told"
        what = "could not be told" if self.outcome else "is being told"
        return f"{self.to} {what}{f': {self.reason}' if self.reason else ''}"


@dataclass(frozen=True, kw_only=True)
class AlertNews(Alert):
    """As it is now."""

    revision: int
    deliveries: Sequence[AlertDelivery] = ()

    @property
    def needs_desktop(self) -> bool:
        """A notification on the desktop was asked for, and the daemon could show none."""
        return any(one.to == DESKTOP and one.outcome == "failed" for one in self.deliveries)


def to_alert(message: pb.Alert) -> AlertNews:
    deliveries = [
        AlertDelivery(to=one.to, outcome=one.outcome, tries=one.tries, reason=one.reason) for one in message.deliveries
    ]
    names = ("alert_id", "number", "run_id", "attempt", "cause", "title", "text", "time", "global_step", "revision")
    return AlertNews(**{name: getattr(message, name) for name in names}, deliveries=tuple(deliveries))
