"""What there is to choose from in the Play tab: environments with their seats, and actors that fit or do not."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from mosaic.config import JsonObject
from mosaic.rpc.client import Client, settings_by_environment
from mosaic.spec.actors import BY_SEAT, ActorDescriptor
from mosaic.spec.play_config import document_of
from mosaic.spec.seat_names import EVERY_SEAT, SEAT

HIDDEN = ("replay", "policy")
"""Chosen elsewhere: from the list of episodes, and by the run that trained it."""


@dataclass(frozen=True)
class Choice:
    """An actor that may be chosen."""

    word: str
    label: str
    description: str
    misfit: str
    """Why it cannot act there; empty if it can."""
    argument: str = ""
    """What must follow the colon; empty if nothing."""


@dataclass(frozen=True)
class Seat:
    """A place in an environment, and what one who sits there must be able to do."""

    name: str
    actions: str = ""
    observations: str = ""


@dataclass(frozen=True)
class Known:
    """What is known of an environment without playing it."""

    seats: Sequence[Seat] = (Seat(SEAT),)
    problem: str = ""
    """Why it cannot be played; empty as far as is known."""


@dataclass(frozen=True)
class PlayOptions:
    """All that there is to choose from, from one look."""

    families: Mapping[str, Mapping[str, Known]] = field(default_factory=dict[str, Mapping[str, Known]])
    """Environments of each installed family."""
    actors: Sequence[ActorDescriptor] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """JSON Schema of the settings of each environment."""

    def choices(self, seat: Seat, family: str) -> list[Choice]:
        """Every actor, those that do not fit with the reason."""
        found: list[Choice] = []
        for actor in self.actors:
            if actor.id not in HIDDEN:
                misfit = actor.misfit(action=seat.actions, observation=seat.observations, family=family)
                found.append(Choice(actor.id, actor.label, actor.description, misfit, actor.argument))
        return found


def ask(client: Client) -> PlayOptions:
    """Not in the GUI thread."""
    reply = client.environment_list(with_settings=True)
    families = {
        family.name: {info.env_id: _known(info) for info in family.environments}
        for family in reply.families
        if family.environments
    }
    return PlayOptions(families, list(client.actors()), settings_by_environment(reply))


def look(client: Client, env_id: str, settings: JsonObject) -> Known:
    """What a dry run tells of an environment that is on no list, or has other settings. Not in the GUI thread."""
    actors, options = {EVERY_SEAT: "random"}, {"video_mode": "off"}
    found = client.validate(document_of(env_id, actors, options, seed=1, settings=settings))
    seats = cast("Mapping[str, Mapping[str, str]]", found.summary.get("seats") or {})
    if not found.ok or not seats:
        said = [line.removeprefix("error: ") for line in found.output.splitlines() if line.startswith("error: ")]
        reason = said[-1] if said else (found.output.strip().splitlines() or ["the dry run failed"])[-1]
        return Known(problem=reason)
    return Known([Seat(name, kinds["actions"], kinds["observations"]) for name, kinds in seats.items()])


def _known(info: Any) -> Known:
    if info.actions == BY_SEAT:
        seats = [Seat(seat.name, seat.actions, seat.observations) for seat in info.seats]
        return Known(seats, info.problem)
    return Known([Seat(SEAT, info.actions, info.observations)], info.problem)
