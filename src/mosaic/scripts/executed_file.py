"""What came of executing a file of a user's: what it raised, in one sentence, and a copy of the code that ran."""

import sys
import traceback
from pathlib import Path

from mosaic.spec.files.source_copy import MAX_FILES, SourceCopy, is_safe_name


def copy_of(path: Path, text: bytes, before: frozenset[str], package: str = "") -> SourceCopy:
    """The file as it was executed, and what it has imported from its own folder."""
    texts = {path.name: text.decode("utf-8", "replace")}
    for name in sorted(set(sys.modules) - before):
        file = Path(getattr(sys.modules[name], "__file__", None) or "/")
        if file.suffix != ".py" or file == path or not file.is_relative_to(path.parent) or len(texts) >= MAX_FILES:
            continue
        beside = file.relative_to(path.parent).as_posix()
        # An environment of Python may lie in the same folder, and what is installed in it is not the user's code.
        if is_safe_name(beside) and "site-packages" not in beside.split("/"):
            texts[beside] = file.read_bytes().decode("utf-8", "replace")
    return SourceCopy(path.name, texts, package)


def what_was_raised(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError):
        where = "" if error.filename in (None, str(path)) else f"{error.filename}, "
        return f"{where}line {error.lineno}: {error.msg}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    where = f"line {lines[-1]}: " if lines else ""
    if isinstance(error, ImportError):
        return f"{where}cannot be imported: {error}"
    return f"{where}raises {type(error).__name__} when it is imported: {error}"
