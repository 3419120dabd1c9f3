"""`mosaic sweeps`: a table of sweeps, newest first."""

from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser, place
from mosaic.cli.sweeps import sweep_table
from mosaic.cli.sweeps.sweep_by_name import MAKES_ONE
from mosaic.cli.terminal.printing import print_json


def main(argv: Sequence[str]) -> int:
    flags = parser("sweeps", "List sweeps, newest first.", json=True).parse_args(argv)
    with connect() as client:
        sweeps = client.sweeps()
    if flags.json:
        for sweep in sweeps:
            print_json(sweep_table.as_json(sweep))
    elif sweeps:
        print("\n".join(sweep_table.list_lines(sweeps)))
    else:
        print(f"no sweeps yet ({place()}); {MAKES_ONE}")
    return 0
