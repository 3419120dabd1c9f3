"""`mosaic wandb status|sync|probe`: how the exports to Weights & Biases are, and the upload of offline ones."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mosaic import config
from mosaic.cli.daemon.connection import connect, parser, refuse_remote
from mosaic.cli.runs.run_by_name import pick_all
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import clean, note, paint, pairs, print_json, waiting
from mosaic.cli.terminal.verb_parser import no_such_verb
from mosaic.errors import MosaicError
from mosaic.rpc.client import Client
from mosaic.rpc.find_run import TRAINING
from mosaic.spec.catalogue.extras import TRACKERS
from mosaic.spec.run_config import TrainOptions
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.track import export_state, wandb_network
from mosaic.track import wandb_sync as upload
from mosaic.track.export_state import Export

COLOURS = {"exporting": "cyan", "offline": "yellow", "syncing": "cyan", "synced": "green", "failed": "red"}
USAGE = """usage: mosaic wandb status RUN … [--json]   how the export of runs is
       mosaic wandb sync RUN … [--json]     upload offline exports; one that was cut off is made anew
       mosaic wandb probe [--proxy URL] [--vpn] [--json]   whether the server answers

A run is exported if it was started with --track-wandb."""


def main(argv: Sequence[str]) -> int:
    verbs: dict[str, Callable[[Sequence[str]], int]] = {"status": status, "sync": sync, "probe": probe}
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    if argv[0] not in verbs:
        raise no_such_verb("wandb", argv[0], list(verbs))
    return verbs[argv[0]](argv[1:])


def status(argv: Sequence[str]) -> int:
    flags = parser("wandb status", "How the exports of runs are.", json=True, runs="RUN…").parse_args(argv)
    with connect() as client:
        found = [(run, read(client, run)) for run in pick_all(client, flags.runs, TRAINING)]
    for run, export in found:
        if flags.json:
            print_json({"run_id": run.run_id, "export": None if export is None else config.to_json(export)})
        else:
            print("\n".join(pairs(_facts(run, export))))
            print()
    return 1 if any(export is not None and export.state == "failed" for _, export in found) else 0


def read(client: Client, run: RunRecord, tracker: str = export_state.WANDB) -> Export | None:
    """From the daemon, so that it works from afar too; None for a run that is not exported."""
    name = f"{tracker}/export.json"
    if name not in client.files(run.run_id):
        return None
    return export_state.parse(b"".join(client.read_artifact(run.run_id, name)))


def sync(argv: Sequence[str]) -> int:
    flags = parser("wandb sync", "Upload offline exports.", json=True, runs="RUN…").parse_args(argv)
    refuse_remote("wandb sync")
    TRACKERS[export_state.WANDB].require("the upload to Weights & Biases")
    with connect() as client:
        runs = pick_all(client, flags.runs, TRAINING)
    worst = 0
    for run in runs:
        try:
            with waiting(f"uploading {run.run_id} …"):
                done = upload.sync(RunDir(Path(run.run_dir)))
        except MosaicError as error:
            note(f"error: {error}")
            worst = max(worst, error.exit_code)
            continue
        if flags.json:
            print_json({"run_id": run.run_id, "export": config.to_json(done)})
        else:
            print(f"{run.run_id}  {done.state}: {done.rows:,} rows  {done.url}".rstrip())
    return worst


def probe(argv: Sequence[str]) -> int:
    words = parser("wandb probe", "Ask the W&B server for anything at all, for at most five seconds.", json=True)
    words.add_argument("--proxy", metavar="URL", help="go through this proxy")
    words.add_argument("--vpn", action="store_true", help="go through the proxies that a run with VPN proxy would use")
    flags = words.parse_args(argv)
    options = replace(TrainOptions(), wandb_use_vpn_proxy=flags.vpn or bool(flags.proxy), wandb_http_proxy=flags.proxy)
    way = wandb_network.network_of(options)
    answer = wandb_network.probe(way)
    key = wandb_network.has_key(way.server)
    if flags.json:
        found = {"reachable": answer.reachable, "text": answer.text, "seconds": round(answer.seconds, 3)}
        print_json({**found, "server": way.server, "proxy": way.shown_proxy, "has_key": key})
    else:
        print(f"{answer.text} ({answer.seconds:.1f} s)")
        print("an API key is known" if key else "no API key is known: set WANDB_API_KEY, or 'wandb login'")
    return 0 if answer.reachable else 1


def _facts(run: RunRecord, export: Export | None) -> dict[str, str]:
    if export is None:
        return {"run": run.run_id, "export": "none; 'mosaic train … --track-wandb' makes one"}
    shown = paint(export_state.spoken(export), COLOURS[export.state])
    return {
        "run": run.run_id,
        "export": f"{shown}: {clean(export.why)}" if export.why else shown,
        "project": "/".join(part for part in (export.entity, export.project) if part),
        "name": clean(export.name),
        "page": export.url,
        "server": export.server,
        "proxy": export.proxy,
        "written": f"{export.rows:,} rows from {export.events:,} events, {readable.moment(export.updated_at)}",
        "folder": f"{run.run_dir}/{export.folder}" if export.folder else "",
    }
