"""Reading a run's spool while it grows."""

from pathlib import Path

from mosaic.spec.events import Event, decode


class SpoolReader:
    """Hands out each whole event once, in order; a line still being written is left for the next look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def new_events(self) -> list[Event]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return [decode(line) for line in whole.splitlines()]
