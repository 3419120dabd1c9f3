"""The events of a spool in which nothing is wrong, as a worker leaves it."""

from collections.abc import Iterable, Iterator

from mosaic.spec import events
from mosaic.spec.events import Event


def decode_spool(lines: Iterable[bytes]) -> Iterator[Event]:
    """Every event, without a gap; a last line that a kill cut off is left out."""
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            return
        event = events.decode(line)
        assert event.seq == number
        yield event
