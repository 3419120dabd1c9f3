"""The live view of the current run: when to look, what is seen, and in words why nothing is.

A lease without a viewer costs the learner: there is a look only while the tab is visible and not paused, or a clip is
being filmed.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from PySide6.QtCore import QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.fastlane.ring_files import writer_lives
from mosaic.fastlane.viewer_lease import MAX_TILE_WIDTH, MIN_TILE_WIDTH, Mode, Wishes
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.live.frame_source import LocalFrames, Look, RemoteFrames, rings_of
from mosaic.gui.models.live.picture import Picture
from mosaic.gui.models.studio import Studio
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import LIVE, TERMINAL, RunState

ViewState: TypeAlias = Literal["live", "waiting", "paused", "ended"]
TICK_MS = 500
"""Words and numbers are brought up to date this often, and a ring that is not there yet is looked for."""
STALE_S = 2.0
RATE_S = 2.0
"""Frames a second are counted over this long."""
WITHOUT_WORKER: Mapping[RunState, str] = {
    RunState.QUEUED: "The run waits in the queue. Its environments appear here when it starts.",
    RunState.STARTING: "The run is starting.",
    RunState.STOPPING: "The run is ending.",
    RunState.PAUSED: "The run is paused. Its environments appear here when it goes on.",
}

ENDED: Mapping[RunState, str] = {
    RunState.FINISHED: "The run has finished.",
    RunState.FAILED: "The run has failed; the log says why.",
    RunState.CANCELLED: "The run was cancelled.",
    RunState.LOST: "The run was lost: its worker is gone.",
}
MOST_KEPT = 8
"""Runs whose last pictures are kept."""
COPIES = 5
"""Tries to keep the last picture whole while its writer goes on."""


class Live(BackgroundWork):
    """`picture` is what is to be painted now; `came` says that it changed, `changed` that anything else did."""

    came = Signal()
    changed = Signal()
    _found = Signal(str, object)

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.wishes = Wishes()
        self.paused = False
        self._stepping = False
        """The view is paused again with its next picture."""
        self.held_open = False
        """Keep the lease while the tab is hidden: a clip is being filmed."""
        self._widths: dict[Mode, int] = {}
        self._visible = False
        self._run_id = ""
        self._look: Look | None = None
        self._kept: Picture | None = None
        self._last: dict[str, dict[Mode, Picture]] = {}
        """The last pictures of the runs that were looked at lately: the grid, and a single environment."""
        self._searching = False
        self._searched = False
        self._refused = ""
        self._arrivals: deque[float] = deque(maxlen=256)
        self._tick = QTimer(self, interval=TICK_MS)
        self._tick.timeout.connect(self._settle)
        self._found.connect(self._take_rings)
        studio.selection_changed.connect(self._settle)
        studio.runs_changed.connect(self._settle)

    @property
    def is_remote(self) -> bool:
        return self._studio.link.is_remote

    @property
    def record(self) -> RunRecord | None:
        return self._studio.record()

    @property
    def state(self) -> ViewState:
        record = self.record
        if record is None or record.state == RunState.QUEUED:
            return "waiting"
        if record.state in TERMINAL:
            return "ended"
        if self.paused or record.state == RunState.PAUSED:
            return "paused"
        return "live" if self._arrivals and time.monotonic() - self._arrivals[-1] < STALE_S else "waiting"

    @property
    def fps(self) -> float:
        """Pictures a second, lately."""
        since = time.monotonic() - RATE_S
        return sum(at > since for at in self._arrivals) / RATE_S

    @property
    def note(self) -> str:
        """Why no more pictures come, if the worker or the daemon said so."""
        return self._look.note if self._look is not None else ""

    @property
    def reason(self) -> str:
        """Why there is no picture; empty if there is one, or nothing to say."""
        record = self.record
        if record is None:
            return "Select a run on the left."
        if self.picture() is not None:
            return ""
        if record.state in TERMINAL:
            return f"{ENDED[record.state]} Its videos, if it filmed any, are under Artifacts."
        if not _asked_for(self._config()):
            return "This run was started with its live view off."
        if self.note:
            return self.note
        if self._refused:
            return self._refused
        if record.state in WITHOUT_WORKER:
            why = self._studio.why_queued(record)
            return f"{WITHOUT_WORKER[record.state]}\n{why}" if why else WITHOUT_WORKER[record.state]
        if self._searched and self._look is None:
            return "The run offers no live view now. The log says so if there was no room for its frames."
        return "Waiting for the first picture."

    def picture(self) -> Picture | None:
        newest = self._look.peek() if self._look is not None else None
        return newest or self._kept

    def holds(self, picture: Picture) -> bool:
        return self._look is None or picture is self._kept or self._look.holds(picture)

    def show(self, visible: bool) -> None:
        """Whether the user sees it."""
        self._visible = visible
        self._settle()

    def pause(self, paused: bool) -> None:
        """Freeze the picture; nothing is rendered meanwhile, and the run goes on."""
        self.paused, self._stepping = paused, False
        self._settle()

    def step(self) -> None:
        """The next picture, and no more; where the view is not frozen yet it is frozen first."""
        if not self.paused:
            self.pause(True)
            return
        self.paused, self._stepping = False, True
        self._settle()

    def favour(self, env: int | None) -> None:
        """In a grid, draw this environment at the full rate and the others in what is left; None favours none."""
        picture = self._look.peek() if isinstance(self._look, LocalFrames) else None
        # Of a daemon elsewhere each wish is a new stream: the picture would stand still at every move of the pointer.
        if picture is not None and picture.head.grid and self.wishes.mode != "single":
            self._ask(replace(self.wishes, mode="grid", slot=env))

    def hold_open(self, held: bool) -> None:
        self.held_open = held
        self._settle()

    @property
    def may_show_grid(self) -> bool:
        """Whether a single environment is shown, and there is a grid to go back to."""
        picture, record = self.picture(), self.record
        if picture is None or picture.head.grid or record is None:
            return False
        return record.state in LIVE or "grid" in self._last.get(self._run_id, {})

    def focus(self, env: int) -> None:
        """Show one environment alone; of a run that has ended there is only what was seen last."""
        if self.record is None or self.record.state not in LIVE:
            return
        self._keep_last()
        self.pause(False)
        self._ask(replace(self.wishes, mode="single", slot=max(env, 0), tile_width=self._width("single")))

    def show_grid(self) -> None:
        self.pause(False)
        if self._look is None and (grid := self._last.get(self._run_id, {}).get("grid")) is not None:
            self._kept = grid
            self.came.emit()
        self._ask(replace(self.wishes, mode="grid", slot=None, tile_width=self._width("grid")))

    def explain(self, wanted: bool) -> None:
        """Have the run tell what an environment observes and what the agent makes of it; it costs a little."""
        self._ask(replace(self.wishes, explain=wanted))

    def ask_fps(self, fps: float | None) -> None:
        self._ask(replace(self.wishes, fps=fps))

    def ask_budget(self, budget: float | None) -> None:
        self._ask(replace(self.wishes, budget=budget))

    def ask_width(self, shown: int) -> None:
        """Tiles are wanted no wider than they are shown, in device pixels."""
        width = min(max(shown, MIN_TILE_WIDTH), MAX_TILE_WIDTH)
        self._widths[self.wishes.mode or "grid"] = width
        self._ask(replace(self.wishes, tile_width=width))

    def close(self) -> None:
        self._tick.stop()
        self._stop_looking()

    def _width(self, mode: Mode) -> int:
        """As it was shown in this mode before: another width would make the worker begin its picture anew."""
        return self._widths.get(mode, self.wishes.tile_width)

    def _ask(self, wishes: Wishes) -> None:
        if wishes != self.wishes:
            self.wishes = wishes
            if self._look is not None:
                self._look.ask(wishes)
            self.changed.emit()

    def _settle(self) -> None:
        """Look, or do not, as things are now."""
        record = self.record
        if self._studio.current != self._run_id:
            self._stop_looking()
            self._run_id, self._searched, self._refused = self._studio.current, False, ""
            known = self._last.get(self._run_id, {})
            self._kept = known.get("grid") or known.get("single")
            self.wishes, self.paused = replace(self.wishes, mode=None, slot=None), False
            self._stepping = False
            self.came.emit()
        seen = self._visible or self.held_open
        wanted = seen and not self.paused and record is not None and record.state in LIVE
        if self._look is not None and (not wanted or self._look.over):
            self._stop_looking()
        if wanted and record is not None and self._look is None:
            self._begin(record)
        if seen and not self._tick.isActive():
            self._tick.start()
        elif not seen:
            self._tick.stop()
        self.changed.emit()

    def _begin(self, record: RunRecord) -> None:
        if self.is_remote:
            self._watch(self._through_daemon(record.run_id, lasting=True))
        elif not self._searching:
            self._searching = True
            run_id, folder = record.run_id, Path(record.run_dir)
            self.run_beside(lambda: self.tell(self._found, run_id, rings_of(folder)), "ring")

    def _take_rings(self, run_id: str, rings: Sequence[Path]) -> None:
        self._searching, self._searched = False, True
        if run_id != self._run_id or self._look is not None or not rings:
            return
        if not (self._visible or self.held_open) or self.paused:
            return
        ring = next((ring for ring in rings if writer_lives(ring)), None)
        try:
            self._watch(LocalFrames(ring, self.wishes) if ring else self._through_daemon(run_id, lasting=False))
            self._refused = ""
        except MosaicError as error:
            self._refused = str(error)
        self.changed.emit()

    def _through_daemon(self, run_id: str, *, lasting: bool) -> RemoteFrames:
        return RemoteFrames(lambda: self._studio.link.client, run_id, self.wishes, lasting=lasting)

    def _watch(self, look: Look) -> None:
        self._look = look
        look.came.connect(self._count)

    def _count(self) -> None:
        self._arrivals.append(time.monotonic())
        first = len(self._arrivals) == 1
        self.came.emit()
        if self._stepping:
            self.pause(True)
        elif first:
            self.changed.emit()

    def _stop_looking(self) -> None:
        self._keep_last()
        look, self._look = self._look, None
        self._arrivals.clear()
        if look is None:
            return
        look.came.disconnect(self._count)
        look.close()

    def _keep_last(self) -> None:
        """The picture as it is now, whole: for when no more come, and for the way back from a single environment."""
        look = self._look
        for _ in range(COPIES if look is not None else 0):
            if look is None or (last := look.peek()) is None:
                return
            self._kept = last.copied()
            if look.holds(last):
                break
        if look is not None and self._kept is not None:
            pictures = self._last.pop(self._run_id, {})
            self._last[self._run_id] = {**pictures, "grid" if self._kept.head.grid else "single": self._kept}
            for oldest in list(self._last)[:-MOST_KEPT]:
                del self._last[oldest]

    def _config(self) -> Mapping[str, Any]:
        detail = self._studio.detail()
        return detail.config if detail is not None and detail.run_id == self._run_id else {}


def _asked_for(config: Mapping[str, Any]) -> bool:
    """Whether a run's config has a live view; what cannot be read counts as yes."""
    found: Any = config
    for key in ("metadata", "worker", "config", "extras"):
        found = found.get(key) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if not isinstance(found, dict):
        return True
    extras = cast(dict[str, Any], found)
    return bool(extras.get("fastlane_enabled", True)) and extras.get("video_mode", "grid") != "off"
