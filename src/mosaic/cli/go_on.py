"""`mosaic continue RUN…`: go on with paused runs (`continue` itself cannot name a module)."""

from collections.abc import Sequence

from mosaic.cli.each import for_each
from mosaic.cli.reach import connect, parser
from mosaic.spec.run_record import RunRecord


def main(argv: Sequence[str]) -> int:
    flags = parser("continue", "Go on with paused runs.", json=True, runs="…").parse_args(argv)
    with connect() as client:

        def go_on(run: RunRecord) -> tuple[RunRecord, str]:
            after = client.go_on(run.run_id)
            return after, after.state

        return for_each(client, flags, go_on)
