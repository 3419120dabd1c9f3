"""Digests of the checkpoints and policies of a run, compared while they are copied: nothing is read twice."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mosaic.errors import CheckpointError, PolicyError
from mosaic.spec import checkpoint_files, policy_digest
from mosaic.spec.digests import FileDigest, Tally
from mosaic.spec.policy_facts import SUFFIX


class CopyWatch:
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
