"""Live pictures of a run's environments, the newest ones: a page that takes long gets fewer, never old ones."""

import asyncio
import threading
from typing import Any

from mosaic.errors import ConfigError, Problem
from mosaic.rpc.call_errors import Refused
from mosaic.rpc.codec import LiveFrame
from mosaic.rpc.newest import Newest
from mosaic.spec.states import LIVE
from mosaic.web.channels.page_channel import PATIENCE_S, RETRY_S, Channel

UNDER_WAY = 2
"""Pictures that the page has not acknowledged yet: more would stand in a queue in front of everything else."""
STARTING_S = 0.7
MODES = ("grid", "single")


class FramesChannel(Channel):
    """As long as it is open, the worker draws for it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._room = asyncio.Semaphore(UNDER_WAY)
        self._is_closing = False

    async def work(self) -> None:
        run_id, mode = self.word("run"), self.word("mode", "grid")
        if mode not in MODES:
            raise ConfigError([Problem("mode", "must be grid or single")], what="request of the page")
        with self.room.pictures.held():
            await self._follow(run_id, mode)

    async def _follow(self, run_id: str, mode: str) -> None:
        while True:
            record = self.news.records.get(run_id)
            if record is not None and record.state not in LIVE:
                await self.tell(note=f"the run is {record.state.value}", over=True)
                await self.news.runs_changed.after(self.news.runs_changed.version, at_most_s=PATIENCE_S)
                continue
            try:
                await self._relay(run_id, mode)
            except Refused as refused:
                # Its worker has not begun yet, or has no live view: the daemon says which.
                await self.tell(note=refused.sentence)
                await asyncio.sleep(STARTING_S)
            await asyncio.sleep(RETRY_S)

    def acknowledge(self) -> None:
        self._room.release()

    async def _relay(self, run_id: str, mode: str) -> None:
        slot = int(self.number_of("slot", 0, 0, 10_000))
        fps = self.number_of("fps", 30, 1, 60)
        width = int(self.number_of("width", 320, 32, 1280))
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        stream: Newest[LiveFrame] = self.news.client.frames(
            run_id, mode="single" if mode == "single" else "grid", slot=slot, fps=fps, tile_width=width
        )
        failed: list[Exception] = []

        def read() -> None:
            try:
                for frame in stream:
                    asyncio.run_coroutine_threadsafe(self._show(frame), loop).result()
            except Exception as error:  # The border of the thread: it belongs to the task.
                failed.append(error)
            finally:
                if not loop.is_closed():
                    loop.call_soon_threadsafe(ended.set)

        threading.Thread(target=read, name="frames", daemon=True).start()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            # The thread may wait for an acknowledgement that does not come any more.
            self._is_closing = True
            self._room.release()
            raise
        finally:
            stream.stop()
        if failed and not isinstance(failed[0], asyncio.CancelledError):
            raise failed[0]

    async def _show(self, frame: LiveFrame) -> None:
        head = frame.head
        if not frame.image:
            await self.tell(note=frame.note)
            return
        await self._room.acquire()
        if self._is_closing:
            return
        await self.show(
            frame.image,
            number=frame.number,
            step=head.global_step,
            sps=head.steps_per_s,
            across=head.columns,
            down=head.rows,
            tiles=[[tile.env, tile.episode_length, tile.episode_return] for tile in head.tiles],
            evaluation=head.evaluation,
            line=head.line,
            age=frame.age_s,
        )
