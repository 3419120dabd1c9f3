"""What is wrong with the words of a command line, in our sentences: unknown flags, words that are not numbers.

tyro, which reads the flags, knows no 1e5 for a whole number and draws a box around the first thing that it does not
like. So numbers come through it as a MistypedNumber where they are none, and all is told at once when it is done.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mosaic.errors import Problem
from mosaic.near_names import did_you_mean

_NO_VALUE = re.compile(r"Missing value for argument '([^']+)'")


class MistypedNumber(str):
    """A word where a number is meant."""

    __slots__ = ("why",)
    why: str

    @classmethod
    def of(cls, word: str, why: str) -> "MistypedNumber":
        made = cls(word)
        made.why = why
        return made

    def __deepcopy__(self, _: Any) -> "MistypedNumber":
        return self


def number_or_mistyped(parse: Callable[[str], float], word: str) -> Any:
    try:
        return parse(word)
    except ValueError as error:
        return MistypedNumber.of(word, str(error))


def why_mistyped(value: object) -> str:
    """The sentence about a value that should have been a number; empty for any other value."""
    return f"{value.why} (got {str(value)!r})" if isinstance(value, MistypedNumber) else ""


def unknown_words(words: Sequence[str], flags: Iterable[str]) -> list[Problem]:
    """A problem for each flag that there is not; the values behind it are passed over."""
    known = list(flags)
    found: list[Problem] = []
    for at, word in enumerate(words):
        name = word.partition("=")[0]
        if name.startswith("-"):
            advice = did_you_mean(name, known, most=2)
            found.append(Problem(name, f"is not a flag{'; ' if advice else ''}{advice}"))
        elif at == 0 or not words[at - 1].startswith("-"):
            found.append(Problem("", f"{word!r} {_about_stray(word)}"))
    return found


def _about_stray(word: str) -> str:
    if word.lower() in ("true", "false", "yes", "no"):
        return "belongs to no flag: a switch takes no value, it is --name or --no-name"
    return "belongs to no flag"


def told_by_box(text: str) -> Problem:
    """What a box of tyro's says, without its frame, its title and all behind its first rule."""
    lines = [line.strip(" │|+") for line in text.splitlines()]
    if lines and not lines[0].startswith("╭"):  # Where the terminal has no such letters the title stands above a rule.
        lines = lines[next((at + 1 for at, line in enumerate(lines) if _is_rule(line)), 0) :]
    end = next((at for at, line in enumerate(lines) if _is_rule(line)), len(lines))
    told = " ".join(line for line in lines[:end] if line and line[0] not in "╭╰")
    lacks = _NO_VALUE.search(told)
    return Problem(lacks[1], "needs a value") if lacks else Problem("", told)


def _is_rule(line: str) -> bool:
    return bool(line) and not line.strip("─-")
