"""`mosaic views`: saved views of the table and the charts: list, show, rename, delete."""

import argparse
from collections.abc import Callable, Sequence

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs import runs_table
from mosaic.cli.terminal.printing import clean, is_terminal, note, paint, print_json, table
from mosaic.cli.terminal.readable import plural, when
from mosaic.config import to_json
from mosaic.rpc.client import Client
from mosaic.run_table.saved_views import SavedView, SavedViews
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord

USAGE = """further commands:
  mosaic views show NAME         its runs, as its table shows them
  mosaic views rename OLD NEW    call it something else
  mosaic views delete NAME       remove it; the runs stay

'mosaic runs --filter … --columns … --save-view NAME' makes one, and so does the window, where a view also has the
charts and the selection of runs. 'mosaic export --view NAME page.html' shows its runs to others."""
LIMIT = 30


def main(argv: Sequence[str]) -> int:
    actions: dict[str, Callable[[Sequence[str]], int]] = {"show": _show, "rename": _rename, "delete": _delete}
    if argv and argv[0] in actions:
        return actions[argv[0]](argv[1:])
    words = parser("views", "List saved views.", json=True)
    words.formatter_class = argparse.RawDescriptionHelpFormatter
    words.epilog = USAGE
    flags = words.parse_args(argv)
    views, problems = SavedViews(Home.resolve()).listed()
    if flags.json:
        for view in views:
            print_json(to_json(view))
    elif views:
        rows = [
            (clean(view.name), _runs(view), clean(view.table.filter), _order(view), when(view.saved_at))
            for view in views
        ]
        print("\n".join(table(("view", "runs", "filter", "order", "saved"), rows, shrink="filter")))
        if is_terminal():
            print(paint("'mosaic views show NAME' shows one, 'mosaic views --help' what else there is", "dim"))
    else:
        print("no saved views yet; 'mosaic runs --filter … --save-view NAME' makes one, and so does the window")
    for problem in problems:
        note(paint(clean(problem), "red"))
    return 0


def runs_of(client: Client, name: str) -> list[RunRecord]:
    """Those that are selected in it; where none is, those that its filter leaves."""
    view = SavedViews(Home.resolve()).find(name)
    if not view.runs:
        return runs_table.matching(client, view.table.filter, "views")
    known = {run.run_id: run for run in client.list()}
    if gone := sum(run_id not in known for run_id in view.runs):
        note(f"{plural(gone, 'run')} of view '{clean(name)}' {'is' if gone == 1 else 'are'} not here any more")
    return [known[run_id] for run_id in view.runs if run_id in known]


def _show(argv: Sequence[str]) -> int:
    words = parser("views show", "The runs of a saved view, as its table shows them.", json=True)
    words.add_argument("name", metavar="NAME", help="name of a view ('mosaic views' lists them)")
    words.number("--limit", low=0, default=LIMIT, metavar="N", help=f"at most N; 0 is all (default {LIMIT})")
    flags = words.parse_args(argv)
    view = SavedViews(Home.resolve()).find(flags.name)
    shown = argparse.Namespace(
        columns=",".join(name for name in view.table.columns if name != "run"),
        sort=view.table.sort,
        reverse=view.table.downwards,
        group=view.table.group,
        # Runs that were chosen one by one are shown whether the filter leaves them or not.
        filter="" if view.runs else view.table.filter,
        limit=flags.limit,
        json=flags.json,
        state=[],
        kind=[],
        text="",
        save_view=None,
    )
    with connect() as client:
        only = None
        if view.runs:
            only = {run.run_id for run in runs_of(client, view.name)}
            note(f"the runs that are selected in view '{clean(view.name)}'")
        return runs_table.show(client, shown, only)


def _rename(argv: Sequence[str]) -> int:
    words = parser("views rename", "Call a saved view something else.")
    words.add_argument("name", metavar="OLD", help="name of a view")
    words.add_argument("to", metavar="NEW", help="what it is called from now on")
    flags = words.parse_args(argv)
    SavedViews(Home.resolve()).rename(flags.name, flags.to)
    print(f"view '{clean(flags.name)}' is now '{clean(flags.to.strip())}'")
    return 0


def _delete(argv: Sequence[str]) -> int:
    words = parser("views delete", "Remove a saved view; its runs stay.")
    words.add_argument("name", metavar="NAME", help="name of a view")
    flags = words.parse_args(argv)
    SavedViews(Home.resolve()).delete(flags.name)
    print(f"view '{clean(flags.name)}' is gone; its runs stay")
    return 0


def _runs(view: SavedView) -> str:
    return plural(len(view.runs), "run") if view.runs else "all"


def _order(view: SavedView) -> str:
    parts = [f"by {view.table.sort}{', highest first' if view.table.downwards else ''}"] if view.table.sort else []
    parts += [f"groups by {view.table.group}"] if view.table.group else []
    return clean("; ".join(parts)) or "newest first"
