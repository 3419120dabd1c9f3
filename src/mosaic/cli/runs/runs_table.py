"""`mosaic runs` with a filter, columns, an order or groups: the table of the window, in the terminal."""

import argparse
import re
from collections.abc import Collection, Sequence

from mosaic.cli.daemon.connection import BadArguments
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.runs.run_filters import LISTED_KINDS, kinds_of
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, is_terminal, note, print_json, table
from mosaic.rpc.client import Client
from mosaic.run_table import fetched_values, filter_expression
from mosaic.run_table.arrangement import Arrangement
from mosaic.run_table.filter_expression import Expression, FilterError
from mosaic.run_table.row_groups import GroupCell, RowGroup, cell_of, grouped
from mosaic.run_table.run_columns import UnknownColumn, Value, kind_of, resolve, shown_value, source_of
from mosaic.run_table.saved_views import SavedView, SavedViews
from mosaic.run_table.table_rows import Rows, TableRows, pinned_first
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

DEFAULT = ("label", "state", "algo", "env", "steps", "return", "started")
_KIND = re.compile(r"(?<![\w./-])kind\s*(?:!=|:|=)")
_COMMAS = re.compile(r"\s*,\s*")


def matching(client: Client, text: str, verb: str = "tag") -> list[RunRecord]:
    """The trainings and evaluations that fit a filter, newest first."""
    rows, expression = _read(client, client.list(kinds=LISTED_KINDS), text, (), verb=verb)
    found: list[int] = rows.in_order("", downwards=False, among=expression.fits(rows)).tolist()
    return [rows.records[row] for row in found]


def show(client: Client, flags: argparse.Namespace, only: Collection[str] | None = None) -> int:
    """`only` leaves out all runs but these."""
    words = {"columns": _split(flags.columns), "sort": [flags.sort] if flags.sort else [], "group": _split(flags.group)}
    given = [(flag, word) for flag, of in words.items() for word in of]
    # A filter that names the kind is asked of runs of every kind.
    kinds = () if _KIND.search(flags.filter or "") else kinds_of(flags)
    runs = client.list(states=flags.state, kinds=kinds, text=flags.text)
    runs = runs if only is None else [run for run in runs if run.run_id in only]
    rows, expression = _read(client, runs, flags.filter or "", given)
    names = {part: [_resolved(part, word, rows) for word in of] for part, of in words.items()}
    [sort] = names["sort"] or [""]
    found = rows.in_order(sort, downwards=flags.reverse, among=expression.fits(rows))
    found = pinned_first(rows, found)
    if flags.save_view is not None:
        _save_view(flags, names)
    columns = names["columns"] or list(dict.fromkeys([*DEFAULT, *names["sort"], *sorted(_shown_besides(expression))]))
    if names["group"]:
        _show_groups(rows, found, names["group"], [name for name in columns if name not in names["group"]], flags)
        return 0
    shown: list[int] = found[: flags.limit or None].tolist()
    if flags.json:
        for row in shown:
            print_json(readable.as_json(rows.records[row]) | {"columns": _json_cells(rows, row, columns)})
    elif shown:
        cells = [[shown_id(rows.records[row].run_id), *(_cell(rows, row, name) for name in columns)] for row in shown]
        print("\n".join(_lines(["run", *columns], cells, columns)))
    else:
        print("no run matches")
    if left := len(found) - len(shown):
        note(f"{left:,} more: --limit 0 lists all")
    return 0


def _save_view(flags: argparse.Namespace, names: dict[str, list[str]]) -> None:
    """What can be shown was understood: a view that nothing can show is not kept."""
    if len(names["group"]) > 1:
        raise BadArguments("mosaic runs: --save-view: a view has one column to group by; give one to --group")
    made = Arrangement(
        columns=tuple(names["columns"]) or Arrangement().columns,
        sort="".join(names["sort"]),
        downwards=bool(flags.reverse),
        group="".join(names["group"]),
        filter=flags.filter or "",
    )
    SavedViews(Home.resolve()).save(SavedView(name=flags.save_view, table=made, shows="Table"))
    note(f"saved as view '{clean(flags.save_view.strip())}'; 'mosaic views show' shows it, so does the window")


def _read(
    client: Client, runs: Sequence[RunRecord], text: str, given: Sequence[tuple[str, str]], *, verb: str = "runs"
) -> tuple[TableRows, Expression]:
    """Runs with all that the filter and these columns need."""
    rows = TableRows()
    rows.take(runs)
    settings = filter_expression.may_need_settings(text) or any(not _is_fact(word) for _, word in given)
    if settings:
        fetched_values.take(rows, fetched_values.pages(client, rows.without_settings(), settings=True))
    expression = _parsed(text, rows, tags=None, verb=verb)
    names = {*expression.columns(), *(_resolved(flag, word, rows, checked=False) for flag, word in given)}
    if metrics := filter_expression.needed(names)[1]:
        fetched_values.fetch(client, rows, [f"{tag}.last" for tag in metrics])
        _parsed(text, rows, tags=list(rows.metric_tags), verb=verb)
    return rows, expression


def _parsed(text: str, rows: TableRows, *, tags: Sequence[str] | None, verb: str) -> Expression:
    try:
        return filter_expression.parse(text, rows.setting_names, tags)
    except FilterError as error:
        marked = f"\n  {clean(text)}\n  {' ' * error.start}{'^' * max(1, error.end - error.start)}"
        raise BadArguments(f"mosaic {verb}: --filter: {error}{marked}") from None


def _resolved(flag: str, word: str, rows: TableRows, *, checked: bool = True) -> str:
    try:
        return resolve(word, rows.setting_names, rows.metric_tags if checked and rows.metric_tags else None)
    except UnknownColumn as error:
        raise BadArguments(f"mosaic runs: --{flag}: {error}") from None


def _is_fact(word: str) -> bool:
    try:
        return source_of(resolve(word, ())) == "fact"
    except UnknownColumn:
        return False


def _split(text: str | None) -> list[str]:
    return [word for word in _COMMAS.split(text.strip()) if word] if text else []


def _shown_besides(expression: Expression) -> set[str]:
    """What was filtered by is shown."""
    return {name for name in expression.columns() if source_of(name) != "fact"}


def _show_groups(
    rows: TableRows, found: Rows, by: Sequence[str], columns: Sequence[str], flags: argparse.Namespace
) -> None:
    groups = grouped(rows, found, by)
    shown = groups[: flags.limit or None]
    cells = [(group, [cell_of(rows, group, name) for name in columns]) for group in shown]
    if flags.json:
        for group, values in cells:
            print_json(_json_group(group, dict(zip(columns, values, strict=True))))
    elif shown:
        lines: list[list[str]] = []
        for group, values in cells:
            own = [clean(shown_value(name, value) or "–") for name, value in zip(by, group.values, strict=True)]
            lines.append([*own, f"{len(group.rows):,}", *(clean(cell.text) for cell in values)])
        print("\n".join(_lines([*by, "n", *columns], lines, ["n", *columns])))
        if is_terminal():
            note("mean ± 95 % interval of n runs; below 5 runs there is no interval")
    else:
        print("no run matches")
    if left := len(groups) - len(shown):
        note(f"{readable.plural(left, 'more group')}: --limit 0 lists all")


def _lines(names: Sequence[str], cells: Sequence[Sequence[str]], columns: Sequence[str]) -> list[str]:
    headings = [name.removesuffix(".last") for name in names]
    right = [name.removesuffix(".last") for name in columns if name == "n" or kind_of(name) not in ("text", "words")]
    return table(headings, cells, right=right, shrink="label" if "label" in headings else "")


def _cell(rows: TableRows, row: int, name: str) -> str:
    return clean(shown_value(name, rows.column(name).values[row])) or "–"


def _json_cells(rows: TableRows, row: int, columns: Sequence[str]) -> dict[str, Value]:
    return {name: rows.column(name).values[row] for name in columns}


def _json_group(group: RowGroup, cells: dict[str, GroupCell]) -> dict[str, object]:
    return {
        "group": dict(zip(group.by, group.values, strict=True)),
        "n": len(group.rows),
        "columns": {
            name: cell.text if cell.mean is None else {**cell.mean.as_json(), "n": cell.n}
            for name, cell in cells.items()
        },
    }
