"""`mosaic label RUN [TEXT]`: what people wrote on a run."""

from collections.abc import Sequence

from mosaic.cli import wording
from mosaic.cli.pick import pick
from mosaic.cli.reach import connect, parser
from mosaic.cli.screen import clean, pairs, print_json


def main(argv: Sequence[str]) -> int:
    words = parser("label", "Change the label, the notes or the priority of a run.", json=True, runs="RUN")
    words.add_argument("text", nargs="?", metavar="TEXT", help="new label")
    words.add_argument("--notes", help="new notes")
    words.add_argument("--priority", type=int, help="new priority; matters while the run is queued")
    flags = words.parse_args(argv)
    if flags.text is None and flags.notes is None and flags.priority is None:
        words.error("give a new label, --notes or --priority")
    with connect() as client:
        run = pick(client, flags.run)
        run = client.set_label(run.run_id, label=flags.text, notes=flags.notes, priority=flags.priority)
    if flags.json:
        print_json(wording.as_json(run))
    else:
        shown = {"run": run.run_id, "label": clean(run.label), "notes": clean(run.notes), "priority": str(run.priority)}
        print("\n".join(pairs(shown)))
    return 0
