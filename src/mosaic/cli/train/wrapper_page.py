"""`mosaic envs wrappers [TEXT]`: Gymnasium's wrappers, with the arguments of each, as `--wrap` takes them."""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.terminal.printing import columns, paint, print_json
from mosaic.near_names import did_you_mean
from mosaic.spec.setting_values import shown, wanted

INDENT = 4


def main(argv: Sequence[str]) -> int:
    words = parser("envs wrappers", "List Gymnasium's wrappers and their arguments.", json=True)
    words.add_argument("text", nargs="?", default="", metavar="TEXT", help="a part of a name")
    flags = words.parse_args(argv)
    with connect() as client:
        known: list[dict[str, Any]] = json.loads(client.environment_list(with_settings=True).wrappers_json)
    found = [one for one in known if flags.text.lower() in one["name"].lower()]
    if not found:
        advice = did_you_mean(flags.text, [one["name"] for one in known])
        raise BadArguments(f"no wrapper of Gymnasium has '{flags.text}' in its name; {advice}".removesuffix("; "))
    for one in found:
        if flags.json:
            print_json(one)
        elif "refused" not in one:
            print("\n".join(_lines(one)))
        elif flags.text:
            print(f"{paint(one['name'], 'bold')} {one['refused']}")
    return 0


def _lines(one: Mapping[str, Any]) -> list[str]:
    lines = [paint(one["name"], "bold"), *_wrapped(one["summary"])]
    for name, kind in one["properties"].items():
        default = f" = {shown(kind['default'])}" if "default" in kind else ""
        lines += _wrapped(f"{name}{default} ({wanted(kind)})")
    if "rewards" in one["changes"]:
        lines += _wrapped("It changes rewards: charts/shaped_return shows what the algorithm gets.")
    return lines


def _wrapped(text: str) -> list[str]:
    return [" " * INDENT + line for line in textwrap.wrap(text, max(columns() - INDENT, 40))]
