"""What users ask of a session, word by word (docs/protocols/play.md): obeyed between any two steps."""

from collections.abc import Callable, Mapping
from typing import Any

from mosaic.errors import ActorFailed, MosaicError
from mosaic.play.actor_thread import ActorThread
from mosaic.play.actors.human import HumanActor
from mosaic.play.arenas.arena import Arena
from mosaic.play.session.control_socket import Command
from mosaic.play.session.episode import PlayedEpisode
from mosaic.play.session.pace import Pace
from mosaic.play.session.player import Player

MakeHand = Callable[[str, str], ActorThread | None]


class SessionCommands:
    """Obeys, and keeps what only the loop can do: end, or begin anew."""

    def __init__(
        self, played_episode: PlayedEpisode, pace: Pace, *, next_seed: Callable[[], int], make_hand: MakeHand
    ) -> None:
        self.human_input = HumanInput(played_episode.arena, played_episode.players)
        self.ending = False
        self.stopped = False
        """A client asked for the end."""
        self.again: int | None = None
        """The seed of an episode that is to begin at once."""
        self.pixels = False
        """A client wants to see observations that are pictures."""
        self._played_episode = played_episode
        self._pace = pace
        self._next_seed = next_seed
        self._make_hand = make_hand

    @property
    def interrupt(self) -> bool:
        """The episode is not to go on."""
        return self.ending or self.again is not None

    def stop(self) -> None:
        """Ask for the end, at the next step; from any thread."""
        self.ending = self.stopped = True
        self._played_episode.watch.ask_to_end()

    def obey(self, command: Command) -> None:
        try:
            self._obey(command.data)
        except (MosaicError, KeyError, TypeError, ValueError) as error:
            problem = str(error) if isinstance(error, MosaicError) else f"the command is not complete: {error!r}"
            command.reply(problem)
        else:
            command.reply("")

    def _obey(self, data: dict[str, Any]) -> None:
        word, players, pace = data["do"], self._played_episode.players, self._pace
        if data.get("seat", self._played_episode.arena.turn) not in players:
            raise ActorFailed(f"there is no seat '{data['seat']}'; there are {', '.join(players)}")
        player = players[data.get("seat", self._played_episode.arena.turn)]
        match word:
            case "look":
                self.pixels |= bool(data.get("pixels", False))
            case "keys":
                self.human_input.press(data)
            case "act":
                self.human_input.act(data)
            case "pause":
                pace.pause(str(data.get("reason", "paused")))
            case "continue":
                pace.go_on()
            case "step":
                pace.grant(int(data.get("steps", 1)))
            case "reset":
                self.again = int(data.get("seed", self._next_seed()))
                pace.reason = "paused" if pace.paused else ""
            case "stop":
                self.stop()
            case "speed":
                pace.change_speed(float(data["speed"]))
            case "control":
                player.give_to(str(data["control"]))
                if pace.troubled and player.control == "human":
                    # A person who takes over from a failed actor wants to play, not to press another button first.
                    pace.go_on()
            case "actor":
                player.replace(self._make_hand(player.seat, str(data["actor"])))
            case "keymap":
                self.human_input.remap(data)
            case "seek":
                self._seek(int(data["step"]))
            case _:
                raise ActorFailed(f"'{word}' is not a command")

    def _seek(self, step: int) -> None:
        compared = self._played_episode.comparison
        if compared is not None:
            self._pace.pause(f"at step {min(max(step, 0), compared.length)}")
        self._played_episode.go_to(step)


class HumanInput:
    """Keys and actions of a person: which seats they are for, and what they mean there."""

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
        persons = [player for player in self._players.values() if player.control != "agent"]
        if len(self._players) == 1 or any(not _human(player).waits for player in persons):
            return persons
        return [player for player in persons if player.seat == self._arena.turn]


def _human(player: Player) -> HumanActor:
    if player.human is None:
        raise ActorFailed("a person cannot act in this space: no keys fill it")
    return player.human
