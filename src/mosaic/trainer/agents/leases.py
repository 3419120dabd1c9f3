"""Leases: at most one start of a run may work, and the daemon knows when the one before it certainly does not.

An agent counts its lease from the moment in which it asked, the daemon from the later one in which it answered, both on
clocks that no one sets. So the daemon's end is never before the agent's. To it comes the time that a worker has to save
and end, and a margin for clocks that do not run alike.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass

from mosaic.errors import MosaicError


class OldStart(MosaicError):
    """A start of a run that another one has followed, or that is not known here: it must end."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """How long each part lasts, in seconds."""

    lease_s: float = 60.0
    """From one renewal to the moment in which a worker stops by itself."""
    grace_s: float = 30.0
    """From there to its end, with a last checkpoint."""

    @property
    def margin_s(self) -> float:
        """From there to the moment in which the daemon may start another one."""
        return self.lease_s / 6

    @property
    def whole_s(self) -> float:
        return self.lease_s + self.grace_s + self.margin_s


@dataclass
class _Lease:
    epoch: int
    until: float | None = None
    """None before the first grant: there is no worker yet, and there cannot be one."""


class Leases:
    """Of all runs that are on other machines. Methods may be called from any thread."""

    def __init__(self, terms: Terms, clock: Callable[[], float]) -> None:
        self.terms = terms
        self._clock = clock
        self._leases: dict[str, _Lease] = {}
        self._lock = threading.Lock()

    def open(self, run_id: str, epoch: int) -> None:
        """From now on this is the start that may work; refused while the one before it may still do so."""
        with self._lock:
            known = self._leases.get(run_id)
            if known is not None and epoch <= known.epoch:
                raise OldStart(f"start {epoch} of run {run_id} is not newer than start {known.epoch}")
            if known is not None and not self._has_lapsed(known):
                raise OldStart(f"start {known.epoch} of run {run_id} may still work; its lease has not run out")
            self._leases[run_id] = _Lease(epoch)

    def is_free(self, run_id: str) -> bool:
        """Whether a next start may begin."""
        with self._lock:
            known = self._leases.get(run_id)
            return known is None or self._has_lapsed(known)

    def adopt(self, run_id: str, epoch: int, *, whole_s: float = 0.0) -> None:
        """Of a daemon before us, which may have granted it a moment ago, by terms of its own."""
        with self._lock:
            if run_id not in self._leases:
                self._leases[run_id] = _Lease(epoch, self._clock() + max(whole_s, self.terms.whole_s))

    def grant(self, run_id: str, epoch: int) -> None:
        """Renew it. Noted before the agent is told."""
        with self._lock:
            known = self._current(run_id, epoch)
            # Never earlier than it was: the agent keeps a longer one of the daemon before us, too.
            known.until = max(known.until or 0.0, self._clock() + self.terms.whole_s)

    def check(self, run_id: str, epoch: int) -> None:
        """OldStart if this start is not the one that may work."""
        with self._lock:
            self._current(run_id, epoch)

    def release(self, run_id: str, epoch: int) -> None:
        """Its worker has ended, by its own agent's word."""
        with self._lock:
            self._current(run_id, epoch).until = None

    def has_lapsed(self, run_id: str, epoch: int) -> bool:
        """Whether no worker of this start can be at work: its lease has run out, or it never had one."""
        with self._lock:
            known = self._leases.get(run_id)
            return known is None or known.epoch != epoch or self._has_lapsed(known)

    def was_granted(self, run_id: str, epoch: int) -> bool:
        with self._lock:
            known = self._leases.get(run_id)
            return known is not None and known.epoch == epoch and known.until is not None

    def forget(self, run_id: str) -> None:
        with self._lock:
            self._leases.pop(run_id, None)

    def _current(self, run_id: str, epoch: int) -> _Lease:
        known = self._leases.get(run_id)
        if known is None or known.epoch != epoch:
            newest = "not known here" if known is None else f"at start {known.epoch}"
            raise OldStart(f"start {epoch} of run {run_id} may not go on: the run is {newest}")
        return known

    def _has_lapsed(self, lease: _Lease) -> bool:
        return lease.until is None or self._clock() >= lease.until
