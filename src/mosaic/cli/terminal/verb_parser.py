"""The parser that all verbs share: numbers as users write them, and complaints that name the flag and what is near it.

Verbs parse with argparse rather than tyro: it is there at once, and `mosaic runs` should be too. The settings of an
algorithm, which are defined as a schema, go through `mosaic.config` (see train.py).
"""

import argparse
import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from mosaic.errors import MosaicError
from mosaic.flag_words import unknown_words
from mosaic.near_names import no_such
from mosaic.numbers import parse_float, parse_int

GLOBAL_FLAGS = ("--target", "--certificate", "--no-start")
"""Those of every verb (`reach.take_global_options`)."""
MAX_SEED = 2**32 - 1
_ABOUT = re.compile(r"argument (?:\S+/)?(\S+): (.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from")
_WORDS = {
    "expected one argument": "needs a value",
    "expected at least one argument": "needs a value",
}


class BadArguments(MosaicError):
    """The command line itself is wrong."""

    exit_code = 2


class Parser(argparse.ArgumentParser):
    """argparse with our numbers and our way to complain."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.register("type", int, _type(parse_int))
        self.register("type", float, _type(parse_float))

    def number(self, name: str, *, low: float, high: float = math.inf, whole: bool = True, **options: Any) -> None:
        """A flag whose value is a number within bounds."""
        parse = _type(parse_int if whole else parse_float)
        least = "must not be negative" if low == 0 else f"must be at least {low}"
        bounds = least if high == math.inf else f"must be from {low} to {high}"

        def read(text: str) -> float:
            if not low <= (value := parse(text)) <= high:
                raise argparse.ArgumentTypeError(f"{bounds} (got {text})")
            return value

        self.add_argument(name, type=read, **options)

    def seed(self, of: str, *, high: int = MAX_SEED) -> None:
        self.number("--seed", low=0, high=high, default=1, metavar="N", help=f"seed of {of} (default 1)")

    def speed(self, default: str = "") -> None:
        about = f"multiple of real time; 0 is as fast as possible{default}"
        self.number("--speed", low=0, high=1000, whole=False, metavar="X", help=about)

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride] -- overloads of which we need one
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> Any:
        found, left = self.parse_known_args(args, namespace)
        if left:
            self.error("; ".join(map(str, unknown_words(left, self.flags()))))
        return found

    def flags(self) -> list[str]:
        own = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        return [*own, *GLOBAL_FLAGS]

    def error(self, message: str) -> NoReturn:
        said = self._ours(message)
        end = "" if said.endswith("?") else ";"
        raise BadArguments(f"{self.prog}: {said}{end} '{self.prog} --help' shows the flags")

    def _ours(self, message: str) -> str:
        """argparse's sentences in our words."""
        required = message.removeprefix("the following arguments are required: ")
        if required != message:
            return f"{required} is missing"
        about = _ABOUT.fullmatch(message)
        if about is None:
            return message
        name, said = about.groups()
        if choice := _CHOICE.match(said):
            said = f"'{choice[1]}' is not known; {no_such(choice[1], self._choices(name))}"
        said = said.replace("not allowed with argument", "not together with")
        return f"{name}: {_WORDS.get(said, said)}"

    def _choices(self, name: str) -> list[str]:
        for action in self._actions:
            if name in (*action.option_strings, action.metavar, action.dest):
                return [str(choice) for choice in action.choices or ()]
        return []


def _type(parse: Callable[[str], float]) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{error} (got {text!r})") from None

    return read


def parser(verb: str, description: str, *, json: bool = False, runs: str = "") -> Parser:
    """The parser of a verb; `runs` is "RUN" or "RUN…" where it takes one run or several."""
    made = Parser(prog=f"mosaic {verb}", description=description, allow_abbrev=False)
    if runs:
        made.add_argument(
            "runs" if runs.endswith("…") else "run",
            metavar="RUN",
            nargs="+" if runs.endswith("…") else None,
            help="id, its beginning or end, a label, @last or @last-1",
        )
    if json:
        made.add_argument("--json", action="store_true", help="one JSON object a line")
    return made


def no_such_verb(verb: str, given: str, known: Sequence[str]) -> BadArguments:
    """`mosaic daemon strt` is not a command; did you mean start?"""
    return BadArguments(f"'mosaic {verb} {given}' is not a command; {no_such(given, known)}")
