"""Settings, environment, code and versions of groups of runs on a page: what differs first, then everything."""

from collections.abc import Sequence

from mosaic.cli.sharing.html_page import table_of, text
from mosaic.cli.sharing.page_groups import PageGroup
from mosaic.run_table.run_differences import Line, RunFacts, compared

SECTIONS = ("settings", "environment", "code and versions")
CSS = """
mark { background: var(--mark); color: inherit; padding: 0 .2em; } summary { cursor: pointer; margin: 1em 0 .5em; }
"""
OF_A_RUN = ("seed", "run_name", "wandb_run_name")
"""What every run of a group has for itself."""


def settings(groups: Sequence[PageGroup]) -> str:
    every: list[RunFacts] = [run for group in groups for run in group.runs]
    lines = [line for line in compared(every).lines if line.section in SECTIONS and line.name not in OF_A_RUN]
    places = [group_of for group_of, group in enumerate(groups) for _ in group.runs]
    made = [(line, _cells(line, places, len(groups))) for line in lines]
    if len(groups) == 1:
        first = [(line, cells) for line, cells in made if any(line.changed)]
        head = "Settings that are not as by default"
    else:
        first = [(line, cells) for line, cells in made if len(set(cells)) > 1]
        head = "What differs"
    names = ["what", "default", *(group.name for group in groups)]
    parts = [f"<h2>Settings</h2><p class='faint'><mark>Marked</mark>: not as by default. {head}:</p>"]
    parts.append(_table(names, first) if first else "<p>Nothing.</p>")
    parts.append(
        f"<details><summary>All settings, environment, code and versions</summary>{_table(names, made)}</details>"
    )
    return "".join(parts)


def _table(names: Sequence[str], made: Sequence[tuple[Line, list[str]]]) -> str:
    return table_of(names, [[text(line.name), text(line.default), *cells] for line, cells in made])


def _cells(line: Line, places: Sequence[int], groups: int) -> list[str]:
    """One a group: what its runs have in common, or how many values there are."""
    made: list[str] = []
    for group in range(groups):
        own = [at for at, place in enumerate(places) if place == group]
        values = dict.fromkeys(line.cells[at] for at in own)
        shown = text(next(iter(values)) or "–") if len(values) == 1 else text(f"{len(values)} values")
        made.append(f"<mark>{shown}</mark>" if any(line.changed[at] for at in own) else shown)
    return made
