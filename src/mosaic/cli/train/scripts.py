"""`mosaic scripts [add|remove DIR]`: folders whose scripts may be trained, and what is in them."""

from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import parser, refuse_remote
from mosaic.cli.terminal.printing import print_json, table
from mosaic.scripts.allowed_folders import Allowed
from mosaic.spec.run_dir import Home


def main(argv: Sequence[str]) -> int:
    words = parser("scripts", "Folders whose scripts may be trained, and the scripts in them.", json=True)
    words.add_argument("action", nargs="?", choices=("list", "add", "remove"), default="list", help="list by default")
    words.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="a folder of this machine")
    flags = words.parse_args(argv)
    # Which code may run is decided on the machine that runs it.
    refuse_remote("scripts")
    allowed = Allowed(Home.resolve())
    if flags.action == "list":
        return _list(allowed, flags.folder, json=flags.json)
    if flags.folder is None:
        words.error(f"which folder? mosaic scripts {flags.action} DIR")
    folder = allowed.add(flags.folder) if flags.action == "add" else allowed.remove(flags.folder)
    if flags.json:
        print_json({"folder": str(folder), "allowed": flags.action == "add"})
    elif flags.action == "add":
        count = sum(one.path.is_relative_to(folder) for one in allowed.scripts())
        print(f"{folder}: its scripts may run, {count} of them are in the list of 'mosaic scripts'")
    else:
        print(f"{folder}: its scripts may no longer run")
    return 0


def _list(allowed: Allowed, folder: Path | None, *, json: bool) -> int:
    inside = None if folder is None else folder.resolve()
    found = [one for one in allowed.scripts() if inside is None or one.path.is_relative_to(inside)]
    if json:
        for one in found:
            print_json({"path": str(one.path), "flags": one.style, "gymnasium": one.idioms, "summary": one.summary})
        return 0
    folders = allowed.folders()
    if not folders:
        print("no folder is allowed yet; mosaic scripts add DIR")
        return 0
    for one in folders:
        print(one)
    if found:
        rows = [(str(one.path), one.style, one.idioms) for one in found]
        print()
        print("\n".join(table(("script", "flags", "gymnasium"), rows)))
    return 0
