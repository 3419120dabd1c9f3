"""Keys and actions of people: whom they are for, and what they mean there."""

from collections.abc import Mapping
from typing import Any

from mosaic.errors import ActorFailed
from mosaic.play.actors.human import HumanActor
from mosaic.play.arena import Arena
from mosaic.play.players import Player


class People:
    def __init__(self, arena: Arena, players: Mapping[str, Player]) -> None:
        self._arena = arena
        self._players = players

    @property
    def person(self) -> Player:
        """Whom keys are for: the one whose turn it is if a person acts there, else the first for whom one does."""
        turn = self._players[self._arena.turn]
        return next((player for player in (turn, *self._players.values()) if player.control != "agent"), turn)

    def press(self, data: dict[str, Any]) -> None:
        """This is held down now."""
        down = [str(key) for key in data["down"]]
        axes = {str(name): float(value) for name, value in data.get("axes", {}).items()}
        meant = self._meant(data)
        for player in self._players.values():
            if player in meant:
                action = _human(player).press(down, axes)
                if action is not None:
                    player.press(action)
            elif player.human is not None:
                player.human.let_go(down)

    def act(self, data: dict[str, Any]) -> None:
        """An action itself."""
        player = self._players[data["seat"]] if "seat" in data else self.person
        if player.control == "agent" or (self._arena.order == "turns" and player.seat != self._arena.turn):
            raise ActorFailed(f"it is not a person's turn: {self._arena.turn} is to act")
        player.press(_human(player).give(data["action"]))

    def remap(self, data: dict[str, Any]) -> None:
        """Other keys, of one seat, or of all that have the same actions as the one whose keys are shown."""
        if "seat" in data:
            _human(self._players[data["seat"]]).use(data["map"])
            return
        space = self._arena.at(self.person.seat).action_space
        _human(self.person).use(data["map"])
        for player in self._players.values():
            if player.human is not None and self._arena.at(player.seat).action_space == space:
                player.human.use(data["map"])

    def _meant(self, data: dict[str, Any]) -> list[Player]:
        """Who hears keys. Where it waits for them, only the one whose turn it is: a key is one move."""
        if "seat" in data:
            return [self._players[data["seat"]]]
        people = [player for player in self._players.values() if player.control != "agent"]
        if len(self._players) == 1 or any(not _human(player).waits for player in people):
            return people
        return [player for player in people if player.seat == self._arena.turn]


def _human(player: Player) -> HumanActor:
    if player.human is None:
        raise ActorFailed("a person cannot act in this space: no keys fill it")
    return player.human
