"""The `mosaic` command: one file per verb, each returns an exit code (docs/cli.md). The only place that prints."""

import difflib
import importlib
import sys
from collections.abc import Mapping, Sequence

from mosaic.errors import MosaicError

VERBS: Mapping[str, str] = {
    "demo": "train PPO on CartPole until it is solved, then evaluate the policy",
    "evaluate": "play episodes with a trained policy and print what it scored",
    "train": "train an algorithm and follow it",
    "runs": "list the runs of this home",
    "gui": "open the window on the runs of this home",
}
"""Each verb is a module of this package with `main(argv) -> int`."""


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if not words or words[0] in ("-h", "--help", "help"):
        print(_usage())
        return 0
    verb, *rest = words
    if verb not in VERBS:
        near = difflib.get_close_matches(verb, VERBS, n=1)
        advice = f"did you mean 'mosaic {near[0]}'?" if near else "'mosaic --help' lists the verbs"
        print(f"error: 'mosaic {verb}' is not a command; {advice}", file=sys.stderr)
        return 2
    from mosaic.cli.worker import WorkerFailed

    try:
        return importlib.import_module(f"mosaic.cli.{verb}").main(rest)
    except WorkerFailed as error:
        print(f"error: {error}", file=sys.stderr)
        return error.code
    except MosaicError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader went away (`mosaic runs | head`): not an error of ours.
        sys.stderr.close()
        return 141


def _usage() -> str:
    width = max(map(len, VERBS))
    lines = [f"  {verb:<{width}}  {text}" for verb, text in VERBS.items()]
    return "\n".join(["usage: mosaic VERB [flags]", "", *lines, "", "'mosaic VERB --help' shows the flags of a verb."])
