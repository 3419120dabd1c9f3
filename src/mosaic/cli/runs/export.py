"""`mosaic export RUN OUT`: a whole run as a zip file or a folder, from the daemon's machine or from afar."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from mosaic.cli import DAMAGED
from mosaic.cli.daemon.connection import BadArguments, connect, parser
from mosaic.cli.runs.run_by_name import pick
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
"""A name in the run directory, and its content in pieces."""


def main(argv: Sequence[str]) -> int:
    words = parser("export", "Copy a run into OUT.zip or a new folder OUT.", json=True, runs="RUN")
    words.add_argument("out", type=Path, metavar="OUT", help="name.zip, or a folder to be made")
    flags = words.parse_args(argv)
    out: Path = flags.out
    if out.exists():
        raise BadArguments(f"{out} exists already; choose another name")
    if not out.absolute().parent.is_dir():
        raise BadArguments(f"{out.absolute().parent} is not a folder; make it first")
    with connect() as client:
        run = pick(client, flags.run)
        try:
            watch = CopiedDigests()
            names = _write(out, run.run_id, watch.over(_sources(client, run)))
        except OSError as error:
            raise HomeUnusable(f"{out} could not be written: {error.strerror}; nothing of it is left") from error
    if run.state not in TERMINAL:
        note(f"run {run.run_id} is {run.state}: this is a copy of how far it was")
    total = (
        sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) if out.is_dir() else out.stat().st_size
    )
    damaged = watch.damaged()
    if flags.json:
        print_json({"run_id": run.run_id, "out": str(out), "files": len(names), "bytes": total, "damaged": damaged})
    else:
        print(f"{out}: {plural(len(names), 'file')}, {size(total)}")
    for problem in damaged:
        note(f"damaged in the run, and so in its copy: {problem}")
    return DAMAGED if damaged else 0


def _sources(client: Client, run: RunRecord) -> Iterator[Source]:
    for name in client.files(run.run_id):
        # The names come from the daemon, which may be another machine's: none may be written beside OUT.
        if name.startswith("/") or ".." in name.split("/"):
            raise UnsafePath(f"the daemon lists '{name}', which is not a name of a file in a run; nothing was exported")
        yield name, client.read_artifact(run.run_id, name)


def _write(out: Path, run_id: str, sources: Iterator[Source]) -> list[str]:
    """Under a temporary name until it is whole."""
    folder = out.absolute().parent
    part = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=folder))
    try:
        names = _zip(part / "out", run_id, sources) if out.suffix == ".zip" else _copy(part / "out", sources)
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


def _zip(path: Path, run_id: str, sources: Iterator[Source]) -> list[str]:
    names: list[str] = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, pieces in sources:
            with archive.open(f"{run_id}/{name}", "w", force_zip64=True) as file:
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
