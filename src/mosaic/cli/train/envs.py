"""`mosaic envs [TEXT]`: environments by family; of one, what it is like and its settings."""

import argparse
import textwrap
from collections.abc import Callable, Sequence

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.terminal.printing import columns, is_terminal, note, paint, print_json
from mosaic.cli.terminal.readable import plural
from mosaic.cli.train import environment_page, own_environment, own_environment_files, wrapper_page
from mosaic.errors import ConfigError, Problem
from mosaic.near_names import did_you_mean
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Refused
from mosaic.spec import own_code
from mosaic.spec.catalogue.known_environments import OWN_FAMILY, instead_of_minatar

EXAMPLES = 6


def main(argv: Sequence[str]) -> int:
    actions: dict[str, Callable[[Sequence[str]], int]] = {
        "add": own_environment_files.add,
        "remove": own_environment_files.remove,
        "check": own_environment_files.check,
        "copy": own_environment_files.copy,
        "wrappers": wrapper_page.main,
    }
    if argv and argv[0] in actions:
        return actions[argv[0]](argv[1:])
    words = parser("envs", "List environments; any other Gymnasium id works as module:Env-v0.", json=True)
    words.formatter_class = argparse.RawDescriptionHelpFormatter
    words.epilog = own_environment_files.USAGE
    words.add_argument(
        "text", nargs="?", default="", metavar="TEXT", help="a family, a part of an id, or an id, which is described"
    )
    flags = words.parse_args(argv)
    with connect() as client:
        flags.text = own_environment.reference_of(flags.text)
        listed = client.environment_list()
        families, broken = listed.families, listed.broken
        for one in broken:
            if flags.text == one.name:
                raise ConfigError([Problem(one.name, one.problem)], what=one.place)
        if own_code.is_reference(flags.text) or any(
            flags.text == info.env_id for family in families for info in family.environments
        ):
            found_one = client.environment(flags.text)
            print_json(environment_page.as_json(found_one)) if flags.json else print(
                environment_page.printed(found_one)
            )
            return 0
    for family in families:
        if flags.text == family.name and not family.installed:
            raise Refused(family.advice, "UNIMPLEMENTED")
    if flags.text == OWN_FAMILY and all(family.name != OWN_FAMILY for family in families) and not broken:
        note("no environment of your own lies in an allowed folder; 'mosaic envs add DIR' allows one")
        return 0
    named = [family for family in families if family.name == flags.text]
    found = {family.name: _matching(family, flags.text) for family in named or families}
    if flags.text and not any(found.values()):
        ids = [info.env_id for family in families for info in family.environments]
        none = f"'{flags.text}' is neither a family nor a part of the name of an environment"
        if ours := instead_of_minatar(flags.text):
            raise BadArguments(f"{none}; {ours}")
        advice = did_you_mean(flags.text, [*(family.name for family in families), *ids])
        raise BadArguments(f"{none}; {advice} 'mosaic envs' lists the families".replace(";  ", "; "))
    if flags.json:
        for family in named or families:
            for info in found[family.name]:
                print_json({"env_id": info.env_id, "family": family.name, "actions": info.actions})
        return 0
    for one in broken if flags.text in ("", OWN_FAMILY) else ():
        note(f"{one.name} cannot be used: {one.problem} ({one.place})")
    if not is_terminal():
        print("\n".join(info.env_id for infos in found.values() for info in infos))
        return 0
    for family in named or families:
        _show(family, found[family.name], brief=not flags.text)
    if not flags.text:
        print(paint("'mosaic envs FAMILY' lists a family, 'mosaic envs TEXT' what contains a text,", "dim"))
        print(paint("'mosaic envs ENV' shows an environment and its settings", "dim"))
    return 0


def _matching(family: pb.EnvironmentFamily, text: str) -> list[pb.EnvironmentInfo]:
    whole = text == family.name
    return [info for info in family.environments if whole or text.lower() in info.env_id.lower()]


def _show(family: pb.EnvironmentFamily, found: Sequence[pb.EnvironmentInfo], *, brief: bool) -> None:
    if not family.installed and brief:
        print(f"{paint(family.name, 'bold')}  {paint(family.advice, 'yellow')}")
    elif found:
        ids = [info.env_id for info in found[: EXAMPLES if brief else None]]
        more = " …" if len(ids) < len(found) else ""
        print(f"{paint(family.name, 'bold')}  {plural(len(found), 'environment')}")
        lines = textwrap.wrap(", ".join(ids) + more, columns() - 4, break_long_words=False, break_on_hyphens=False)
        print(textwrap.indent("\n".join(lines), "  "))
