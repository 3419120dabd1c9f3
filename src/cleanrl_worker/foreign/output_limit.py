"""A limit to what a script may print: beyond it the run fails, and its log is cut to its beginning and its end."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

from mosaic.spec.run_dir import RunDir

LIMIT_BYTES = 64 * 2**20
HEAD_BYTES, TAIL_BYTES = 2**20, 2**16
LOOK_S = 0.1
SHOWN_LINES, SHOWN_CHARACTERS = 5, 200


class TooMuchOutput(Exception):
    """More than a user reads."""

    def __init__(self) -> None:
        super().__init__(
            f"the script printed more than {LIMIT_BYTES // 2**20} MiB, which fills the disk;"
            " its log keeps the beginning and the end: let it print less"
        )


class OutputLimit:
    """Watches the logs that this process's stdout and stderr go to."""

    def __init__(self, run_dir: RunDir, give_up: Callable[[TooMuchOutput], None]) -> None:
        self._logs = {1: run_dir.stdout, 2: run_dir.stderr}
        self._give_up = give_up
        self._closing = threading.Event()
        if all(_is_same(descriptor, path) for descriptor, path in self._logs.items()):
            threading.Thread(target=self._watch, name="output", daemon=True).start()

    def close(self) -> None:
        self._closing.set()

    def _watch(self) -> None:
        while not self._closing.wait(LOOK_S):
            for path in self._logs.values():
                if path.stat().st_size > LIMIT_BYTES:
                    self._end(path)
                    return

    def _end(self, path: Path) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in self._logs:
            os.dup2(nowhere, descriptor)
        error = TooMuchOutput()
        last = _cut(path)
        with self._logs[2].open("a", encoding="utf-8") as stderr:
            stderr.write("".join(f"{line}\n" for line in last))
            stderr.write(f"error: {error}\n")
        self._give_up(error)


def _cut(path: Path) -> list[str]:
    """Leave the beginning and the end; the last lines."""
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.seek(-min(TAIL_BYTES, file.tell()), os.SEEK_END)
        tail = file.read()
        file.seek(HEAD_BYTES)
        file.write(b"\n[cut here: too much output]\n" + tail)
        file.truncate()
    lines = tail.decode(errors="replace").splitlines()[-SHOWN_LINES:]
    return [line[:SHOWN_CHARACTERS] for line in lines]


def _is_same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False
