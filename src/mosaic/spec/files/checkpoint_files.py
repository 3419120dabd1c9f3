"""The files of a checkpoint, `checkpoints/step-<n>/`, compared with their digests (docs/protocols/checkpoint.md).

`state.json` carries its own digest and the size and digest of every other file (`mosaic.spec.files.digests`).
Checkpoints of earlier versions carry neither; what is damaged in them cannot be noticed here.
"""

import json
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mosaic.errors import CheckpointError
from mosaic.spec.files import digests
from mosaic.spec.files.digests import FileDigest
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.run_dir import RunDir

FORMAT = "mosaic-checkpoint-1"
DOCUMENT = "state.json"
ARRAYS = "arrays.safetensors"
FILES = "files"
"""The member of `state.json` that lists the other files."""
EARLIER = frozenset({"format", "algo", "args", "global_step", "mean_return", "state"})
"""All that `state.json` held before it had digests."""
ADVICE = "resume from an older checkpoint; 'mosaic verify' says which are whole"
NO_DIGEST = "was written by an earlier version, without digests: damage in it would not be noticed"

_NAME = re.compile(r"step-(0|[1-9][0-9]*)")


def step_of(folder: Path) -> int:
    """From its name."""
    name = _NAME.fullmatch(folder.name)
    if name is None:
        raise CheckpointError(f"{folder} is not a checkpoint: these are folders named step-<number>")
    return int(name[1])


def is_checkpoint(folder: Path) -> bool:
    """By its name; what is under way has another one."""
    return _NAME.fullmatch(folder.name) is not None


def steps(run_dir: RunDir) -> list[int]:
    """Steps of the complete checkpoints, oldest first."""
    names = (_NAME.fullmatch(folder.name) for folder in run_dir.checkpoints.glob("step-*"))
    return sorted(int(name[1]) for name in names if name)


def encode(document: Mapping[str, Any], files: Mapping[str, FileDigest]) -> bytes:
    """`state.json`: the document, the list of the other files, and the digest of it all."""
    listed = {name: vars(digest) for name, digest in files.items()}
    return digests.seal(json.dumps({**document, FILES: listed, digests.MEMBER: digests.EMPTY}).encode())


def read(folder: Path) -> dict[str, Any]:
    """`state.json`, as it was written, or CheckpointError."""
    try:
        with open_regular(folder / DOCUMENT) as file:
            text = file.read()
    except OSError as error:
        raise CheckpointError(f"{folder} is not a checkpoint or is damaged: {error}; {ADVICE}") from error
    return decode(text, folder)


def decode(text: bytes, folder: Path) -> dict[str, Any]:
    """The content of the `state.json` of a folder."""
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{folder} is not a checkpoint or is damaged: {error}; {ADVICE}") from error
    if not isinstance(document, dict) or cast("dict[str, Any]", document).get("format") != FORMAT:
        raise CheckpointError(f"{folder} is not a checkpoint of this version ({FORMAT}); {ADVICE}")
    known = cast("dict[str, Any]", document)
    whole = digests.is_whole(text) if digests.MEMBER in known else None
    # A digest that was damaged into something else must not make a checkpoint of an earlier version of this one.
    if whole is False or (whole is None and not known.keys() <= EARLIER):
        raise CheckpointError(f"{folder / DOCUMENT} is damaged: it is not what was written (SHA-256 differs); {ADVICE}")
    return known


def listed(document: Mapping[str, Any], folder: Path) -> dict[str, FileDigest] | None:
    """The other files of a checkpoint by name; None for one of an earlier version."""
    if FILES not in document:
        return None
    try:
        found = {name: FileDigest(**entry) for name, entry in document[FILES].items()}
    except (TypeError, AttributeError) as error:
        raise CheckpointError(f"{folder / DOCUMENT} is damaged: its list of files is none; {ADVICE}") from error
    for name in found:
        if Path(name).name != name:
            raise CheckpointError(f"{folder / DOCUMENT} names '{name}', which is not a file of a checkpoint; {ADVICE}")
    return found


def check(
    folder: Path, *, quick: bool = False, seen: MutableMapping[tuple[int, int], FileDigest] | None = None
) -> bool:
    """CheckpointError if any file is damaged; False if there are no digests to tell. `quick` looks at sizes only.

    Checkpoints share files as hard links; with `seen` such a file is read once.
    """
    files = listed(read(folder), folder)
    for name, digest in (files or {}).items():
        path = folder / name
        if problem := _difference(path, digest, quick=quick, seen=seen):
            raise CheckpointError(f"{path} is damaged: {problem}; {ADVICE}")
    return files is not None


@dataclass(frozen=True)
class Choice:
    """The newest whole checkpoint of a run."""

    folder: Path | None
    """None if the run has no checkpoint at all."""
    damaged: tuple[str, ...] = ()
    """What is wrong with each newer one."""
    has_digests: bool = True

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a user should know of it."""
        if self.folder is None:
            return ()
        instead = [
            f"{problem.partition(';')[0]}; the run goes on from {self.folder.name} instead" for problem in self.damaged
        ]
        return (*instead, *(() if self.has_digests else (f"{self.folder} {NO_DIGEST}",)))


def choose(run_dir: RunDir, *, quick: bool = False) -> Choice:
    """The newest whole checkpoint; CheckpointError if there are some and all are damaged."""
    damaged: list[str] = []
    for step in reversed(steps(run_dir)):
        folder = run_dir.checkpoint(step)
        try:
            return Choice(folder, tuple(damaged), check(folder, quick=quick))
        except CheckpointError as error:
            damaged.append(str(error))
    if damaged:
        listed = "\n  ".join(problem.partition(";")[0] for problem in damaged)
        raise CheckpointError(f"run {run_dir.run_id} has no whole checkpoint; submit it again:\n  {listed}")
    return Choice(None)


def _difference(
    path: Path, listed: FileDigest, *, quick: bool, seen: MutableMapping[tuple[int, int], FileDigest] | None
) -> str:
    problem = digests.difference(path, listed, quick=quick or seen is not None)
    if problem or quick or seen is None:
        return problem
    found = path.lstat()
    key = found.st_dev, found.st_ino
    if seen.get(key) == listed:
        return ""
    problem = digests.difference(path, listed)
    if not problem:
        seen[key] = listed
    return problem
