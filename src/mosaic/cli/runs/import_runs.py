"""`mosaic import DIR`: runs of CleanRL, Stable-Baselines3 and Weights & Biases, taken into the list of runs."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, parser, refuse_remote
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal.printing import clean, note, paint, print_json, say
from mosaic.cli.terminal.readable import count, plural
from mosaic.errors import HomeUnusable, MosaicError
from mosaic.intake import write_run
from mosaic.intake.found import Found, NotImportable, name_of
from mosaic.intake.search import Candidate, search
from mosaic.rpc.client import Client
from mosaic.spec import ulid
from mosaic.spec.run_dir import Home

LISTED_S = 60.0
NOTHING = (
    "holds no TensorBoard files, no monitor.csv of Stable-Baselines3, no folder of a W&B run"
    " and no run of MOSAIC; name a folder that does"
)


def main(argv: Sequence[str]) -> int:
    about = (
        "Import runs of other tools: CleanRL's runs/, Stable-Baselines3, TensorBoard and W&B folders, copies of ours."
    )
    words = parser("import", about, json=True)
    words.add_argument("folder", type=Path, metavar="DIR", help="searched with all folders below it")
    words.add_argument("--dry-run", action="store_true", help="list what would be imported, and import nothing")
    flags = words.parse_args(argv)
    refuse_remote("import")
    home, folder = Home.resolve(), _checked(flags.folder)
    with write_run.one_at_a_time(home):
        results = list(_take_in(home, folder, dry=flags.dry_run, as_json=flags.json))
    if not results:
        raise BadArguments(f"{folder} {NOTHING}")
    new = [run_id for what, run_id in results if what == "imported"]
    if new:
        with connect() as client:
            _wait_until_listed(client, new)
    totals = Counter(what for what, _ in results)
    if not flags.json:
        wording = {"imported": "imported", "would": "would be imported", "known": "already here", "skipped": "skipped"}
        note(", ".join(f"{totals[what]} {text}" for what, text in wording.items() if totals[what]))
    return 1 if totals["skipped"] == len(results) else 0


def _checked(folder: Path) -> Path:
    path = folder.expanduser().absolute()
    if not path.is_dir():
        raise BadArguments(f"{folder} is not a folder")
    if path.resolve().is_relative_to(Home.resolve().trainer.resolve()):
        raise BadArguments(f"{folder} belongs to this home, whose runs are listed already")
    return path


def _take_in(home: Home, folder: Path, *, dry: bool, as_json: bool) -> Iterator[tuple[str, str]]:
    """What became of each folder: imported, would (be), known or skipped; and the run."""
    known = write_run.known_runs(home)
    candidates = list(search(folder))
    groups = _groups(candidates)
    names = {candidate.path.name for candidate in candidates}
    for candidate in candidates:
        path = candidate.path
        try:
            identity = candidate.identity()
            if identity in known:
                yield _tell(path, "known", known[identity], "", as_json)
                continue
            found = candidate.read()
            if found.tool == "Weights & Biases" and found.label in names:
                # `--track` writes both; the one under runs/ has every number.
                raise NotImportable(f"it is the same run as the folder {found.label}, which has more of it")
            run_id = "" if dry else write_run.write(home, found, group=groups.get(path, ""))
        except HomeUnusable:
            raise
        except MosaicError as error:
            yield _tell(path, "skipped", "", str(error), as_json)
        else:
            known[identity] = run_id
            yield _tell(found, "would" if dry else "imported", run_id, "", as_json)


def _tell(found: Found | Path, what: str, run_id: str, reason: str, as_json: bool) -> tuple[str, str]:
    path = found.path if isinstance(found, Found) else found
    if as_json:
        more = write_run.as_json(found) if isinstance(found, Found) else {"path": str(path)}
        print_json({"result": what, **more, "run_id": run_id, "reason": reason})
    elif what == "skipped":
        note(f"{paint('skipped', 'yellow')}  {path}: {clean(reason)}")
    elif isinstance(found, Found):
        for remark in found.remarks:
            note(f"{paint('partly', 'yellow')}   {path}: {clean(remark)}")
        steps = f"{count(found.last_step)} steps" if found.moments else ""
        say("  ".join(part for part in (shown_id(run_id), clean(found.label), found.tool, steps) if part))
    else:
        note(f"already here as {shown_id(run_id)}: {path}")
    return what, run_id


def _groups(candidates: Sequence[Candidate]) -> dict[Path, str]:
    """CleanRL's runs that differ only by their seeds belong together, as those of one submit over seeds do."""
    alike: dict[tuple[str, str, str], dict[int, Path]] = {}
    for candidate in candidates:
        if name := name_of(candidate.path.name):
            # Of two with the same seed the later one counts.
            alike.setdefault((str(candidate.path.parent), name.env_id, name.algo), {})[name.seed] = candidate.path
    groups: dict[Path, str] = {}
    for key, members in alike.items():
        if len(members) > 1:
            digest = sha256("\0".join(key).encode()).digest()
            # The first bits of a ULID are a time, which has an end.
            groups |= dict.fromkeys(members.values(), ulid.from_bytes(bytes([0]) + digest[1:16]))
    return groups


def _wait_until_listed(client: Client, run_ids: Sequence[str]) -> None:
    """The daemon finds new directories by itself, a second or so later."""
    deadline = time.monotonic() + LISTED_S
    missing = set(run_ids)
    while missing := missing - {run.run_id for run in client.list()}:
        if time.monotonic() > deadline:
            note(f"{plural(len(missing), 'run')} not listed yet; 'mosaic daemon logs' may say why")
            return
        time.sleep(0.1)
