"""How a config names an environment or a wrapper of a user's: the file and a name in it, `my_env.py:MyEnv`.

The file stands without its folder: it is looked for in the folders that are allowed (`mosaic.scripts.own_code_files`),
so that a policy keeps its meaning where the folder has another place. The name is that of a class, of a function that
makes an environment, or an id that the file registers.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple, cast

from mosaic.spec.files import source_copy
from mosaic.spec.files.source_copy import SourceCopy

_REFERENCE = re.compile(r"[^:/\\]+\.py:[A-Za-z_][\w.-]*")
_TYPED = re.compile(r"(?P<file>.+\.py):(?P<name>[A-Za-z_][\w.-]*)")


class Typed(NamedTuple):
    """What a user has typed: a file that may have a folder before it."""

    file: str
    name: str


def is_reference(word: str) -> bool:
    """Whether a config may say this; a path has a folder, and is none."""
    return _REFERENCE.fullmatch(word) is not None


def typed(word: str) -> Typed | None:
    """`./folder/my_env.py:MyEnv` in its parts; None for what names no file."""
    found = _TYPED.fullmatch(word)
    return None if found is None else Typed(found["file"], found["name"])


def reference(file_name: str, name: str) -> str:
    return f"{file_name}:{name}"


def to_json(sources: Mapping[str, SourceCopy]) -> dict[str, object]:
    """Copies of the code behind references, as a checkpoint and a policy carry them."""
    return {name: copy.to_json() for name, copy in sources.items()}


def from_json(data: object) -> dict[str, SourceCopy]:
    """What `to_json` made; BadSource for anything else."""
    if not isinstance(data, dict):
        raise source_copy.BadSource("it is not a table of copies")
    return {str(name): source_copy.from_json(copy) for name, copy in cast("dict[object, object]", data).items()}
