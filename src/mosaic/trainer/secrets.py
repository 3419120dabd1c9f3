"""Keys that came with a submit: in memory while the run lives, and taken out of whatever its worker prints."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from mosaic.spec.files import write_atomically
from mosaic.spec.run_dir import RunDir

HIDDEN = "[hidden]"


class Secrets:
    """Environment variables of runs that carry keys. A daemon that ends forgets them; nothing is ever written."""

    def __init__(self) -> None:
        self._by_run: dict[str, Mapping[str, str]] = {}

    def keep(self, run_id: str, variables: Mapping[str, str]) -> None:
        if variables:
            self._by_run[run_id] = dict(variables)

    def of(self, run_id: str) -> Mapping[str, str]:
        return self._by_run.get(run_id, {})

    def redacted(self, run_id: str, lines: Sequence[str]) -> tuple[str, ...]:
        return tuple(hide(line, self.of(run_id)) for line in lines)

    def scrub(self, run_dir: RunDir, path: Path) -> None:
        """Mask the keys in a log of a worker that has ended."""
        keys = self.of(run_dir.run_id)
        if keys and run_dir.look(path) is not None:
            with run_dir.open(path) as file:
                data = file.read()
            clean = masked(data, keys)
            if clean != data:
                write_atomically(path, clean)

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)


def hide(text: str, variables: Mapping[str, str]) -> str:
    for value in variables.values():
        text = text.replace(value, HIDDEN)
    return text


def masked(data: bytes, variables: Mapping[str, str]) -> bytes:
    """As long as before, so that offsets into a log stay what they are."""
    for value in variables.values():
        data = data.replace(value.encode(), b"*" * len(value.encode()))
    return data
