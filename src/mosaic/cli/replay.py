"""`mosaic replay RUN [--episode N]`: make a recorded episode again from its seed and actions, and compare."""

import json
from collections.abc import Sequence
from pathlib import Path

from mosaic.cli import INTERRUPTED
from mosaic.cli.following import RunFailed, detached, follow
from mosaic.cli.pick import pick
from mosaic.cli.play import SEAT, SUMMARY, document_of, watch
from mosaic.cli.reach import BadArguments, connect, parser
from mosaic.cli.screen import is_terminal, note, paint, print_json
from mosaic.errors import RecordingError
from mosaic.rpc.client import Client
from mosaic.spec import episodes
from mosaic.spec.states import RunState

DIFFERS = 1


def main(argv: Sequence[str]) -> int:
    words = parser("replay", "Make a recorded episode again and say whether it is the same.", json=True)
    words.add_argument("what", metavar="RUN|FILE", help="a run of play, or an episode file")
    words.add_argument("--episode", type=int, default=1, metavar="N", help="which episode of the run (default 1)")
    words.add_argument("--speed", type=float, metavar="X", help="multiple of real time; 0 is as fast as possible")
    words.add_argument("--watch", action="store_true", help="show it in the terminal")
    flags = words.parse_args(argv)
    if flags.watch and not is_terminal():
        raise BadArguments("'mosaic replay --watch' needs a terminal; without --watch it replays and compares")
    with connect() as client:
        actor, env_id = _find(client, flags.what, flags.episode)
        speed = flags.speed if flags.speed is not None else 1.0 if flags.watch else 0.0
        document = document_of(env_id, {SEAT: actor}, {"episodes": 1, "speed": speed}, seed=0)
        [run] = client.submit(document)
        try:
            if flags.watch:
                watch(client, run)
            [ended] = follow(client, [run], tell=note)
        except KeyboardInterrupt:
            detached([run])
            return INTERRUPTED
        if ended.state is not RunState.FINISHED:
            raise RunFailed(ended)
        verdict = json.loads(b"".join(client.read_artifact(run.run_id, SUMMARY)))["replay"]
    if flags.json:
        print_json(verdict | {"run_id": run.run_id})
    elif verdict["exact"]:
        print(paint(f"the same: {verdict['length']} steps, bit for bit", "green"))
    else:
        print(paint(f"not the same: {verdict['difference']}", "yellow"))
    return 0 if verdict["exact"] else DIFFERS


def _find(client: Client, word: str, number: int) -> tuple[str, str]:
    """How the actor is called that plays this recording, and the environment of it."""
    path = Path(word).expanduser()
    if path.is_file():
        return f"replay:{path.absolute()}", episodes.read(path).head.env_id
    run = pick(client, word)
    there = {episode.episode: episode for episode in client.episodes(run.run_id)}
    if number not in there:
        count = f"it recorded {len(there)}" if there else "it recorded none; only runs of 'mosaic play' do"
        raise RecordingError(f"run {run.run_id} has no episode {number}: {count}")
    return f"replay:{run.run_id}/{number}", there[number].env_id
