"""`mosaic pause RUN…`: hold runs."""

from collections.abc import Sequence

from mosaic.cli.each import for_each
from mosaic.cli.reach import connect, parser
from mosaic.spec.run_record import RunRecord


def main(argv: Sequence[str]) -> int:
    about = "Hold runs; a pause that lasts gives its CPU and memory back after a checkpoint."
    flags = parser("pause", about, json=True, runs="…").parse_args(argv)
    with connect() as client:

        def pause(run: RunRecord) -> tuple[RunRecord, str]:
            return client.pause(run.run_id), "paused; 'mosaic continue' goes on"

        return for_each(client, flags, pause)
