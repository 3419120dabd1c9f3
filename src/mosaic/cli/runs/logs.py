"""`mosaic logs RUN`: what a run printed."""

import codecs
import io
import re
import sys
from collections.abc import Sequence

from mosaic.cli.daemon.connection import connect, parser
from mosaic.cli.runs.run_by_name import pick
from mosaic.rpc.client import Client

FIRST_WINDOW_BYTES = 64 * 1024
_BEGUN = re.compile(r"\x1b(?:\[[0-?]{0,32})?$")


def main(argv: Sequence[str]) -> int:
    words = parser("logs", "What a run printed.", runs="RUN")
    words.add_argument("-f", "--follow", action="store_true", help="follow the output until the run ends")
    words.add_argument("--stderr", action="store_true", help="stderr instead of stdout")
    words.add_argument("--raw", action="store_true", help="its bytes as they are; only for a file or a program")
    words.number("--tail", low=0, metavar="N", help="only the last N lines of what is there")
    flags = words.parse_args(argv)
    stream = "stderr" if flags.stderr else "stdout"
    write = _write_raw if flags.raw else LogText().write
    with connect() as client:
        run = pick(client, flags.run)
        offset = 0
        if flags.tail is not None:
            text, offset = _tail(client, run.run_id, stream, flags.tail)
            write(text)
            if not flags.follow:
                return 0
        for chunk in client.logs(run.run_id, stream=stream, offset=offset, follow=flags.follow):
            write(chunk)
    return 0


def _tail(client: Client, run_id: str, stream: str, lines: int) -> tuple[bytes, int]:
    """The last lines, and the offset behind them."""
    sizes = {artifact.path: artifact.bytes for artifact in client.artifacts(run_id)}
    size = sizes.get(f"logs/cleanrl.{stream}.log", 0)
    window = FIRST_WINDOW_BYTES
    while True:
        offset = max(0, size - window)
        data = b"".join(client.logs(run_id, stream=stream, offset=offset))
        found = data.splitlines(keepends=True)
        # The first line of a window is cut, unless the window begins with the file.
        if offset == 0 or len(found) > lines:
            return b"".join(found[len(found) - min(lines, len(found)) :]), offset + len(data)
        window *= 8


class LogText:
    """A log as text: a lone carriage return begins a new line, so that nothing is written over what stands there."""

    def __init__(self) -> None:
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder("utf-8")("replace"), translate=True)
        self._begun = ""

    def write(self, data: bytes) -> None:
        text = self._begun + self._decoder.decode(data)
        # A colour that the end of a chunk cuts in two is printed, or rather left out, with the next one.
        self._begun = found[0] if (found := _BEGUN.search(text)) else ""
        sys.stdout.write(text.removesuffix(self._begun))
        sys.stdout.flush()


def _write_raw(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
