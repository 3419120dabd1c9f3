"""What starts the workers of runs: `mosaic engines` says what each engine found, and what it lacks; code 1 then."""

import textwrap
from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.terminal.printing import columns, paint, print_json, waiting

INDENT = "  "


def main(argv: Sequence[str]) -> int:
    words = parser("engines", "What starts the workers of runs: on this machine, or on others.", json=True)
    words.add_argument("name", nargs="?", default="", metavar="ENGINE", help="only this one")
    flags = words.parse_args(argv)
    with connect() as client, waiting("looking for what each engine needs …"):
        engines = client.engines(flags.name)
    for engine in engines:
        if flags.json:
            print_json(vars(engine))
            continue
        state = paint("ready", "green") if engine.ready else paint("not ready", "yellow")
        default = ", the daemon's own" if engine.is_default else ""
        print(f"{engine.name}: {state}{default}")
        for line in engine.found:
            _say(line)
        for line in engine.missing:
            _say(line)
        _say(f"start: {engine.start}" if engine.ready else f"then: {engine.start}")
    return int(bool(flags.name) and not engines[0].ready)


def _say(text: str) -> None:
    for line in text.split("\n"):
        # What is to be copied stays on one line, whatever the terminal is.
        whole = line.startswith(("start:", "then:", "[")) or " = " in line
        for piece in [line] if whole else textwrap.wrap(line, max(40, columns() - 4), break_long_words=False):
            print(f"{INDENT}{piece}")
