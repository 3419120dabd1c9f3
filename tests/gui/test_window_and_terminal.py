"""What the command line can do and what the window can do: both are listed, and every difference has its reason."""

import re
from pathlib import Path

from mosaic.cli import VERBS

from .conftest import Show

PAGE = Path(__file__).parents[2] / "docs" / "window-and-terminal.md"
NOT_ACTIONS = ("Go to", "Saved view")
"""Groups of the palette that are made of runs and of views."""


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line[1:].removesuffix("|").split("|")] for line in lines[1:]]


def test_every_verb_of_the_command_line_is_placed() -> None:
    placed = {word for row in rows() for word in re.findall(r"`([a-z-]+)`", row[1]) if not word.startswith("--")}
    assert set(VERBS) - placed == set(), "place these verbs in docs/window-and-terminal.md"
    assert placed - set(VERBS) == set(), "these are verbs no more"


def test_every_action_of_the_window_is_placed(show: Show) -> None:
    shown = show()
    commands = [command for command in shown.window.menus.commands() if command.group not in NOT_ACTIONS]
    titles = {command.title for command in commands}
    placed = {title for row in rows() for title in re.findall(r"\*\*(.+?)\*\*", row[2])}
    assert titles - placed == set(), "place these actions in docs/window-and-terminal.md"
    assert placed - titles == set(), "these are actions no more"


def test_every_difference_has_a_reason() -> None:
    for what, terminal, window, why in rows():
        assert bool(terminal and window) or why, f"{what} is in one of them only: say why"
        assert terminal or window, what
