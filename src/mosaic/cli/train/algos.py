"""`mosaic algos`: the algorithms, the page of one, and a user's own: `new`, `add`, `remove`, `copy`."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.terminal.plain_output import library_colours
from mosaic.cli.terminal.printing import columns, is_terminal, paint, print_json, table
from mosaic.cli.train import own_algorithm_files
from mosaic.errors import ConfigError, Problem, UnknownAlgorithm
from mosaic.near_names import near_names
from mosaic.plain_text import plain
from mosaic.rpc.client import Algorithm, BrokenAlgorithm


def main(argv: Sequence[str]) -> int:
    actions: dict[str, Callable[[Sequence[str]], int]] = {
        "new": own_algorithm_files.new,
        "add": own_algorithm_files.add,
        "remove": own_algorithm_files.remove,
        "copy": own_algorithm_files.copy,
    }
    if argv and argv[0] in actions:
        return actions[argv[0]](argv[1:])
    words = parser("algos", "List algorithms, or read the page of one.", json=True)
    words.formatter_class = argparse.RawDescriptionHelpFormatter
    words.epilog = own_algorithm_files.USAGE
    words.add_argument("algo", nargs="?", metavar="ALGO", help="name of an algorithm")
    flags = words.parse_args(argv)
    with connect() as client:
        known, broken = client.listed_algorithms()
    if flags.algo is not None and flags.algo not in known:
        _refuse(flags.algo, known, broken)
    chosen = list(known.values()) if flags.algo is None else [known[flags.algo]]
    if flags.json:
        for algorithm in chosen:
            print_json(vars(algorithm))
        for one in broken if flags.algo is None else ():
            print_json(vars(one))
    elif flags.algo is None:
        rows = [(one.name, one.actions, _about(one)) for one in chosen]
        print("\n".join(table(("algorithm", "actions", "what it is"), rows, shrink="what it is")))
        for one in broken:
            print(paint(f"{one.name} cannot be used: {one.problem} ({one.place})", "red"))
        if is_terminal():
            print(paint("'mosaic algos ALGO' reads its page, 'mosaic train ALGO --help' shows its flags", "dim"))
    else:
        _show_page(chosen[0])
    return 0


def _about(algorithm: Algorithm) -> str:
    summary = algorithm.summary.split(" (docs/")[0]
    return f"{summary} ({algorithm.place})" if algorithm.place else summary


def _refuse(name: str, known: dict[str, Algorithm], broken: Sequence[BrokenAlgorithm]) -> None:
    for one in broken:
        if one.name == name:
            raise ConfigError([Problem(name, one.problem)], what=one.place)
    raise UnknownAlgorithm(name, near_names(name, known))


def _show_page(algorithm: Algorithm) -> None:
    page = algorithm.docs or _page_of_settings(algorithm)
    if algorithm.place:
        # Its docstring says what it is; what it can be told stands in its settings.
        page = f"{algorithm.docs}\n`{algorithm.place}`\n\n{_table_of_settings(algorithm)}"
    if not is_terminal():
        print(page.rstrip())
        return
    # Only here: it takes a tenth of a second to import.
    from rich.console import Console
    from rich.markdown import Markdown

    with library_colours():
        Console(width=min(columns(), 100)).print(Markdown(plain(page)))


def _page_of_settings(algorithm: Algorithm) -> str:
    """What the schema tells, for an algorithm without a page."""
    return f"# {algorithm.name}\n\n{algorithm.summary}\n\n{_table_of_settings(algorithm)}"


def _table_of_settings(algorithm: Algorithm) -> str:
    properties: dict[str, Any] = dict(algorithm.schema)["properties"]  # type: ignore[assignment]
    rows = [
        f"| `{name}` | {field.get('default')} | {field.get('description', '')} |" for name, field in properties.items()
    ]
    return "\n".join(["| setting | default | |", "|---|---|---|", *rows])
