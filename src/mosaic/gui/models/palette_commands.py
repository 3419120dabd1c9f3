"""What the command palette offers, and how well it fits what was typed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mosaic.gui.models.word_search import holds_words


@dataclass(frozen=True)
class Command:
    """Something that a person can do, by name."""

    title: str
    do: Callable[[], object]
    detail: str = ""
    """Shown beside the title: the shortcut, or what a run is."""
    group: str = ""
    reason: str = ""
    """Why it cannot be done now; empty if it can."""
    also: str = ""
    """Other words by which it is found."""


def fitting(commands: Iterable[Command], typed: str, most: int = 60) -> list[Command]:
    """The commands that contain the letters in order, the best first; for an empty text all that can be done."""
    wanted = typed.lower().replace(" ", "")
    if not wanted:
        return sorted(commands, key=lambda command: bool(command.reason))[:most]
    scored = [(score, place, command) for place, command in enumerate(commands) if (score := fit(wanted, command))]

    def order(found: tuple[int, int, Command]) -> tuple[bool, bool, int, int]:
        """Words as they were typed come before scattered letters; of each, what cannot be done now comes last."""
        score, place, command = found
        return not holds_words(_text(command), typed), bool(command.reason), -score, place

    best = sorted(scored, key=order)
    return [command for _, _, command in best[:most]]


def fit(wanted: str, command: Command) -> int:
    """0 if a letter is missing; more for letters that follow one another and for those that begin a word."""
    text = _text(command).lower()
    score, place, last = 0, 0, -2
    for letter in wanted:
        place = text.find(letter, place)
        if place < 0:
            return 0
        begins = place == 0 or not text[place - 1].isalnum()
        score += 1 + 4 * (place == last + 1) + 3 * begins
        last, place = place, place + 1
    # A title that starts with the very text is what was meant.
    return score + (20 if command.title.lower().replace(" ", "").startswith(wanted) else 0)


def _text(command: Command) -> str:
    return f"{command.title} {command.detail} {command.also}"
