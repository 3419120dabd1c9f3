"""`mosaic resume RUN…`: ended runs go on from a checkpoint, in themselves or in a new run that names its parent."""

from collections.abc import Sequence

from mosaic.cli.each import for_each
from mosaic.cli.following import follow_and_report
from mosaic.cli.pick import TRAINING
from mosaic.cli.reach import connect, parser
from mosaic.spec.run_record import RunRecord


def main(argv: Sequence[str]) -> int:
    words = parser("resume", "Go on with ended runs, exactly where a checkpoint left them.", json=True, runs="…")
    words.add_argument(
        "--from-step",
        type=int,
        metavar="N",
        help="step of the checkpoint (without it the newest whole one); if there are newer ones, a new run begins",
    )
    words.add_argument(
        "--discard-newer", action="store_true", help="with --from-step: delete the newer checkpoints, begin no new run"
    )
    words.add_argument("--follow", action="store_true", help="show the progress until the end")
    flags = words.parse_args(argv)
    if flags.from_step is not None and not 0 <= flags.from_step < 2**64:
        words.error(f"--from-step: must not be negative (got {flags.from_step})")
    if flags.discard_newer and flags.from_step is None:
        words.error("--discard-newer needs --from-step: the newest checkpoint has no newer ones")
    resumed: list[RunRecord] = []
    with connect() as client:

        def resume(run: RunRecord) -> tuple[RunRecord, str]:
            after = client.resume(run.run_id, from_step=flags.from_step, discard_newer=flags.discard_newer)
            resumed.append(after)
            return after, _sentence(run, after)

        code = for_each(client, flags, resume, TRAINING)
        if code or not flags.follow:
            return code
        return follow_and_report(client, resumed, json=flags.json)


def _sentence(run: RunRecord, after: RunRecord) -> str:
    if after.run_id != run.run_id:
        return f"goes on from step {after.parent_step} as the new run {after.run_id}; its newer checkpoints are kept"
    # The rest of the reason says what is special: an earlier checkpoint, because the newest is damaged.
    remarks = after.reason.removeprefix("resumed").removeprefix("; ")
    return f"{after.state}, attempt {run.attempt + 1}" + (f"; {remarks}" if remarks else "")
