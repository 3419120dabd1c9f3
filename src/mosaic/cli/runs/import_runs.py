"""`mosaic import DIR` or `runs.zip`: runs of other tools and of other homes, taken into the list of runs."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from mosaic.cli.daemon.connection import BadArguments, connect, parser, refuse_remote
from mosaic.cli.runs.run_by_name import shown_id
from mosaic.cli.terminal.printing import clean, note, paint, print_json, say
from mosaic.cli.terminal.readable import count, plural
from mosaic.errors import HomeUnusable, MosaicError
from mosaic.intake import exported_runs, write_run, zipped_runs
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
UNPACKED = "unpacked"
"""Folder of an import in which a run of a zip file lies for a moment."""


@dataclass(frozen=True)
class Intake:
    """How runs are taken in."""

    home: Home
    known: MutableMapping[str, str]
    """Identity of each run that is here, and its id."""
    dry: bool
    as_json: bool


def main(argv: Sequence[str]) -> int:
    about = (
        "Import runs of other tools: CleanRL's runs/, Stable-Baselines3, TensorBoard and W&B folders; and runs of"
        " another home: a zip file or a folder that 'mosaic export' made."
    )
    words = parser("import", about, json=True)
    help_text = "a folder, searched with all folders below it; or a zip file of 'mosaic export'"
    words.add_argument("place", type=Path, metavar="DIR", help=help_text)
    words.add_argument("--dry-run", action="store_true", help="list what would be imported, and import nothing")
    flags = words.parse_args(argv)
    refuse_remote("import")
    home, place = Home.resolve(), _checked(flags.place)
    with write_run.one_at_a_time(home):
        intake = Intake(home, write_run.known_runs(home), dry=flags.dry_run, as_json=flags.json)
        results = list(_take_in(intake, place) if place.is_dir() else _take_in_zip(intake, place))
    if not results:
        raise BadArguments(f"{place} {NOTHING}")
    new = [run_id for what, run_id in results if what == "imported"]
    if new:
        with connect() as client:
            _wait_until_listed(client, new)
    totals = Counter(what for what, _ in results)
    if not flags.json:
        wording = {"imported": "imported", "would": "would be imported", "known": "already here", "skipped": "skipped"}
        note(", ".join(f"{totals[what]} {text}" for what, text in wording.items() if totals[what]))
    return 1 if totals["skipped"] == len(results) else 0


def _checked(place: Path) -> Path:
    path = place.expanduser().absolute()
    if path.is_file():
        if path.suffix.lower() != zipped_runs.SUFFIX:
            raise BadArguments(f"{place} is neither a folder nor a zip file of 'mosaic export'")
        return path
    if not path.is_dir():
        raise BadArguments(f"{place} is not a folder, nor a zip file")
    if path.resolve().is_relative_to(Home.resolve().trainer.resolve()):
        raise BadArguments(f"{place} belongs to this home, whose runs are listed already")
    return path


def _take_in(intake: Intake, folder: Path) -> Iterator[tuple[str, str]]:
    """What became of each folder: imported, would (be), known or skipped; and the run."""
    candidates = list(search(folder))
    groups = _groups(candidates)
    names = {candidate.path.name for candidate in candidates}
    for candidate in candidates:
        path = candidate.path

        def read(candidate: Candidate = candidate) -> Found:
            found = candidate.read()
            if found.tool == "Weights & Biases" and found.label in names:
                # `--track` writes both; the one under runs/ has every number.
                raise NotImportable(f"it is the same run as the folder {found.label}, which has more of it")
            return found

        yield _take_one(intake, path, candidate.identity, read, group=groups.get(path, ""))


def _take_in_zip(intake: Intake, path: Path) -> Iterator[tuple[str, str]]:
    """The same of each run in a zip file; only one of them is unpacked at a time."""
    room = shutil.disk_usage(intake.home.trainer).free
    folder = intake.home.imports / UNPACKED
    with zipped_runs.opened(path, room=room) as zipped:
        for run_id in sorted(zipped.entries):

            def read(run_id: str = run_id) -> Found:
                try:
                    made = zipped.unpack(run_id, folder)
                except OSError as error:
                    raise HomeUnusable(f"{path} could not be unpacked: {error}; nothing is left of it") from error
                found = exported_runs.read(made)
                if found.identity != run_id:
                    raise NotImportable(f"its run.json says that it is run {found.identity}")
                remarks = [remark.replace(f"{made}/", "") for remark in found.remarks]
                return replace(found, path=path / run_id, is_unpacked=True, remarks=remarks)

            try:
                yield _take_one(intake, path / run_id, lambda run_id=run_id: run_id, read)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def _take_one(
    intake: Intake, path: Path, identity_of: Callable[[], str], read: Callable[[], Found], *, group: str = ""
) -> tuple[str, str]:
    try:
        identity = identity_of()
        if identity in intake.known:
            return _tell(path, "known", intake.known[identity], "", intake.as_json)
        found = read()
        run_id = "" if intake.dry else write_run.write(intake.home, found, group=group)
    except HomeUnusable:
        raise
    except MosaicError as error:
        return _tell(path, "skipped", "", str(error), intake.as_json)
    intake.known[identity] = run_id
    return _tell(found, "would" if intake.dry else "imported", run_id, "", intake.as_json)


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
