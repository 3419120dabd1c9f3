"""`mosaic resume RUN…`: a further attempt of ended runs, from a checkpoint."""

from collections.abc import Sequence

from mosaic.cli.each import for_each
from mosaic.cli.following import follow_and_report
from mosaic.cli.pick import pick_all
from mosaic.cli.reach import connect, parser
from mosaic.spec.run_record import RunRecord


def main(argv: Sequence[str]) -> int:
    words = parser("resume", "Go on with ended runs, exactly where a checkpoint left them.", json=True, runs="…")
    words.add_argument("--from-step", type=int, default=0, metavar="N", help="step of the checkpoint; 0 is the newest")
    words.add_argument("--follow", action="store_true", help="show the progress until the end")
    flags = words.parse_args(argv)
    if flags.from_step < 0:
        words.error(f"--from-step must not be negative (got {flags.from_step})")
    with connect() as client:

        def resume(run: RunRecord) -> tuple[RunRecord, str]:
            after = client.resume(run.run_id, from_step=flags.from_step)
            return after, f"{after.state}, attempt {run.attempt + 1}"

        code = for_each(client, flags, resume)
        if code or not flags.follow:
            return code
        return follow_and_report(client, pick_all(client, flags.runs), json=flags.json)
