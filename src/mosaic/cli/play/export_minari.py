"""`mosaic export-minari RUN… --dataset NAME`: recorded episodes as a Minari dataset."""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.play.episode_by_name import find_all, run_program
from mosaic.cli.terminal.printing import print_json
from mosaic.cli.terminal.readable import plural
from mosaic.spec.catalogue.extras import MINARI

PROGRAM = "mosaic.play.export.dataset"


def main(argv: Sequence[str]) -> int:
    words = parser("export-minari", "Make a Minari dataset of recorded episodes, on this machine.", json=True)
    words.add_argument(
        "what", nargs="+", metavar="RUN[/EPISODE]|FILE", help="a run of play, one of its episodes, or an episode file"
    )
    words.add_argument(
        "--dataset", required=True, metavar="NAME", help="name of the dataset, for example cartpole/random-v0"
    )
    words.add_argument("--author", default="", help="author of the dataset")
    words.add_argument("--description", default="", help="description of the dataset")
    flags = words.parse_args(argv)
    MINARI.require("a Minari dataset")
    with connect() as client:
        found = [each for word in flags.what for each in find_all(client, word)]
    with tempfile.TemporaryDirectory(prefix="mosaic-minari-") as folder:
        paths = [str(each.put_into(Path(folder), at)) for at, each in enumerate(found, start=1)]
        request = {
            "episodes": paths,
            "dataset": flags.dataset,
            "author": flags.author,
            "description": flags.description,
        }
        made = run_program(PROGRAM, request)
    if flags.json:
        print_json(made)
    else:
        episodes, steps = plural(made["episodes"], "episode"), plural(made["steps"], "step")
        print(f"{made['dataset']}: {episodes}, {steps}, in {made['path']}")
    return 0
