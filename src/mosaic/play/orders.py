"""What people ask of a session, word by word (docs/protocols/play.md): obeyed between any two steps."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mosaic.errors import ActorFailed, MosaicError
from mosaic.play.course import Course
from mosaic.play.pace import Pace
from mosaic.play.people import People
from mosaic.play.seat import Hand

Reply = Callable[[str], None]
MakeHand = Callable[[str, str], Hand | None]


@dataclass(frozen=True)
class Command:
    data: dict[str, Any]
    reply: Reply
    """Told what was wrong with it; nothing if it was obeyed."""


class Orders:
    """Obeys, and keeps what only the loop can do: end, or begin anew."""

    def __init__(self, course: Course, pace: Pace, *, next_seed: Callable[[], int], make_hand: MakeHand) -> None:
        self.people = People(course.arena, course.players)
        self.ending = False
        self.stopped = False
        """Somebody asked for the end."""
        self.again: int | None = None
        """The seed of an episode that is to begin at once."""
        self.pixels = False
        """Somebody wants to see observations that are pictures."""
        self._course = course
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
        self._course.watch.ask_to_end()

    def obey(self, command: Command) -> None:
        try:
            self._obey(command.data)
        except (MosaicError, KeyError, TypeError, ValueError) as error:
            problem = str(error) if isinstance(error, MosaicError) else f"the command is not complete: {error!r}"
            command.reply(problem)
        else:
            command.reply("")

    def _obey(self, data: dict[str, Any]) -> None:
        word, players, pace = data["do"], self._course.players, self._pace
        if data.get("seat", self._course.arena.turn) not in players:
            raise ActorFailed(f"there is no seat '{data['seat']}'; there are {', '.join(players)}")
        player = players[data.get("seat", self._course.arena.turn)]
        match word:
            case "look":
                self.pixels |= bool(data.get("pixels", False))
            case "keys":
                self.people.press(data)
            case "act":
                self.people.act(data)
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
                    # Whoever takes over from one who failed wants to play, not to press another button first.
                    pace.go_on()
            case "actor":
                player.replace(self._make_hand(player.seat, str(data["actor"])))
            case "keymap":
                self.people.remap(data)
            case "seek":
                self._seek(int(data["step"]))
            case _:
                raise ActorFailed(f"'{word}' is no command")

    def _seek(self, step: int) -> None:
        compared = self._course.comparison
        if compared is not None:
            self._pace.pause(f"at step {min(max(step, 0), compared.length)}")
        self._course.go_to(step)
