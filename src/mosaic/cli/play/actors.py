"""`mosaic actors`: who can play."""

from collections.abc import Sequence
from dataclasses import asdict

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.terminal.printing import print_json, table
from mosaic.errors import UnknownEnvironment
from mosaic.near_names import near_names
from mosaic.spec.actors import ActorDescriptor


def main(argv: Sequence[str]) -> int:
    words = parser("actors", "List the actors that can play.", json=True)
    words.add_argument("--env-id", default="", metavar="ID", help="say which of them fit this environment")
    flags = words.parse_args(argv)
    with connect() as client:
        actors = client.actors()
        kinds = {
            env.env_id: {"action": env.actions, "observation": env.observations, "family": family.name}
            for family in (client.environments() if flags.env_id else ())
            for env in family.environments
        }
    if flags.env_id and flags.env_id not in kinds and ":" not in flags.env_id:
        raise UnknownEnvironment(flags.env_id, near_names(flags.env_id, kinds))
    fitting = kinds.get(flags.env_id, {"action": "", "observation": "", "family": ""})
    if flags.json:
        for actor in actors:
            print_json(asdict(actor) | {"misfit": actor.misfit(**fitting)})
        return 0
    rows = [
        (
            _written(actor),
            actor.description,
            actor.misfit(**fitting) or "ready",
        )
        for actor in actors
    ]
    for line in table(("actor", "what", "state"), rows, shrink="what"):
        print(line)
    return 0


def _written(actor: ActorDescriptor) -> str:
    """As one writes it; what stands in brackets may be left out."""
    if actor.argument.startswith("["):
        return f"{actor.id}[:{actor.argument[1:]}"
    return f"{actor.id}:{actor.argument}" if actor.argument else actor.id
