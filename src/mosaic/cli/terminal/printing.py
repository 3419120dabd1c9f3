"""What goes to the terminal: colours where they are wanted, tables, a block of lines that is redrawn."""

import os
import re
import shutil
import sys
import threading
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TextIO

from mosaic.cli.terminal.plain_output import ESC
from mosaic.plain_text import json_text

COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
_ESCAPES = re.compile(rf"{ESC}\[[0-9;]*m")
ELLIPSIS = "…"
NEW = "\n"
_LINE_ENDS = re.compile(r"[\n\r\t]+")
WAIT_SHOWN_S = 0.6


def is_terminal(stream: TextIO | None = None) -> bool:
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """In colour on a terminal; plain when piped or with NO_COLOR (no-color.org)."""
    if not colour or not is_terminal() or os.environ.get("NO_COLOR"):
        return text
    return f"{ESC}[{COLOURS[colour]}m{text}{ESC}[0m"


def clean(text: str) -> str:
    """A label or message from outside on one line and without control characters."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def width_of(text: str) -> int:
    """Columns that a text takes: CJK and emoji take two, combining marks and colours none."""
    plain = _ESCAPES.sub("", text)
    if plain.isascii():
        return len(plain)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in plain
    )


def fit(text: str, width: int) -> str:
    """Cut a text without colours to at most `width` columns."""
    if width_of(text) <= width:
        return text
    while text and width_of(text) >= width:
        text = text[:-1]
    return text + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int, *, right: bool = False) -> str:
    space = " " * max(0, width - width_of(text))
    return space + text if right else text + space


def columns() -> int:
    """Of the terminal; piped there is no width to fit into: whole lines, for grep and awk."""
    return shutil.get_terminal_size((80, 24)).columns if is_terminal() else 10_000


def table(
    names: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = (), shrink: str = ""
) -> list[str]:
    """Lines of a table; the column `shrink` gives way where the terminal is too narrow."""
    rows = [[_LINE_ENDS.sub(" ", cell) for cell in row] for row in rows]
    widths = [max([width_of(name), *(width_of(row[at]) for row in rows)]) for at, name in enumerate(names)]
    if shrink:
        at = names.index(shrink)
        over = sum(widths) + 2 * (len(names) - 1) - columns()
        widths[at] = max(min(widths[at], 6), widths[at] - max(0, over))

    def line(cells: Sequence[str]) -> str:
        shown = [
            pad(fit(cell, widths[at]) if names[at] == shrink else cell, widths[at], right=names[at] in right)
            for at, cell in enumerate(cells)
        ]
        return "  ".join(shown).rstrip()

    return [paint(line(names), "bold"), *map(line, rows)]


def pairs(values: Mapping[str, str]) -> list[str]:
    """`name  value` lines; empty values are left out, and further lines of a value stand below its first."""
    values = {_LINE_ENDS.sub(" ", name): value for name, value in values.items()}
    width = max(map(len, values), default=0)
    below = "\n" + " " * (width + 2)
    return [f"{paint(pad(name, width), 'dim')}  {value.replace(NEW, below)}" for name, value in values.items() if value]


def print_json(value: object) -> None:
    print(json_text(value), flush=True)


def say(text: str) -> None:
    print(text, flush=True)


def note(text: str) -> None:
    """For the person at the terminal, beside what a script reads from stdout."""
    print(text, file=sys.stderr, flush=True)


@contextmanager
def waiting(text: str) -> Generator[Callable[[str], None]]:
    """Say what takes so long, once it does, on a terminal; gone when it is over. Gives a function that says it anew."""
    shown = threading.Event()
    newest = text

    def show() -> None:
        shown.set()
        line = newest[: max(1, columns() - 1)]
        sys.stderr.write(f"{ESC}[G{ESC}[2K{ESC}[2m{line}{ESC}[0m")
        sys.stderr.flush()

    def say_newer(text: str) -> None:
        nonlocal newest
        newest = text
        if shown.is_set():
            show()

    timer = threading.Timer(WAIT_SHOWN_S, show)
    timer.daemon = True
    if is_terminal(sys.stderr):
        timer.start()
    try:
        yield say_newer
    finally:
        timer.cancel()
        if shown.is_set():
            sys.stderr.write(f"{ESC}[G{ESC}[2K")
            sys.stderr.flush()


class Block:
    """Lines at the bottom of the terminal that are drawn over and over; elsewhere it draws nothing."""

    def __init__(self) -> None:
        self.live = is_terminal()
        self._drawn = 0

    def draw(self, lines: Sequence[str]) -> None:
        """Each line must fit into the terminal: one that wraps would be left behind by the next drawing."""
        if not self.live:
            return
        shown = list(lines)[: max(1, shutil.get_terminal_size((80, 24)).lines - 1)]
        text = "".join(f"{ESC}[2K{line}\n" for line in shown)
        rest = f"{ESC}[J" if len(shown) < self._drawn else ""
        sys.stdout.write((f"{ESC}[{self._drawn}A{ESC}[G" if self._drawn else "") + text + rest)
        sys.stdout.flush()
        self._drawn = len(shown)

    def clear(self) -> None:
        self.draw([])
