"""What an exporter is: something that takes a run's events in order, and is closed at its end."""

from typing import Protocol

from mosaic.spec.events import Event


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
