"""Looking through what a run left behind for files that are not what was written: checkpoints, policies, documents."""

from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from mosaic import config
from mosaic.errors import CheckpointError, MosaicError, PolicyError
from mosaic.spec import run_record
from mosaic.spec.files import checkpoint_files, policy_digest
from mosaic.spec.files.digests import FileDigest
from mosaic.spec.files.files_of_run import open_regular
from mosaic.spec.manifest import Manifest
from mosaic.spec.policy_facts import SUFFIX

Result: TypeAlias = Literal["whole", "no digest", "damaged"]
Seen: TypeAlias = MutableMapping[tuple[int, int], FileDigest]
"""Files that were read already, by device and inode: checkpoints share pages as hard links."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One checkpoint, policy or document."""

    what: Literal["checkpoint", "policy", "document"]
    path: Path
    result: Result
    bytes: int = 0
    """Read or shared."""
    problem: str = ""
    advice: str = ""


def look_through(folder: Path, seen: Seen) -> Iterator[Finding]:
    """Everything in a run directory, or in a copy of one, that can be compared with what was written."""
    yield from _documents(folder)
    for checkpoint in sorted(folder.glob("checkpoints/step-*")):
        if checkpoint_files.is_checkpoint(checkpoint) and (finding := look_at_checkpoint(checkpoint, seen)):
            yield finding
    for policy in sorted(folder.glob(f"runs/*/*{SUFFIX}")):
        if finding := look_at_policy(policy):
            yield finding


def look_at_checkpoint(folder: Path, seen: Seen) -> Finding | None:
    """None if a living worker has removed it meanwhile."""
    try:
        size = sum(path.lstat().st_size for path in folder.iterdir())
        result: Result = "whole" if checkpoint_files.check(folder, seen=seen) else "no digest"
        return Finding(what="checkpoint", path=folder, result=result, bytes=size)
    except (CheckpointError, FileNotFoundError) as error:
        if not folder.exists():
            return None
        problem = str(error).partition(";")[0]
        advice = "resume the run: it goes on from the newest whole checkpoint; or delete this folder"
        return Finding(what="checkpoint", path=folder, result="damaged", problem=problem, advice=advice)


def look_at_policy(path: Path) -> Finding | None:
    """None for the file of another tool, which has no digest of ours, and for one that is gone."""
    try:
        with open_regular(path) as file:
            data = file.read()
        if not policy_digest.is_ours(data):
            return None
        result: Result = "whole" if policy_digest.check(data, what=str(path)) else "no digest"
        return Finding(what="policy", path=path, result=result, bytes=len(data))
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = f"{path} cannot be read: {error.strerror or error}"
    except PolicyError as error:
        problem = str(error).partition(";")[0]
    advice = "resume the run: it writes the policy again from its newest whole checkpoint"
    return Finding(what="policy", path=path, result="damaged", problem=problem, advice=advice)


def _documents(folder: Path) -> Iterator[Finding]:
    """They are small and have no digest: whether they can be read is all that can be told."""
    readers: dict[str, Callable[[Path], object]] = {
        "run.json": run_record.read_file,
        "config.json": lambda path: config.loads(path.read_bytes(), what=str(path)),
        "analytics.json": lambda path: config.from_json_text(Manifest, path.read_bytes(), what=str(path)),
    }
    for name, read in readers.items():
        path = folder / name
        try:
            read(path)
        except FileNotFoundError:
            continue
        except (MosaicError, OSError, ValueError, RecursionError) as error:
            problem = f"{path} cannot be read: {' '.join(str(error).split())}"
            advice = "take it from a copy ('mosaic export'), if there is one"
            yield Finding(what="document", path=path, result="damaged", problem=problem, advice=advice)
