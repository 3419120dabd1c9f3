"""The plans of a run as they were when it began: a copy of the file and of those that it includes.

An agent of a training run, and of its policy, reasons by the copy, so neither a changed file nor a missing one changes
what the run does. Plans are data for the interpreter, which gives them no file, no network and no process; so a copy
is read and used, unlike one of Python code.
"""

import logging
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import agentspeak
from agentspeak import lexer

from cleanrl_worker.sdk.bdi import plan_file
from cleanrl_worker.sdk.bdi.plan_file import Program
from mosaic.errors import ActorFailed
from mosaic.spec.files.source_copy import MAX_FILE_BYTES, MAX_FILES, SourceCopy, data_of, is_safe_name

_STRANGE = re.compile(r"[^A-Za-z0-9_.-]")


def copy_of(plans: Program) -> SourceCopy:
    """The text of the plans and of all that they include; ActorFailed for an include that lies elsewhere."""
    name = _STRANGE.sub("_", f"{plans.path.stem}.asl").lstrip(".-") or "plans.asl"
    texts = {name: plans.text}
    open_names = [(PurePosixPath(name), plans.text)]
    while open_names:
        place, text = open_names.pop()
        for included in _includes(text):
            inner = _inside(place.parent / included, plans.path)
            if inner not in texts:
                texts[inner] = _text_of(plans.path.parent / inner)
                open_names.append((PurePosixPath(inner), texts[inner]))
        if len(texts) > MAX_FILES:
            raise ActorFailed(f"{plans.path} includes more than {MAX_FILES} files")
    return SourceCopy(name, texts)


def program_of(copy: SourceCopy) -> Program:
    """The plans of a copy, parsed."""
    plans = data_of(copy)
    if plans is None:
        raise ActorFailed(f"the copy of {copy.file} has no plans with it")
    with tempfile.TemporaryDirectory(prefix="mosaic-plans-") as folder:
        return plan_file.read(plans.write(Path(folder)))


def _includes(text: str) -> Iterator[str]:
    """The names in `{ include("…") }`; the parser has read the file already, so its words are as they should be."""
    log = agentspeak.Log(logging.getLogger("agentspeak.parser"))
    words = [token.lexeme for token in lexer.tokenize(agentspeak.StringSource("plans", text), log)]
    for before, word, bracket, name in zip(words, words[1:], words[2:], words[3:], strict=False):
        if (before, word, bracket) == ("{", "include", "("):
            yield str(agentspeak.parse_string(name))


def _inside(path: PurePosixPath, plans: Path) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    inner = "/".join(parts)
    if path.is_absolute() or not is_safe_name(inner):
        raise ActorFailed(
            f"{plans} includes '{path}', of which a run can keep no copy: put the file into the folder of the plans, or"
            " below it, under a name of letters, digits, - and _ that ends in .asl"
        )
    return inner


def _text_of(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ActorFailed(f"{path} has more than {MAX_FILE_BYTES} bytes, too many for plans")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ActorFailed(f"{path} cannot be read as a plan file: {error}") from error
