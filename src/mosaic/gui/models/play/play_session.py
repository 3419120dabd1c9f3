"""One play session as the window sees it: its newest state, its picture, and commands that never wait."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal

from mosaic.config import JsonValue
from mosaic.errors import MosaicError
from mosaic.fastlane.ring_files import writer_lives
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.gui.models.background_work import BackgroundWork
from mosaic.gui.models.live.frame_source import LocalFrames, Look, RemoteFrames, rings_of
from mosaic.gui.models.live.picture import Picture
from mosaic.gui.models.studio import Studio
from mosaic.rpc.client import Client, PlayLink
from mosaic.rpc.play_socket import PlaySocket
from mosaic.spec.run_dir import RunDir
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import TERMINAL

RETRY_S = 0.03
"""Between two looks whether a session that is starting takes commands yet."""
ASK_S = 0.25
"""Between two questions to the daemon whether it still starts."""
CONCLUDED_S = 5.0
"""The daemon says why a session ended soon after its process is gone; the studio waits no longer for that."""
FPS = 60.0
ENDED = "the session is over"


class PlaySession(BackgroundWork):
    """A thread hears the session; `close` ends that, the session itself ends by its own stop."""

    changed = Signal()
    """There is a new state."""
    came = Signal()
    """There is a new picture."""
    refused = Signal(str)
    """Why a command was not obeyed."""
    _heard = Signal()
    _opened = Signal(object)

    def __init__(self, record: RunRecord, client: Callable[[], Client | None], *, is_remote: bool) -> None:
        super().__init__()
        self.record = record
        self.state: Mapping[str, Any] = {}
        """Empty until the first one came."""
        self.over = False
        self._client = client
        self._is_remote = is_remote
        self._play: PlayLink | PlaySocket | None = None
        self._look: Look | None = None
        self._kept: Picture | None = None
        self._newest: Mapping[str, Any] = {}
        self._told = True
        self._finished = False
        self._closing = threading.Event()
        self._heard.connect(self._take)
        self._opened.connect(self._open_look)
        self.run_beside(self._hear, "play")

    @property
    def status(self) -> str:
        """starting, running, waiting, over (between two episodes), paused, stalled or ended."""
        return "ended" if self.over else str(self.state.get("status", "starting"))

    def send(self, do: str, **values: JsonValue) -> None:
        """A command; one that comes too early or too late is dropped."""
        if self._play is not None and not self.over:
            self._play.send(do, id=do, **values)

    def picture(self) -> Picture | None:
        newest = self._look.peek() if self._look is not None else None
        return newest or self._kept

    def holds(self, picture: Picture) -> bool:
        return self._look is None or picture is self._kept or self._look.holds(picture)

    def ask_width(self, shown: int) -> None:
        if self._look is not None:
            self._look.ask(self._wishes(shown))

    def close(self) -> None:
        """Look away."""
        self._closing.set()
        if self._play is not None:
            self._play.close()
        self._stop_looking()

    # In the thread.

    def _hear(self) -> None:
        problem, ask_at = "", 0.0
        while not self._closing.wait(RETRY_S):
            client = self._client()
            if client is None:
                continue
            try:
                if self._listen(client):
                    break
                if time.monotonic() < ask_at:
                    continue
                ask_at = time.monotonic() + ASK_S
                record = client.get(self.record.run_id)
            except MosaicError as error:
                problem = str(error)
                continue
            if record.state in TERMINAL:
                problem = f"{record.state}: {record.reason}" if record.reason else problem
                break
        self._newest = {**self._newest, "status": "ended", "reason": self._last_reason(problem)}
        self._finished = True
        self._post()

    def _listen(self, client: Client) -> bool:
        """Until the session ends; False if it did not take commands (yet)."""
        try:
            self._play = link = self._connected(client)
        except OSError:  # It does not listen yet, or has ended: the daemon knows which.
            return False
        heard = False
        try:
            for state in link:
                if "status" not in state:
                    if state.get("error"):
                        self.tell(self.refused, str(state["error"]))
                    continue
                # A session that hangs says only that; what it said before still holds.
                self._newest = {**self._newest, **state}
                self._post()
                if not heard:
                    # After the state, which tells what there is to look at.
                    self.tell(self._opened, () if self._is_remote else rings_of(Path(self.record.run_dir)))
                heard = True
        except MosaicError:
            if heard:
                raise
        finally:
            link.close()
        return heard

    def _connected(self, client: Client) -> PlayLink | PlaySocket:
        """On this machine the session itself; one of another machine is reached through its daemon."""
        if self._is_remote:
            return client.play(self.record.run_id)
        return PlaySocket(RunDir(Path(self.record.run_dir)))

    def _last_reason(self, problem: str) -> str:
        """What the daemon says of it, once it has drawn its conclusion."""
        deadline = time.monotonic() + CONCLUDED_S
        while True:
            unheard = ""
            try:
                client = self._client()
                record = client.get(self.record.run_id) if client is not None else None
            except MosaicError as error:
                record, unheard = None, str(error)
            if record is not None and record.state in TERMINAL:
                return record.reason or problem or ENDED
            if time.monotonic() > deadline or self._closing.wait(RETRY_S):
                return problem or unheard or ENDED

    def _post(self) -> None:
        if self._told and not self._closing.is_set():
            self._told = False
            self.tell(self._heard)

    # In the window's thread.

    def _take(self) -> None:
        self._told = True
        self.state, self.over = self._newest, self._finished
        if self.over:
            self._stop_looking()
        self.changed.emit()

    def _open_look(self, rings: Any) -> None:
        if self._look is not None or self._closing.is_set():
            return
        ring = next((ring for ring in rings if writer_lives(ring)), None)
        try:
            if ring is not None:
                self._look = LocalFrames(ring, self._wishes(640))
            else:
                self._look = RemoteFrames(self._client, self.record.run_id, self._wishes(640), lasting=False)
        except MosaicError as error:
            self.refused.emit(str(error))
            return
        self._look.came.connect(self.came)

    def _stop_looking(self) -> None:
        look, self._look = self._look, None
        if look is None:
            return
        look.came.disconnect(self.came)
        if (last := look.peek()) is not None:
            self._kept = last.copied()
        look.close()

    def _wishes(self, width: int) -> Wishes:
        """All copies of a session in lock-step, else the one picture that there is."""
        mode = "grid" if len(self.state.get("lengths") or ()) > 1 else "single"
        return Wishes(mode=mode, slot=0, fps=FPS, tile_width=min(max(width, 160), 1280), budget=1.0)


def opened(studio: Studio, record: RunRecord) -> PlaySession:
    """One of the studio's daemon; a command that is refused is shown to the user."""
    link = studio.link
    session = PlaySession(record, lambda: link.client, is_remote=link.is_remote)
    session.refused.connect(studio.warn)
    return session
