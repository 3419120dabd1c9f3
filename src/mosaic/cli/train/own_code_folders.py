"""What `mosaic algos` and `mosaic envs` share: folders whose code may run, and copies of the code of runs."""

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, look, parser, refuse_remote
from mosaic.cli.runs.run_by_name import pick
from mosaic.cli.terminal.printing import print_json
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.files import policy_digest
from mosaic.spec.policy_facts import SUFFIX
from mosaic.spec.run_dir import Home
from mosaic.spec.run_record import RunRecord


def folder_of(verb: str, action: str, argv: Sequence[str]) -> tuple[Path, Allowed, bool]:
    """The folder that was typed, those that are allowed, and whether JSON was asked for."""
    words = parser(f"{verb} {action}", "Which folders' algorithms, environments and scripts may run.", json=True)
    words.add_argument("folder", type=Path, metavar="DIR", help="a folder of this machine")
    flags = words.parse_args(argv)
    # Which code may run is decided on the machine that runs it.
    refuse_remote(f"{verb} {action}")
    return flags.folder, Allowed(Home.resolve()), bool(flags.json)


def forbid(verb: str, what: str, argv: Sequence[str]) -> int:
    folder, allowed, as_json = folder_of(verb, "remove", argv)
    real = allowed.remove(folder, verb=verb)
    if as_json:
        print_json({"folder": str(real), "allowed": False})
    else:
        print(f"{real}: its {what} and scripts may run no more; nothing in it was deleted")
    return 0


def copy_words(verb: str, about: str, argv: Sequence[str]) -> argparse.Namespace:
    """Of `copy`: a run or a policy, and the folder that the copy goes to, which must be one whose code does not run."""
    words = parser(f"{verb} copy", about, json=True)
    words.add_argument("what", metavar="RUN|POLICY", help="a run of this home, or a *.cleanrl_model file")
    about_folder = "a folder that is not allowed, without files of these names; made if needed"
    words.add_argument("folder", type=Path, metavar="DIR", help=about_folder)
    words.add_argument("--version", default="", metavar="V", help="of a run that was resumed with changed code")
    flags = words.parse_args(argv)
    refuse_remote(f"{verb} copy")
    flags.folder = flags.folder.expanduser().absolute()
    if (allowed := Allowed(Home.resolve()).holding(flags.folder)) is not None:
        raise BadArguments(
            f"{flags.folder} lies in {allowed}, where code may run at once, and this is code to be read first;"
            " give a folder elsewhere, and allow that or move the files when you have read them"
        )
    return flags


def refuse_existing(folder: Path, names: Iterable[str]) -> None:
    for name in names:
        if (folder / name).exists():
            raise BadArguments(f"{folder / name} is there already; give another folder")


def run_or_policy(word: str) -> RunRecord | Path:
    path = Path(word).expanduser()
    if path.exists() or word.endswith(SUFFIX):
        return path
    with look() as client:
        return pick(client, word)


def carried_by(policy: Path, name: str) -> object:
    """What the metadata of a policy has under this name; None if nothing."""
    policy_digest.check_file(policy)
    text = policy_digest.metadata(policy.read_bytes()).get(name)
    return None if text is None else json.loads(text)
