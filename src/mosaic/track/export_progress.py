"""The state of an export while its process works on it: kept, changed, and written down."""

import contextlib
import threading
import time
from dataclasses import replace

from mosaic.spec.events import Event
from mosaic.spec.run_dir import RunDir
from mosaic.track import export_state, follow_events
from mosaic.track.export_state import UNDER_WAY, WANDB, Export
from mosaic.track.processor_share import ProcessorShare

STATE_INTERVAL_S = 2.0


class ExportProgress:
    """Told by the thread that exports, and by the one that looks whether that gets the processor."""

    def __init__(self, run_dir: RunDir, tracker: str = WANDB) -> None:
        self._run_dir, self._tracker = run_dir, tracker
        self._state = Export(state="exporting")
        self._written_at = 0.0
        self._lock = threading.Lock()
        self._share = ProcessorShare(self.wait_for_cpu, lambda: not follow_events.is_alive(run_dir))

    def tell(self, **changes: object) -> None:
        """Change these fields and write all of them."""
        with self._lock:
            self._state = replace(self._state, **changes)  # type: ignore[arg-type]
            if self._state.state not in UNDER_WAY:
                self._state = replace(self._state, waits_for_cpu=False)
            self._written_at = time.monotonic()
            # A full disk or a deleted run: the next one may work, and the export itself says why it cannot go on.
            with contextlib.suppress(OSError):
                export_state.write(self._run_dir, self._state, self._tracker)

    def count(self, event: Event | None, rows: int) -> None:
        """An event was exported, or there is none yet; written every few seconds."""
        events = self._state.events if event is None else event.seq
        with self._lock:
            self._state = replace(self._state, events=events, rows=rows)
        if time.monotonic() - self._written_at >= STATE_INTERVAL_S:
            self.tell()

    def close(self) -> None:
        self._share.close()

    def wait_for_cpu(self, waits: bool) -> None:
        """The exporting thread begins or ends to wait for the processor."""
        if self._state.state in UNDER_WAY:
            self.tell(waits_for_cpu=waits)
