"""What an exporter is: something that takes a run's events in order, and is closed at its end."""

from typing import Protocol

from mosaic.spec.events import Event


class Exporter(Protocol):
    """One tracker; a further one is a further file with this protocol."""

    def take(self, event: Event) -> None:
        """The next event."""
        ...

    def close(self, *, failed: bool) -> None:
        """The run has ended; when this returns, everything that was taken is safe."""
        ...
