"""The live view of a run: frames into the FastLane ring while somebody looks, within a share of the learner's time.

The learner looks at one attribute (`due`) a step. When it is set, one environment is exposed (`mosaic.envs.camera`): by
the learner itself where that takes microseconds, else by the view's thread, for which the learner waits, because both
would fight for the interpreter and nobody could tell the cost. The view's thread then fits the picture into its tile
and publishes; what all of it cost decides when the next one is due. An environment that cannot render, or blocks,
costs the run nothing but its live view.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.canvas import Canvas
from cleanrl_worker.sdk.pace import Pace, Rate
from mosaic.envs import VecEnv
from mosaic.fastlane import lease
from mosaic.fastlane.bell import Bell
from mosaic.fastlane.layout import MAX_TILES, FrameHead, Tile
from mosaic.fastlane.lease import Demand, Wishes
from mosaic.fastlane.ring import RingWriter
from mosaic.spec.run_config import LiveView as LiveViewOptions

LOOK_S = 0.25
"""How often the view asks whether somebody looks."""
RENDER_TIMEOUT_S = 5.0
"""The learner waits no longer for one frame, ever: then the view is off for good."""

Picture = NDArray[np.uint8]


class LiveView:
    """One thread, one ring; `due` and `show` are for the learner."""

    def __init__(
        self,
        envs: VecEnv,
        options: LiveViewOptions,
        *,
        global_step: Callable[[], int],
        complain: Callable[[str], None],
        evaluation: bool = False,
    ) -> None:
        self.due = False
        """The learner should call `show` at its next step."""
        self.line = ""
        """Text for the HUD."""
        self._envs = envs
        self._options = options
        self._limit = min(options.grid_limit, MAX_TILES, envs.num_envs)
        self._global_step = global_step
        self._complain = complain
        self._evaluation = evaluation
        self._camera = envs.camera()
        self._ring = RingWriter()
        self._bell = Bell()
        self._closing = threading.Event()
        self._asked = threading.Event()
        self._exposed = threading.Event()
        self._canvas: Canvas | None = None
        self._slot = -1
        self._offered = False
        self._tile = Tile(0, 0, 0.0)
        self._problem = ""
        self._pace = Pace(cores=len(os.sched_getaffinity(0)), quick=self._camera.quick)
        self._rate = Rate(global_step)
        self._thread = threading.Thread(target=self._work, name="live-view", daemon=True)
        self._thread.start()

    @property
    def path(self) -> str:
        return str(self._ring.path)

    def show(self) -> None:
        """Let the view have a picture of one environment; called by the learner between two steps."""
        self.due = False
        began = time.perf_counter()
        if self._camera.quick:
            self._expose()
            self._asked.set()
        else:
            self._asked.set()
            if not self._exposed.wait(RENDER_TIMEOUT_S):
                self._give_up(f"render() did not return within {RENDER_TIMEOUT_S:.0f} s")
            self._exposed.clear()
        self._pace.learner_paid(self._tile.env, time.perf_counter() - began)

    def close(self) -> None:
        """The end, or somebody wants no live view any more."""
        gave_up = self._closing.is_set()
        self._closing.set()
        self.due = False
        self._asked.set()
        # A render() that blocks would block this too.
        self._thread.join(0.1 if gave_up else RENDER_TIMEOUT_S)
        self._ring.close()
        self._bell.close()

    def _give_up(self, why: str) -> None:
        """No more frames from this run; it goes on without them."""
        if not self._closing.is_set():
            self._closing.set()
            self.due = False
            self._ring.note(f"no live view: {why}")
            self._complain(f"the live view is off: {why}; the run goes on")

    # In the view's thread.

    def _work(self) -> None:
        try:
            self._serve()
        except Exception as error:  # A border: whatever is wrong with a view, the run goes on.
            self._give_up(repr(error))
        finally:
            self._exposed.set()
            self._camera.close()

    def _serve(self) -> None:
        demand: Demand | None = None
        looked = -LOOK_S
        while not self._closing.is_set():
            now = time.monotonic()
            if now - looked >= LOOK_S:
                looked, demand = now, lease.current(self._ring.path)
                self._ring.say_fps(demand.wishes.fps if demand else 0.0)
            wishes = demand and self._completed(demand.wishes)
            if demand is None or wishes is None or wishes.mode == "off":
                self._idle()
                continue
            tiles = 1 if wishes.mode == "single" else self._limit
            wait_s = self._pace.wait_s(now, wishes, tiles)
            if wait_s > 0:
                self._closing.wait(min(wait_s, LOOK_S))
                continue
            self._offer(self._next_slot(wishes))
            if self._asked.wait(LOOK_S) and not self._closing.is_set():
                self._take_picture(wishes, tiles)
                self._bell.ring(demand.sockets)

    def _completed(self, wishes: Wishes) -> Wishes:
        """With the run's own configuration where the viewers do not mind."""
        mode, slot = self._options.video_mode, self._options.fastlane_slot
        return replace(
            wishes,
            mode=mode if wishes.mode is None else wishes.mode,
            slot=min(slot if wishes.slot is None else wishes.slot, self._envs.num_envs - 1),
        )

    def _offer(self, slot: int) -> None:
        self._slot = slot
        # Once: the learner may have taken it just now.
        if not self._offered:
            self._offered = self.due = True

    def _idle(self) -> None:
        self._offered = self.due = False
        # The learner may have seen `due` just before the last viewer left: it must not wait in vain.
        if self._asked.wait(LOOK_S) and not self._closing.is_set():
            self._asked.clear()
            self._exposed.set()

    def _next_slot(self, wishes: Wishes) -> int:
        if wishes.mode == "single":
            return wishes.slot or 0
        # Not the next one before this one was shown: the learner may be busy with an update for seconds.
        return (self._slot if self._offered else self._slot + 1) % self._limit

    def _expose(self) -> None:
        self._problem, slot = "", self._slot
        try:
            self._camera.expose(slot)
        except Exception as error:  # A border: whatever somebody else's environment raises.
            self._problem = f"render() raised {error!r}"
        episode_return, episode_length = self._envs.episode_so_far(slot)
        self._tile = Tile(slot, episode_length, episode_return)

    def _take_picture(self, wishes: Wishes, tiles: int) -> None:
        self._asked.clear()
        self._offered = self.due = False
        if not self._camera.quick:
            self._expose()
            self._exposed.set()
        began = time.perf_counter()
        picture = self._developed(wishes)
        if picture is None:
            self._give_up(self._problem)
        elif not self._closing.is_set():
            self._publish(wishes, picture, tiles)
            self._pace.view_paid(self._tile.env, time.perf_counter() - began)

    def _developed(self, wishes: Wishes) -> Picture | None:
        if self._problem:
            return None
        try:
            picture = self._camera.develop(wishes.tile_width)
        except Exception as error:  # A border, as above.
            self._problem = f"render() raised {error!r}"
            return None
        if picture is None:
            advice = "; use the bare backend" if self._envs.backend in ("envpool", "native") else ""
            self._problem = f"the {self._envs.backend} backend returns no picture of this environment{advice}"
        elif picture.ndim not in (2, 3) or min(picture.shape[:2]) < 1:
            self._problem = f"render() returned an array of shape {picture.shape}"
            return None
        return picture

    def _publish(self, wishes: Wishes, picture: Picture, tiles: int) -> None:
        slot, canvas = self._tile.env, self._canvas
        if slot >= tiles if wishes.mode == "grid" else slot != wishes.slot:
            return  # Taken before the viewer changed its mind.
        if canvas is None or not canvas.fits(wishes, slot, picture, tiles):
            canvas = self._canvas = Canvas(wishes, slot, picture, tiles, self._ring.max_pixels)
        canvas.draw(slot if wishes.mode == "grid" else 0, picture, self._tile)
        head = FrameHead(
            global_step=self._global_step(),
            steps_per_s=self._rate.now(),
            columns=canvas.grid.columns,
            rows=canvas.grid.rows,
            tiles=tuple(canvas.tiles),
            grid=wishes.mode == "grid",
            evaluation=self._evaluation,
            line=self.line,
        )
        self._ring.publish(head, canvas.pixels)


def open_view(
    envs: VecEnv,
    options: LiveViewOptions,
    *,
    global_step: Callable[[], int],
    complain: Callable[[str], None],
    evaluation: bool = False,
) -> LiveView | None:
    """The view that a run's options ask for; without room in shared memory the run goes on without one."""
    if not wanted(options):
        return None
    try:
        return LiveView(envs, options, global_step=global_step, complain=complain, evaluation=evaluation)
    except OSError as error:
        complain(f"the live view is off: no room for its frames ({error}); the run goes on")
        return None


def wanted(options: LiveViewOptions) -> bool:
    return options.fastlane_enabled and options.video_mode != "off"
