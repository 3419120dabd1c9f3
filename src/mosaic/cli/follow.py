"""`mosaic follow RUN…`: live progress until the runs have ended."""

from collections.abc import Sequence

from mosaic.cli.following import follow_and_report
from mosaic.cli.pick import pick_all
from mosaic.cli.reach import connect, parser


def main(argv: Sequence[str]) -> int:
    words = parser("follow", "Show the progress of runs until they end; Ctrl-C leaves them alone.", json=True, runs="…")
    flags = words.parse_args(argv)
    with connect() as client:
        return follow_and_report(client, pick_all(client, flags.runs), json=flags.json)
