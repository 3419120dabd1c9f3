"""Who acts for a seat: its agent, a person, both in turns, or the agent until the person presses a key."""

from typing import Any

from mosaic.errors import ActorFailed
from mosaic.play.actor import Choice, Outcome
from mosaic.play.actor_thread import ActorThread
from mosaic.play.actors.human import HumanActor
from mosaic.spec.run_config import Control

MODES: tuple[Control, ...] = ("agent", "human", "turns", "override")


class Player:
    """One seat; `person` is None where keys cannot fill the action space."""

    def __init__(self, seat: str, agent: ActorThread | None, person: ActorThread | None, control: Control) -> None:
        self.seat = seat
        self.agent = agent
        self.person = person
        self._control: Control = control if agent is not None else "human"
        self._override: Any = None

    @property
    def control(self) -> Control:
        return self._control

    def give_to(self, control: str) -> None:
        """Take over, hand back, or share."""
        wanted: Control | None = next((mode for mode in MODES if mode == control), None)
        if wanted is None:
            raise ActorFailed(f"'{control}' is not one of {', '.join(MODES)}")
        if wanted != "human" and self.agent is None:
            raise ActorFailed(f"{self.seat} has no agent to hand over to; choose one first")
        if wanted != "agent" and self.person is None:
            raise ActorFailed("a person cannot act in this space: no keys fill it")
        self._control = wanted
        self._override = None

    def replace(self, agent: ActorThread | None) -> None:
        """Another agent; the one before is closed, in its own time."""
        if self.agent is not None:
            self.agent.close()
        self.agent = agent
        if agent is None:
            self._control = "human"
        elif self._control == "human":
            self._control = "agent"

    def actor_thread(self, t: int) -> ActorThread:
        """Who chooses action t, counted from 1."""
        person_acts = self._control == "human" or (self._control == "turns" and t % 2 == 1)
        actor_thread = self.person if person_acts else self.agent
        assert actor_thread is not None
        return actor_thread

    @property
    def human(self) -> HumanActor | None:
        actor: Any = self.person.actor if self.person else None
        return actor

    def press(self, action: Any) -> None:
        """A person pressed a key that means this."""
        if self._control == "override":
            self._override = action

    def overridden(self) -> Choice | None:
        """What the person wants instead of what the agent chooses, if anything."""
        if self._control != "override" or self.human is None:
            return None
        wanted, self._override = self._override, None
        if wanted is None:
            wanted = self.human.held
        return None if wanted is None else Choice(action=wanted)

    def begin(self, seed: int) -> None:
        self._override = None
        if self.human is not None:
            self.human.forget()
        for actor_thread in self._actor_threads():
            actor_thread.begin(seed)

    def tell(self, outcome: Outcome) -> None:
        for actor_thread in self._actor_threads():
            actor_thread.tell(outcome)

    def close(self, timeout_s: float) -> None:
        for actor_thread in self._actor_threads():
            actor_thread.close()
        for actor_thread in self._actor_threads():
            actor_thread.wait_closed(timeout_s)

    def _actor_threads(self) -> list[ActorThread]:
        return [actor_thread for actor_thread in (self.agent, self.person) if actor_thread is not None]
