"""`mosaic diff RUN RUN…`: runs side by side, what differs between them and what came of it."""

from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs.run_by_name import pick_all, shown_id
from mosaic.cli.terminal.printing import clean, paint, print_json, table
from mosaic.run_table import run_differences
from mosaic.run_table.run_differences import SECTIONS, Differences, Line

CHANGED = "*"
"""Behind a setting that is not as the algorithm, or the environment, has it by default."""


def main(argv: Sequence[str]) -> int:
    words = parser("diff", "Runs side by side: what differs between them, and what came of it.", json=True, runs="RUN…")
    words.add_argument("--all", action="store_true", help="also what is the same in all of them")
    flags = words.parse_args(argv)
    with connect() as client:
        found = run_differences.compared(run_differences.read(client, pick_all(client, flags.runs)))
    shown = found.shown(everything=flags.all)
    if flags.json:
        for line in shown:
            print_json(_as_json(line, found))
        return 0
    print("\n".join(_text(found, shown)))
    if same := len(found.lines) - len(shown):
        what = "as by default" if len(found.names) == 1 else "the same in all of them"
        print(paint(f"\n{same} more, {what}: --all shows them", "dim"))
    return 0


def _text(found: Differences, shown: Sequence[Line]) -> list[str]:
    names = [
        "",
        *(f"{shown_id(run_id)} {clean(name)}" for run_id, name in zip(found.run_ids, found.names, strict=True)),
    ]
    has_defaults = any(line.default and any(line.changed) for line in shown)
    rows: list[list[str]] = []
    for section in SECTIONS:
        of_section = [line for line in shown if line.section == section]
        if not of_section:
            continue
        rows.append([section.upper(), *[""] * (len(names) - 1 + has_defaults)])
        for line in of_section:
            cells = [
                f"{clean(cell) or '–'}{CHANGED if changed else ''}"
                for cell, changed in zip(line.cells, line.changed, strict=True)
            ]
            default = clean(line.default) if any(line.changed) else ""
            rows.append([f"  {clean(line.name)}", *cells, *([default] if has_defaults else [])])
    lines = table([*names, *(["default"] if has_defaults else [])], rows)
    if any(any(line.changed) for line in shown):
        lines += ["", paint(f"{CHANGED} not as by default", "dim")]
    return lines


def _as_json(line: Line, found: Differences) -> dict[str, object]:
    return {
        "section": line.section,
        "name": line.name,
        "values": dict(zip(found.run_ids, line.cells, strict=True)),
        "changed": [run_id for run_id, changed in zip(found.run_ids, line.changed, strict=True) if changed],
        "differs": line.differs,
        "default": line.default,
    }
