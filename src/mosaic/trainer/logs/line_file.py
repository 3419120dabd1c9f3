"""Lines of a file of any length, from any place on, forwards and backwards, a block at a time.

A line ends with its line feed. A block (64 KiB, counted from the start of the file) that has none ends with one too, as
far as readers are concerned: so a file without line feeds never has to be in memory, and every reader cuts it alike.
"""

from collections.abc import Callable, Iterator, Sequence

BLOCK = 64 * 1024
Read = Callable[[int, int], bytes]
"""Bytes of the file: from where, how many; fewer at its end."""
Chunk = tuple[int, bytes]
"""Whole lines, and where they begin."""


def lines_of(chunk: Chunk) -> Sequence[tuple[int, int, bytes]]:
    """Start, end and text of each line, without its line feed."""
    start, data = chunk
    found: list[tuple[int, int, bytes]] = []
    for line in data.split(b"\n"):
        end = min(start + len(line) + 1, chunk[0] + len(data))
        if end > start:
            found.append((start, end, line))
        start = end
    return found


def chunks_after(read: Read, offset: int, size: int) -> Iterator[Chunk]:
    """From the start of a line to the end of the file, which has `size` bytes."""
    start, held = offset, b""
    while (at := start + len(held)) < size:
        end = min((at // BLOCK + 1) * BLOCK, size)
        block = read(at, end - at)
        if not block:
            break
        data = held + block
        whole = data.rfind(b"\n") + 1
        if not whole and at % BLOCK == 0 and len(block) == BLOCK:
            whole = len(data)
        if whole:
            yield start, data[:whole]
        start, held = start + whole, data[whole:]
    if held:
        yield start, held


def chunks_before(read: Read, offset: int) -> Iterator[Chunk]:
    """From the end of a line back to the start of the file; the last lines come first."""
    at, held = offset, b""
    while at > 0:
        first = (at - 1) // BLOCK * BLOCK
        block = read(first, at - first)
        if len(block) < at - first:  # The file was cut meanwhile.
            return
        feed = block.find(b"\n")
        if held and feed < 0 and at % BLOCK == 0:
            yield at, held
            held = b""
        data = block + held
        if 0 <= feed < len(data) - 1:
            yield first + feed + 1, data[feed + 1 :]
            held = data[: feed + 1]
        else:
            held = data
        at = first
    if held:
        yield 0, held


def line_start(read: Read, offset: int) -> int:
    """The last place at or before an offset where a line ends and the next begins."""
    first = offset // BLOCK * BLOCK
    feed = read(first, offset - first).rfind(b"\n")
    if feed >= 0 or first == 0:
        return first + feed + 1
    before = read(first - BLOCK, BLOCK).rfind(b"\n")
    return first if before < 0 else first - BLOCK + before + 1
