"""`mosaic export RUN… OUT`: runs as a zip file, a folder or a page to look at, also from another machine."""

import argparse
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Protocol

from mosaic.cli import DAMAGED
from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.runs.run_by_name import pick_all
from mosaic.cli.terminal.printing import note, print_json
from mosaic.cli.terminal.readable import plural, size
from mosaic.errors import CheckpointError, HomeUnusable, PolicyError, UnsafePath
from mosaic.rpc.client import Client
from mosaic.spec.files import checkpoint_files, policy_digest
from mosaic.spec.files.digests import FileDigest, Tally
from mosaic.spec.policy_facts import SUFFIX
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

Source = tuple[str, Iterator[bytes]]
"""A name in the export, and its content in pieces."""
PAGE = ".html"


class Files(Protocol):
    """What a daemon tells of the files of its runs."""

    def files(self, run_id: str) -> dict[str, int]: ...

    def read_artifact(self, run_id: str, path: str) -> Iterator[bytes]: ...


def main(argv: Sequence[str]) -> int:
    about = "Copy runs into OUT.zip or a new folder OUT, which another home imports; or show them on a page, OUT.html."
    words = parser("export", about, json=True)
    help_text = "id, its beginning or end, a label, @last or @last-1"
    words.add_argument("runs", metavar="RUN", nargs="*", help=help_text)
    words.add_argument("out", type=Path, metavar="OUT", help="name.zip, name.html, or a folder to be made")
    words.add_argument("--filter", metavar="EXPR", help="all runs that fit, in the place of RUN (see 'mosaic runs')")
    words.add_argument("--view", metavar="NAME", help="the runs of a saved view, in the place of RUN ('mosaic views')")
    words.add_argument("--title", default="", metavar="TEXT", help="what stands above the page")
    words.add_argument(
        "--metrics", default="", metavar="A,B", help="metrics that the page draws (default: what runs share)"
    )
    words.add_argument("--replace", action="store_true", help="write over a zip file or a page that is there")
    flags = words.parse_args(argv)
    out: Path = flags.out
    if sum((bool(flags.runs), flags.filter is not None, flags.view is not None)) != 1:
        words.error("RUN, or one of --filter EXPR and --view NAME, says which runs; give one of them")
    if out.suffix != PAGE and (flags.title or flags.metrics):
        words.error("--title and --metrics are for a page: name OUT.html")
    if out.exists() and not (flags.replace and out.is_file() and out.suffix in (".zip", PAGE)):
        raise BadArguments(f"{out} exists already; choose another name")
    if not out.absolute().parent.is_dir():
        raise BadArguments(f"{out.absolute().parent} is not a folder; make it first")
    with connect() as client:
        runs, title = _chosen(client, flags)
        if not runs:
            raise BadArguments("no run matches; nothing was exported")
        if out.suffix == PAGE:
            # Here: it brings numpy, which a copy need not wait for.
            from mosaic.cli.sharing import shared_page

            tags = [tag for tag in str(flags.metrics).split(",") if tag]
            return shared_page.write(client, runs, out, title=flags.title or title, tags=tags, json=flags.json)
        return _copied(client, runs, out, json=flags.json)


def _chosen(client: Client, flags: argparse.Namespace) -> tuple[list[RunRecord], str]:
    """The runs, and how they are called together."""
    if flags.runs:
        return pick_all(client, flags.runs), ""
    if flags.filter is not None:
        from mosaic.cli.runs import runs_table

        return runs_table.matching(client, flags.filter, "export"), flags.filter
    from mosaic.cli.runs import views

    return views.runs_of(client, flags.view), flags.view


def _copied(client: Client, runs: Sequence[RunRecord], out: Path, *, json: bool) -> int:
    watches = {run.run_id: CopiedDigests() for run in runs}
    # In a zip file each run has a folder of its own; a folder of one run is the run.
    in_folders = out.suffix == ".zip" or len(runs) > 1

    def sources() -> Iterator[Source]:
        for run in runs:
            before = f"{run.run_id}/" if in_folders else ""
            for name, pieces in watches[run.run_id].over(sources_of(client, run)):
                yield before + name, pieces

    try:
        names = _write(out, sources())
    except OSError as error:
        raise HomeUnusable(f"{out} could not be written: {error.strerror}; nothing of it is left") from error
    for run in runs:
        if run.state not in TERMINAL:
            note(f"run {run.run_id} is {run.state}: this is a copy of how far it was, which no home imports")
    total = (
        sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.is_dir() else out.stat().st_size
    )
    damaged = [problem for watch in watches.values() for problem in watch.damaged()]
    if json:
        ids = [run.run_id for run in runs]
        found = {"run_id": ids[0], "run_ids": ids, "out": str(out), "files": len(names), "bytes": total}
        print_json({**found, "damaged": damaged})
    else:
        whose = f"{plural(len(runs), 'run')}, " if len(runs) > 1 else ""
        print(f"{out}: {whose}{plural(len(names), 'file')}, {size(total)}")
    for problem in damaged:
        note(f"damaged in the run, and so in its copy: {problem}")
    return DAMAGED if damaged else 0


def sources_of(client: Files, run: RunRecord) -> Iterator[Source]:
    for name in client.files(run.run_id):
        # The names come from the daemon, which may be another machine's: none may be written beside OUT.
        if name.startswith("/") or ".." in name.split("/"):
            raise UnsafePath(f"the daemon lists '{name}', which is not a name of a file in a run; nothing was exported")
        pieces = client.read_artifact(run.run_id, name)
        try:
            first = next(pieces, b"")
        except UnsafePath:
            # A run that goes on removes its older checkpoints. A file that is there and cannot be read is an error.
            if name in client.files(run.run_id):
                raise
            continue
        yield name, chain([first], pieces)


def _write(out: Path, sources: Iterator[Source]) -> list[str]:
    """Under a temporary name until it is whole."""
    folder = out.absolute().parent
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=folder))
    try:
        names = _zip(part / "out", sources) if out.suffix == ".zip" else _copy(part / "out", sources)
        os.replace(part / "out", out)  # noqa: PTH105
        return names
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _copy(folder: Path, sources: Iterator[Source]) -> list[str]:
    names: list[str] = []
    folder.mkdir()
    for name, pieces in sources:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            file.writelines(pieces)
        names.append(name)
    return names


def _zip(path: Path, sources: Iterator[Source]) -> list[str]:
    names: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in sources:
            with archive.open(name, "w", force_zip64=True) as file:
                for piece in pieces:
                    file.write(piece)
            names.append(name)
    return names


class CopiedDigests:
    """Looks on while the files of a run pass."""

    def __init__(self) -> None:
        self._copied: dict[str, FileDigest] = {}
        self._texts: dict[str, bytes] = {}
        """Whole, because they carry digests."""

    def over(self, sources: Iterator[tuple[str, Iterator[bytes]]]) -> Iterator[tuple[str, Iterator[bytes]]]:
        for name, pieces in sources:
            yield name, self._watched(name, pieces) if _has_digest(name) else pieces

    def _watched(self, name: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
        tally, kept = Tally(), list[bytes]()
        whole = PurePosixPath(name).name == checkpoint_files.DOCUMENT or name.endswith(SUFFIX)
        for piece in pieces:
            tally.add(memoryview(piece))
            if whole:
                kept.append(piece)
            yield piece
        self._copied[name] = tally.digest
        if whole:
            self._texts[name] = b"".join(kept)

    def damaged(self) -> list[str]:
        """What is not what was written; once all have passed."""
        problems: list[str] = []
        for name, text in self._texts.items():
            try:
                if name.endswith(SUFFIX):
                    policy_digest.refuse_damaged(text, what=name)
                else:
                    self._check_checkpoint(PurePosixPath(name).parent, text)
            except (CheckpointError, PolicyError) as error:
                problems.append(str(error).partition(";")[0])
        return problems

    def _check_checkpoint(self, folder: PurePosixPath, text: bytes) -> None:
        document = checkpoint_files.decode(text, Path(folder))
        for name, digest in (checkpoint_files.listed(document, Path(folder)) or {}).items():
            if self._copied.get(str(folder / name)) != digest:
                raise CheckpointError(f"{folder / name} is damaged: it is not what was written")


def _has_digest(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name.endswith(SUFFIX) or (len(parts) == 3 and parts[0] == "checkpoints")
