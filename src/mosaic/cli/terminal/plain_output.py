"""What this command prints: all of it goes through here, so no text of a run reaches a terminal unchanged.

`main` puts a PlainOutput in the place of stdout and of stderr. All that is written to it is made plain, also what
argparse and other libraries print, and what a verb that is yet to be written prints. Our own colours and cursor moves
begin with ESC, which is an escape character followed by random letters of this process: no text from outside can hold
them. Pictures, which are long and made of our own numbers alone, go to `draw`.
"""

import re
import secrets
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from mosaic.plain_text import plain

ESC = f"\x1b{secrets.token_hex(8)}"
"""Begins a sequence for the terminal that we mean."""
_COLOUR = re.compile(r"\x1b(?=\[[0-9;]*m)")


class PlainOutput:
    """A text stream that makes plain what it is given."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.of_library = False
        """Whether a library of ours prints, whose colours on a terminal are meant."""

    def write(self, text: str) -> int:
        meant = _COLOUR.sub(ESC, text) if self.of_library else text
        self.stream.write("\x1b".join(map(plain, meant.split(ESC))))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def plain_output() -> Generator[None]:
    """For as long as a verb runs."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, PlainOutput(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def library_colours() -> Generator[None]:
    """What is printed meanwhile is help and markdown of our own, coloured by the library that prints it."""
    made = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, PlainOutput) and stream.isatty()]
    for stream in made:
        stream.of_library = True
    try:
        yield
    finally:
        for stream in made:
            stream.of_library = False


def draw(picture: str) -> None:
    """Sequences and letters that were made of pixels, unchanged."""
    stream: Any = sys.stdout
    (stream.stream if isinstance(stream, PlainOutput) else stream).write(picture)
