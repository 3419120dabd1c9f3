"""Writes measured rows into a table of docs/benchmarks.md, and leaves every other row as it is."""

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"


def write_rows(heading: str, rows: Sequence[str], *, key_cells: int, page: Path = PAGE) -> None:
    """Replace the rows of the first table below `heading` whose first cells are the same; add the others at its end."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start = lines.index(heading)
    first = next(at for at in range(start, len(lines)) if lines[at].startswith("|")) + 2
    end = next((at for at in range(first, len(lines)) if not lines[at].startswith("|")), len(lines))
    table = {_key(line, key_cells): line for line in lines[first:end]}
    table |= {_key(row, key_cells): row for row in rows}
    lines[first:end] = table.values()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _key(row: str, cells: int) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in row.strip("|").split("|")[:cells])
