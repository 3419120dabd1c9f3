"""`mosaic reindex`: rebuild the index from the run directories."""

import shutil
import time
from collections.abc import Sequence

from mosaic.cli.daemon.connection import BadArguments, parser, refuse_remote
from mosaic.cli.daemon.daemon import wait_for_end
from mosaic.cli.terminal import readable
from mosaic.cli.terminal.printing import Block, note, print_json, waiting
from mosaic.cli.terminal.readable import plural
from mosaic.rpc.client import Client
from mosaic.rpc.locate import running_address
from mosaic.spec.run_dir import Home

LOOK_S = 0.25
PLAIN_LINE_S = 5.0


def main(argv: Sequence[str]) -> int:
    about = "Rebuild the list of runs and their metrics from the run directories. Runs that train go on meanwhile."
    flags = parser("reindex", about, json=True).parse_args(argv)
    refuse_remote("reindex")
    home = Home.resolve()
    before: int | None = None
    if running_address(home) is not None:
        with Client(home=home) as client:
            health = client.health()
            if len(health.address.split()) > 1:
                # It would be started anew without the flags that it has now.
                advice = "'mosaic daemon stop', reindex, then start it with its flags"
                raise BadArguments(f"the daemon also listens on TCP ({health.address}): {advice}")
            before = sum(health.runs.values())
            client.shutdown()
        wait_for_end(home)
    # Both are caches. The daemon makes a new index of every run directory that it finds.
    with waiting("removing the old index …"):
        for suffix in ("", "-wal", "-shm"):
            home.index.with_name(home.index.name + suffix).unlink(missing_ok=True)
        shutil.rmtree(home.metrics, ignore_errors=True)
    with Client(home=home) as client:
        after = _wait_until_whole(client, json=flags.json)
    if flags.json:
        print_json({"home": str(home.root), "runs": after, "runs_before": before})
    else:
        known = "" if before in (None, after) else f"; the old index had {before}"
        print(f"{plural(after, 'run')} in {home.runs}{known}")
    return 0


def _wait_until_whole(client: Client, *, json: bool) -> int:
    """How many runs there are, once all are read; says how far it is, redrawn on a terminal."""
    block, next_line = Block(), time.monotonic() + PLAIN_LINE_S
    block.live &= not json
    try:
        while progress := readable.indexing(health := client.health()):
            block.draw([progress])
            if not block.live and time.monotonic() >= next_line:
                note(progress)
                next_line = time.monotonic() + PLAIN_LINE_S
            time.sleep(LOOK_S)
    finally:
        block.clear()
    return sum(health.runs.values())
