"""What an exporter is: something that takes a run's events in order, and is closed at its end."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from mosaic.log import get_logger
from mosaic.spec.events import Event
from mosaic.spec.run_dir import RunDir

log = get_logger()


def hand_over(run_dir: RunDir, name: str, add: Callable[[Path], object], refused: list[str]) -> None:
    """Add a file of a run to its export; one that the tracker cannot take is named in `refused`."""
    path = run_dir.root / name
    found = run_dir.look(name)
    if found is None or not stat.S_ISREG(found.st_mode):
        # Also where a link or a path leads out of the run: what lies there is not the run's to hand out.
        log.warning("file.gone", path=name)
        return
    try:
        add(path)
    except Exception as error:  # A border: a file that a tracker cannot take must not cost the history.
        log.exception("file.refused", path=name)
        refused.append(f"{name} was not exported: {error}")


class Exporter(Protocol):
    """One export to one tracker; a further tracker is a further file with this protocol."""

    rows: int
    """Rows of history written so far."""

    def take(self, event: Event) -> None:
        """The next event."""
        ...

    def flush(self) -> None:
        """There is no further event for now: hand over what was kept back."""
        ...

    def close(self, *, failed: bool) -> None:
        """The run has ended; when this returns, everything that was taken is safe."""
        ...
