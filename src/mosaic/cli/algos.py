"""`mosaic algos [ALGO]`: the algorithms, or the page of one."""

from collections.abc import Sequence
from typing import Any

from mosaic.cli.output import library_colours
from mosaic.cli.reach import connect, parser
from mosaic.cli.screen import columns, is_terminal, paint, print_json, table
from mosaic.errors import UnknownAlgorithm
from mosaic.near_names import near_names
from mosaic.plain_text import plain
from mosaic.rpc.client import Algorithm


def main(argv: Sequence[str]) -> int:
    words = parser("algos", "List algorithms, or read the page of one.", json=True)
    words.add_argument("algo", nargs="?", metavar="ALGO", help="name of an algorithm")
    flags = words.parse_args(argv)
    with connect() as client:
        known = client.algorithms()
    if flags.algo is not None and flags.algo not in known:
        raise UnknownAlgorithm(flags.algo, near_names(flags.algo, known))
    chosen = list(known.values()) if flags.algo is None else [known[flags.algo]]
    if flags.json:
        for algorithm in chosen:
            print_json(vars(algorithm))
    elif flags.algo is None:
        rows = [(one.name, one.actions, one.summary.split(" (docs/")[0]) for one in chosen]
        print("\n".join(table(("algorithm", "actions", "what it is"), rows, shrink="what it is")))
        if is_terminal():
            print(paint("'mosaic algos ALGO' reads its page, 'mosaic train ALGO --help' shows its flags", "dim"))
    else:
        _show_page(chosen[0])
    return 0


def _show_page(algorithm: Algorithm) -> None:
    page = algorithm.docs or _page_of_settings(algorithm)
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
    properties: dict[str, Any] = dict(algorithm.schema)["properties"]  # type: ignore[assignment]
    rows = [
        f"| `{name}` | {field.get('default')} | {field.get('description', '')} |" for name, field in properties.items()
    ]
    head = [f"# {algorithm.name}", "", algorithm.summary, "", "| setting | default | |", "|---|---|---|"]
    return "\n".join([*head, *rows])
