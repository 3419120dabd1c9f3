"""Whether the next step may be made, and when: the speed, a pause and its reason, steps granted all the same."""

import time

from mosaic.play.actor_thread import ActorThread

MAX_SPEED = 1000.0


class Pace:
    def __init__(self, speed: float, *, paused: bool) -> None:
        self.speed = speed
        """Against the environment's own rate; 0 is as fast as possible."""
        self.paused = paused
        self.reason = "paused; waiting for Continue" if paused else ""
        """Why it stands still, as text for the user."""
        self.troubled = False
        """It stands still because an actor failed."""
        self._granted = 0
        """Steps that may be made although it is paused."""
        self._due_at = 0.0

    @property
    def stands(self) -> bool:
        """No step may be made just now."""
        return self.paused and not self._granted

    def pause(self, reason: str, *, troubled: bool = False) -> None:
        self.paused, self._granted, self.reason, self.troubled = True, 0, reason, troubled

    def go_on(self) -> None:
        self.paused, self.reason, self.troubled, self._due_at = False, "", False, 0.0

    def grant(self, steps: int) -> None:
        self.paused, self.reason, self._granted = True, "paused", max(1, steps)

    def change_speed(self, speed: float) -> None:
        self.speed, self._due_at = min(max(speed, 0.0), MAX_SPEED), 0.0

    def wait_s(self, actor_thread: ActorThread) -> float:
        """Until the next step is due; a person in an environment that waits for keys is due at once."""
        waits_for_keys = actor_thread.is_person and getattr(actor_thread.actor, "waits", False)
        # As fast as possible would be over before a person pressed a key: for a person that means real time.
        if waits_for_keys or (self.speed == 0 and not actor_thread.is_person):
            return 0.0
        return self._due_at - time.monotonic()

    def made(self, began: float, steps_per_s: float, *, round_ends: bool) -> None:
        """A step was made that began then."""
        if self.paused and round_ends:
            self._granted = max(0, self._granted - 1)
        period_s = 1 / (steps_per_s * (self.speed or 1.0))
        # From when the last one was due, so that the rate holds on average; but nothing is caught up after a pause.
        self._due_at = max(self._due_at, began - period_s) + period_s
