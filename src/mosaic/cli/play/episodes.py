"""`mosaic episodes [RUN]`: recorded episodes, newest first."""

import json
from collections.abc import Sequence
from typing import Any

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.play.episode_by_name import session
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal.printing import print_json, table
from mosaic.rpc import trainer_pb2 as pb
from mosaic.spec.environment_settings import spoken


def main(argv: Sequence[str]) -> int:
    words = parser("episodes", "List recorded episodes, newest first.", json=True)
    words.add_argument("run", metavar="RUN", nargs="?", help="of this run only")
    words.add_argument("--env-id", default="", metavar="ID", help="of this environment only")
    words.number("--limit", low=1, default=50, metavar="N", help="list at most N (default 50)")
    flags = words.parse_args(argv)
    with connect() as client:
        run_id = session(client, flags.run).run_id if flags.run else ""
        found = client.episodes(run_id, env_id=flags.env_id, limit=flags.limit)
    if flags.json:
        for episode in found:
            print_json(as_json(episode))
        return 0
    if not found:
        print("no recorded episode" + (" matches" if flags.run or flags.env_id else " yet; 'mosaic play' records some"))
        return 0
    rows = [
        (
            shown_id(episode.run_id),
            str(episode.episode),
            " ".join((episode.env_id, *_settings(episode))),
            str(episode.seed),
            ", ".join(_who(actor) for actor in episode.seats.values()),
            str(episode.length),
            " ".join(f"{total:g}" for total in episode.returns.values()),
            episode.outcome or "cut short",
        )
        for episode in found
    ]
    names = ("run", "episode", "environment", "seed", "actors", "steps", "return", "end")
    for line in table(names, rows, right=("episode", "seed", "steps", "return"), shrink="actors"):
        print(line)
    return 0


def as_json(episode: pb.RecordedEpisode) -> dict[str, Any]:
    return {
        "run_id": episode.run_id,
        "episode": episode.episode,
        "env_id": episode.env_id,
        "seed": episode.seed,
        "seats": dict(episode.seats),
        "outcome": episode.outcome,
        "length": episode.length,
        "returns": dict(episode.returns),
        "started_at": episode.started_at,
        "path": episode.path,
        "env_settings": json.loads(episode.env_settings_json or "{}"),
    }


def _settings(episode: pb.RecordedEpisode) -> list[str]:
    return [spoken(json.loads(episode.env_settings_json))] if episode.env_settings_json else []


def _who(actor: str) -> str:
    """Without the folders of a file."""
    return actor.rpartition("/")[2] if "/" in actor else actor
