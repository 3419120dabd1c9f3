"""A copy of the files that a run was trained by, with their digests: an algorithm of a user's, plans of a BDI agent.

A run keeps it in `source/`, a checkpoint in the member `source` of `state.json`, a policy in `source` of its metadata:

    {"file": "my_ppo.py", "package": "", "files": {"my_ppo.py": {"sha256": "…", "text": "…"}, "my_nets.py": {…}}}

`file` is the algorithm's own file, the others lie in its folder and were imported by it. `package` is the distribution
and version of an installed one. No Python here is ever imported: to run it, a user copies it into a folder that is
allowed (`mosaic algos copy`). Plans (`.asl`) are data, which the interpreter of BDI agents reads from here.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from mosaic.spec.files.shared_files import write_atomically

MAX_FILE_BYTES = 2 * 2**20
MAX_FILES = 100
CODE = ".py"
ENDINGS = (CODE, ".asl")
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


class BadSource(ValueError):
    """What should be a copy of sources is something else."""


@dataclass(frozen=True)
class SourceCopy:
    """The algorithm's file and those beside it that it imports."""

    file: str
    """Name of the algorithm's own file."""
    texts: Mapping[str, str]
    """By path, relative to the folder of that file; it is the first."""
    package: str = ""
    """Distribution and version that it was installed from; empty for a file of a folder."""

    @property
    def digests(self) -> dict[str, str]:
        return {name: digest_of(text) for name, text in self.texts.items()}

    @property
    def short(self) -> str:
        """Eight characters that change with any of the files."""
        listed = "".join(f"{name}:{digest}\n" for name, digest in sorted(self.digests.items()))
        return digest_of(listed)[:8]

    def to_json(self) -> dict[str, Any]:
        files = {name: {"sha256": digest_of(text), "text": text} for name, text in self.texts.items()}
        return {"file": self.file, "package": self.package, "files": files}

    def write(self, folder: Path) -> Path:
        """The files below a folder, which is made; the algorithm's own one."""
        for name, text in self.texts.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
        return folder / self.file


def from_json(data: object) -> SourceCopy:
    """What `to_json` made; BadSource for anything else: it may come from another machine."""
    try:
        content = cast("Mapping[str, Any]", data)
        file, package, files = content["file"], content["package"], content["files"]
        texts = {str(name): entry["text"] for name, entry in files.items()}
        if not isinstance(file, str) or not isinstance(package, str) or file not in texts:
            raise BadSource("it names no file of its own")
        if len(texts) > MAX_FILES:
            raise BadSource(f"it has {len(texts)} files")
        for name, text in texts.items():
            if not is_safe_name(name):
                raise BadSource(f"{name!r} is not a name of a source file")
            if not isinstance(text, str) or files[name]["sha256"] != digest_of(text):
                raise BadSource(f"{name} is not what its digest says")
    except (KeyError, TypeError, AttributeError) as error:
        raise BadSource(f"it is not a copy of sources: {error!r}") from error
    return SourceCopy(file, {file: texts[file], **texts}, package)


def is_safe_name(name: str) -> bool:
    """A relative path of a file of Python or of plans that leaves no folder."""
    parts = name.split("/")
    return name.endswith(ENDINGS) and len(name) < 300 and all(map(_PART.fullmatch, parts))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def on_disk(saved: SourceCopy, file: Path) -> SourceCopy:
    """The same files as they are now, with the algorithm's own one at `file`; those that are gone are left out."""
    texts: dict[str, str] = {}
    for name in saved.texts:
        path = file if name == saved.file else file.parent / name
        try:
            texts[name] = path.read_bytes().decode("utf-8", "replace")
        except OSError:
            continue
    return SourceCopy(saved.file, texts, saved.package)


def code_of(copy: SourceCopy) -> SourceCopy | None:
    """The Python files of a copy; None where the run was trained by code of ours."""
    texts = {name: text for name, text in copy.texts.items() if name.endswith(CODE)}
    return SourceCopy(copy.file, texts, copy.package) if copy.file in texts else None


def data_of(copy: SourceCopy) -> SourceCopy | None:
    """Its other files, the one that includes them first; None where it has none."""
    texts = {name: text for name, text in copy.texts.items() if not name.endswith(CODE)}
    return SourceCopy(next(iter(texts)), texts) if texts else None


def joined(code: SourceCopy | None, data: SourceCopy | None) -> SourceCopy | None:
    """What a user's algorithm that is trained by files of a user's is kept as."""
    if code is None or data is None:
        return code or data
    return SourceCopy(code.file, {**code.texts, **data.texts}, code.package)


def difference(saved: SourceCopy, now: SourceCopy) -> str:
    """Which files are others than those of the copy, in words; empty if none is."""
    before, after = saved.digests, now.digests
    changed = [name for name, digest in before.items() if after.get(name, digest) != digest]
    gone = [name for name in before if name not in after]
    new = [name for name in after if name not in before]
    said = [(changed, "changed"), (gone, "no longer used"), (new, "new")]
    return ", ".join(f"{' and '.join(names)} {word}" for names, word in said if names)
