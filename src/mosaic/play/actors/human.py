"""`human`: a person at a keyboard. The studio and the terminal send the keys that are down, or an action itself."""

import queue
import time
from collections.abc import Sequence
from typing import Any

from mosaic.play.actor import Cancelled, Choice, Context, Outcome, View
from mosaic.play.keys import KeyMap, checked, default_map
from mosaic.play.values import action_from_json
from mosaic.spec.actors import ActorDescriptor

CANCELLED = object()
DESCRIPTOR = ActorDescriptor(
    id="human",
    label="Person",
    description="Whoever sits at the keyboard of the studio or the terminal.",
    actions=("discrete", "continuous"),
)


class HumanActor:
    """`press` and `give` are called by the session's own thread; `select_action` waits for them in the actor's."""

    def __init__(self, context: Context) -> None:
        self._space: Any = context.arena.action_space
        self.map: KeyMap = default_map(context.arena.env_id, context.arena)
        self.repeat_s = 1 / context.arena.steps_per_s
        """A key that stays down acts again after this."""
        self._down: tuple[str, ...] = ()
        self._acted_at = 0.0
        self._pressed: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def waits(self) -> bool:
        """The environment stands still until a key is pressed."""
        return self.map.idle is None

    @property
    def held(self) -> Any:
        """What the keys that are down mean; None if none is."""
        return self.map.action(self._down, self._space) if self._down else None

    def press(self, down: Sequence[str]) -> Any:
        """These keys are down now; the action that the new ones mean, None for none."""
        fresh = set(down) - set(self._down)
        self._down = tuple(down)
        # A key that goes up means nothing by itself.
        action = self.held if fresh else None
        if action is not None:
            self._pressed.put(action)
        return action

    def give(self, data: Any) -> Any:
        """An action itself."""
        action = action_from_json(data, self._space)
        self._pressed.put(action)
        return action

    def use(self, data: Any) -> None:
        """Another keyboard map."""
        self.map = checked(data, self._space)

    def reset(self, seed: int) -> None:  # noqa: ARG002 - a person has no seed
        """Keys that were pressed for the episode before mean nothing in this one."""
        while not self._pressed.empty():
            self._pressed.get_nowait()

    def select_action(self, view: View) -> Choice:  # noqa: ARG002 - a person sees the picture
        action = self._next()
        self._acted_at = time.monotonic()
        return Choice(action=action)

    def _next(self) -> Any:
        while True:
            if not self.waits:
                timeout_s = 0.0
            elif self.held is not None:
                timeout_s = max(0.0, self._acted_at + self.repeat_s - time.monotonic())
            else:
                timeout_s = None
            try:
                pressed = self._pressed.get(timeout=timeout_s) if timeout_s != 0.0 else self._pressed.get_nowait()
            except queue.Empty:
                action = self.map.action(self._down, self._space)
                if action is not None:
                    return action
                continue
            if pressed is CANCELLED:
                raise Cancelled
            return pressed

    def cancel(self) -> None:
        """Stop waiting for a key: somebody else acts."""
        self._pressed.put(CANCELLED)

    def observe(self, outcome: Outcome) -> None:
        """People look."""

    def close(self) -> None:
        self.cancel()


def make(_: str, context: Context) -> HumanActor:
    return HumanActor(context)
