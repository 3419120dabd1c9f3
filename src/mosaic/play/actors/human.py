"""`human`: a person with a keyboard or a gamepad. The studio and the terminal send what is held down, or an action."""

import contextlib
import math
import queue
import time
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.play.actor import Cancelled, Choice, Context, Outcome, View
from mosaic.play.json_values import action_from_json
from mosaic.play.key_maps import KeyMap, checked, default_map
from mosaic.spec.actors import ActorDescriptor

CANCELLED = object()
DESCRIPTOR = ActorDescriptor(
    id="human",
    label="Person",
    description="A person at the keyboard or gamepad of the studio, or at the terminal.",
    actions=("discrete", "continuous"),
)


class HumanActor:
    """`press` and `give` are called by the session's own thread; `select_action` waits for them in the actor's."""

    def __init__(self, context: Context) -> None:
        self._space: Any = context.arena.action_space
        self.map: KeyMap = default_map(context.arena.env_id, context.arena)
        # One move a key where players take turns: it is still down when the other has moved.
        self.repeat_s = math.inf if context.arena.order == "turns" else 1 / context.arena.steps_per_s
        """A key that stays down acts again after this."""
        self._down: tuple[str, ...] = ()
        self._axes: Mapping[str, float] = {}
        self._acted_at = 0.0
        self._pressed: queue.SimpleQueue[Any] = queue.SimpleQueue()

    @property
    def waits(self) -> bool:
        """The environment stands still until a key is pressed."""
        return self.map.idle is None

    @property
    def held(self) -> Any:
        """What is held down means; None if nothing is."""
        if not self._down and not self.map.pushed(self._axes):
            return None
        return self.map.action(self._down, self._space, self._axes)

    def press(self, down: Sequence[str], axes: Mapping[str, float]) -> Any:
        """This is held down now; the action that what is new of it means, None for none."""
        fresh = set(down) - set(self._down)
        self._down, self._axes = tuple(down), axes
        # A key that goes up means nothing by itself, nor does one that was pressed for another seat.
        action = self._meant(fresh) if fresh else None
        if action is not None:
            self._pressed.put(action)
        return action

    def _meant(self, fresh: set[str]) -> Any:
        if self.repeat_s < math.inf:
            return self.held
        # Without what stayed down from the move before.
        return self.map.action(sorted(fresh), self._space)

    def let_go(self, down: Sequence[str]) -> None:
        """The keys are for another seat; these are down, and none is new when the keys are for this seat again."""
        self._down, self._axes = tuple(down), {}

    def give(self, data: Any) -> Any:
        """An action itself."""
        action = action_from_json(data, self._space)
        self._pressed.put(action)
        return action

    def use(self, data: Any) -> None:
        """Another keyboard map."""
        self.map = checked(data, self._space)

    def forget(self) -> None:
        """Keys that were pressed for the episode before mean nothing in this one.

        Called by the session's own thread, which takes the keys too: `reset`, in the actor's, could come after the
        first key of the new episode. One who was told to stop waiting must still hear that.
        """
        told: list[Any] = []
        with contextlib.suppress(queue.Empty):
            while True:
                told.append(self._pressed.get_nowait())
        for each in told:
            if each is CANCELLED:
                self._pressed.put(CANCELLED)

    def reset(self, seed: int) -> None:
        """A person has no seed."""

    def select_action(self, view: View) -> Choice:  # noqa: ARG002 - a person sees the picture
        action = self._next()
        self._acted_at = time.monotonic()
        return Choice(action=action)

    def _next(self) -> Any:
        while True:
            if not self.waits:
                timeout_s = 0.0
            elif self.repeat_s < math.inf and self.held is not None:
                timeout_s = max(0.0, self._acted_at + self.repeat_s - time.monotonic())
            else:
                timeout_s = None
            try:
                pressed = self._pressed.get(timeout=timeout_s) if timeout_s != 0.0 else self._pressed.get_nowait()
            except queue.Empty:
                action = self.map.action(self._down, self._space, self._axes)
                if action is not None:
                    return action
                continue
            if pressed is CANCELLED:
                raise Cancelled
            return pressed

    def cancel(self) -> None:
        """Stop waiting for a key: another actor acts."""
        self._pressed.put(CANCELLED)

    def observe(self, outcome: Outcome) -> None:
        """A person sees the picture instead."""

    def close(self) -> None:
        self.cancel()


def make(_: str, context: Context) -> HumanActor:
    return HumanActor(context)
