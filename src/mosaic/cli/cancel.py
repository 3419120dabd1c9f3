"""`mosaic cancel RUN…`: end runs; a worker saves a checkpoint first."""

from collections.abc import Sequence

from mosaic.cli.each import for_each
from mosaic.cli.reach import connect, parser
from mosaic.scripts.script import is_script
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL


def main(argv: Sequence[str]) -> int:
    words = parser("cancel", "End runs; each saves a checkpoint first, to be resumed from.", json=True, runs="…")
    flags = words.parse_args(argv)
    with connect() as client:

        def cancel(run: RunRecord) -> tuple[RunRecord, str]:
            if run.state in TERMINAL:
                return run, f"had already ended as {run.state}; nothing to do"
            after = client.cancel(run.run_id)
            return after, f"{after.state}{_what_follows(after)}"

        return for_each(client, flags, cancel)


def _what_follows(run: RunRecord) -> str:
    if run.state in TERMINAL:
        return ""
    if run.kind == "policy_eval":
        return ": ends, and keeps the batches that it has"
    return ": saves a checkpoint, then ends" if run.kind == "train" and not is_script(run.algo) else ": is told to end"
