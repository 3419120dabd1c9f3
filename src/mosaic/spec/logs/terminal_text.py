"""What a terminal would show of a line that a program wrote: no colours, and of a progress bar its last state."""

import re

from mosaic import plain_text

_SEQUENCE = re.compile(
    r"\x1b\[(?P<arguments>[0-9;:?<=>]*)[ -/]*(?P<final>[@-~])"  # CSI: colours, erasing, moving
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"  # OSC and other strings: titles, links
    r"|\x1b[ -/]*[0-~]"  # two or three characters: character sets, resets
    r"|[\x00-\x07\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]"  # what has no picture
)
_MOVES = re.compile(r"[\r\b]|\x1b\[[0-9]*[KG]")
TAB = 8
WIDEST = 1000
"""Columns of a terminal: a move to the right ends there, however far it was meant to go."""
MOST_DIGITS = 6
LAST_DRAWN = 8


def plain(text: str) -> str:
    """One line, without its line feed."""
    if text.isprintable():
        return text.rstrip()
    text = text.rstrip("\r")
    if _MOVES.search(text):
        # A bar that was drawn ten thousand times: what is left of it was drawn by the last few.
        return plain_text.plain(_overwritten("\r".join(text.split("\r")[-LAST_DRAWN:]))).rstrip()
    return plain_text.plain(_SEQUENCE.sub("", text).expandtabs(TAB)).rstrip()


def _overwritten(text: str) -> str:
    """A line whose writer went back in it and wrote over what was there."""
    cells: list[str] = []
    at = 0
    place = 0
    while place < len(text):
        found = _SEQUENCE.match(text, place)
        if found is not None:
            at = min(_moved(cells, at, found["final"], found["arguments"]), max(len(cells), WIDEST))
            place = found.end()
            continue
        character = text[place]
        place += 1
        if character == "\r":
            at = 0
        elif character == "\b":
            at = max(at - 1, 0)
        else:
            wide = TAB - at % TAB if character == "\t" else 1
            cells += " " * (at - len(cells))
            cells[at : at + wide] = [" "] * wide if character == "\t" else [character]
            at += wide
    return "".join(cells)


def _moved(cells: list[str], at: int, final: str | None, arguments: str | None) -> int:
    """Erase in the line (K), go to a column (G), left (D) or right (C)."""
    count = int(arguments.lstrip("0")[:MOST_DIGITS] or 0) if arguments and arguments.isdigit() else 0
    match final:
        case "K" if count == 0:
            del cells[at:]
        case "K":
            cells[: at if count == 1 else len(cells)] = " " * (min(at, len(cells)) if count == 1 else 0)
        case "G":
            return max(count, 1) - 1
        case "D":
            return max(at - max(count, 1), 0)
        case "C":
            return at + max(count, 1)
        case _:
            pass
    return at
