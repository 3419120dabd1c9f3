"""`mosaic track RUN…`: how the exports of runs to trackers are, or a further export with --to."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from mosaic import config
from mosaic.cli.daemon.connection import connect, parser, refuse_remote
from mosaic.cli.runs.run_by_name import pick_all
from mosaic.cli.terminal.printing import clean, note, paint, print_json, say, waiting
from mosaic.cli.terminal.readable import plural
from mosaic.cli.tracking.wandb import COLOURS, read
from mosaic.errors import MissingExtra, MosaicError
from mosaic.rpc.find_run import TRAINING
from mosaic.spec.catalogue.extras import TRACKERS
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL
from mosaic.track import export_state
from mosaic.track.export_state import Export
from mosaic.track.start_exporter import exporter
from mosaic.track.trackers import everywhere, title_of


def main(argv: Sequence[str]) -> int:
    words = parser("track", "How the exports of runs to trackers are; --to exports them now.", json=True, runs="RUN…")
    words.add_argument("--to", choices=everywhere(), help="export these runs, whether they were tracked or not")
    flags = words.parse_args(argv)
    if flags.to:
        refuse_remote("track --to")
        if flags.to in TRACKERS:
            TRACKERS[flags.to].require(f"the export to {title_of(flags.to)}")
    with connect() as client:
        runs = pick_all(client, flags.runs, TRAINING)
        for run in runs if flags.to else ():
            _export(run, flags.to)
        found = [(run, tracker, read(client, run, tracker)) for run in runs for tracker in everywhere()]
    exports = [(run, tracker, export) for run, tracker, export in found if export is not None]
    for run, tracker, export in exports:
        if flags.json:
            print_json({"run_id": run.run_id, "tracker": tracker, "export": config.to_json(export)})
        else:
            say(_line(run, tracker, export))
    for run in runs if not flags.json else ():
        if not any(of.run_id == run.run_id for of, _, _ in exports):
            note(f"{run.run_id}  is not exported; --to {' or '.join(everywhere())} exports it")
    return 1 if any(export.state == "failed" for _, _, export in exports) else 0


def _export(run: RunRecord, tracker: str) -> None:
    run_dir = RunDir(Path(run.run_dir))
    if run.state not in TERMINAL:
        raise MosaicError(
            f"run {run.run_id} is {run.state}; export it after its end, or start it with --track-{tracker}"
        )
    child = exporter("--tracker", tracker, str(run_dir.root), tracker=tracker)
    run_dir.logs.mkdir(mode=0o700, exist_ok=True)
    with (
        waiting(f"exporting {run.label or run.run_id} …"),
        run_dir.open(run_dir.export_log(tracker), append=True) as out,
    ):
        code = child.run(stdin=subprocess.DEVNULL, stdout=out, stderr=out).returncode
    if code == MissingExtra.exit_code:
        raise MissingExtra(f"the export to {title_of(tracker)}", tracker)


def _line(run: RunRecord, tracker: str, export: Export) -> str:
    state = paint(export_state.spoken(export), COLOURS[export.state])
    text = f"{run.run_id}  {title_of(tracker)}  {state}: {plural(export.rows, 'row')}"
    return "  ".join(part for part in (text, clean(export.why), clean(export.url)) if part)
