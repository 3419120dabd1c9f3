"""`mosaic version`."""

import platform
from collections.abc import Sequence

from mosaic import __version__
from mosaic.cli.daemon.connection import parser
from mosaic.cli.terminal.printing import print_json


def main(argv: Sequence[str]) -> int:
    flags = parser("version", "Print the version.", json=True).parse_args(argv)
    facts = {"mosaic": __version__, "python": platform.python_version(), "platform": platform.platform()}
    if flags.json:
        print_json(facts)
    else:
        print(f"mosaic {facts['mosaic']} (Python {facts['python']}, {facts['platform']})")
    return 0
