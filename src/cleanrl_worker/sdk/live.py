"""The live view of a run: frames into the FastLane ring while somebody looks, within a share of the learner's time.

The learner looks at one attribute (`due`) a step. When it is set, it waits while the view's own thread renders one
environment, fits it into its tile and publishes the picture; what that cost decides when the next one is due. In the
learner's time rather than beside it, because both would fight for the interpreter, and nobody could tell the cost.
An environment that cannot render, or blocks, costs the run nothing but its live view.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.envs import VecEnv
from mosaic.fastlane import lease
from mosaic.fastlane.lease import Wishes
from mosaic.fastlane.ring import MAX_TILES, FrameHead, RingWriter, Tile
from mosaic.fastlane.tiling import Grid, fit, layout
from mosaic.spec.run_config import LiveView as LiveViewOptions

LOOK_S = 0.25
"""How often the view asks whether somebody looks."""
RENDER_TIMEOUT_S = 5.0
"""The learner waits no longer for one frame, ever: then the view is off for good."""
SMOOTHING = 0.2

Picture = NDArray[np.uint8]


class LiveView:
    """One thread, one ring; `due` and `show` are for the learner."""

    def __init__(
        self,
        envs: VecEnv,
        *,
        grid_limit: int,
        global_step: Callable[[], int],
        complain: Callable[[str], None],
        evaluation: bool = False,
    ) -> None:
        self.due = False
        """The learner should call `show` at its next step."""
        self.line = ""
        """Text for the HUD."""
        self._envs = envs
        self._limit = min(grid_limit, MAX_TILES, envs.num_envs)
        self._global_step = global_step
        self._complain = complain
        self._evaluation = evaluation
        self._ring = RingWriter()
        self._closing = threading.Event()
        self._asked = threading.Event()
        self._rendered = threading.Event()
        self._canvas: _Canvas | None = None
        self._cost_s = 0.0
        self._warm: set[int] = set()
        self._next_due = 0.0
        self._next_slot = 0
        self._rate = _Rate(global_step)
        self._thread = threading.Thread(target=self._work, name="live-view", daemon=True)
        self._thread.start()

    @property
    def path(self) -> str:
        return str(self._ring.path)

    def show(self) -> None:
        """Let the view render one environment; called by the learner between two steps."""
        self.due = False
        self._asked.set()
        if not self._rendered.wait(RENDER_TIMEOUT_S):
            self._give_up(f"render() did not return within {RENDER_TIMEOUT_S:.0f} s")
        self._rendered.clear()

    def close(self) -> None:
        self._closing.set()
        self._asked.set()
        self._thread.join(RENDER_TIMEOUT_S)
        self._ring.close()

    def _give_up(self, why: str) -> None:
        """No more frames from this run; it goes on without them."""
        if not self._closing.is_set():
            self._closing.set()
            self.due = False
            self._ring.note(f"no live view: {why}")
            self._complain(f"the live view is off: {why}; the run goes on")

    def _work(self) -> None:
        wishes: Wishes | None = None
        looked = 0.0
        while not self._closing.is_set():
            now = time.monotonic()
            if now - looked >= LOOK_S:
                looked, wishes = now, lease.current(self._ring.path)
            if wishes is None or wishes.mode == "off":
                self.due = False
                self._serve_straggler()
                self._closing.wait(LOOK_S)
                continue
            wait_s = self._next_due - now
            if wait_s > 0:
                self._closing.wait(min(wait_s, LOOK_S))
                continue
            self.due = True
            if self._asked.wait(LOOK_S) and not self._closing.is_set():
                self._take_picture(wishes)

    def _serve_straggler(self) -> None:
        """The learner saw `due` just before the last viewer left: it must not wait in vain."""
        if self._asked.is_set():
            self._asked.clear()
            self._rendered.set()

    def _take_picture(self, wishes: Wishes) -> None:
        self._asked.clear()
        slot = self._choose_slot(wishes)
        began = time.perf_counter()
        picture, problem = self._render(slot)
        if picture is None:
            self._give_up(problem)
        else:
            episode_return, episode_length = self._envs.episode_so_far(slot)
            self._publish(wishes, picture, Tile(slot, episode_length, episode_return))
            self._pace(wishes, slot, time.perf_counter() - began)
        self._rendered.set()

    def _choose_slot(self, wishes: Wishes) -> int:
        if wishes.mode == "single":
            return min(wishes.slot, self._envs.num_envs - 1)
        self._next_slot = (self._next_slot + 1) % self._limit
        return self._next_slot

    def _render(self, slot: int) -> tuple[Picture | None, str]:
        try:
            picture = self._envs.render_slot(slot)
        except Exception as error:  # A border: whatever somebody else's environment raises.
            return None, f"render() raised {error!r}"
        if picture is None:
            return None, "the environment returns no picture (its render mode is not rgb_array)"
        if picture.ndim not in (2, 3) or min(picture.shape[:2]) < 1:
            return None, f"render() returned an array of shape {picture.shape}"
        return picture, ""

    def _publish(self, wishes: Wishes, picture: Picture, tile: Tile) -> None:
        count = 1 if wishes.mode == "single" else self._limit
        canvas = self._canvas
        if canvas is None or not canvas.fits(wishes, picture, count):
            canvas = self._canvas = _Canvas(wishes, picture, count, self._ring.max_pixels)
        canvas.draw(0 if wishes.mode == "single" else tile.env, picture, tile)
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

    def _pace(self, wishes: Wishes, slot: int, cost_s: float) -> None:
        """The next frame is due when this one's cost is no more than the budget's share of the time since."""
        if slot in self._warm:
            self._cost_s = cost_s if not self._cost_s else self._cost_s + SMOOTHING * (cost_s - self._cost_s)
        # An environment's first picture opens windows and contexts: paid once, and no measure of the next ones.
        self._warm.add(slot)
        tiles = 1 if wishes.mode == "single" else self._limit
        pause_s = max(self._cost_s * (1 / wishes.budget - 1), 1 / (wishes.fps * tiles))
        self._next_due = time.monotonic() + pause_s


class _Canvas:
    """The picture under construction; remade when the viewer or the environment changes its size."""

    def __init__(self, wishes: Wishes, picture: Picture, count: int, max_pixels: int) -> None:
        self._key = self._describe(wishes, picture, count)
        width = wishes.tile_width if wishes.mode == "grid" else max(wishes.tile_width, 640)
        self.grid: Grid = layout(count, picture.shape[:2], tile_width=width, max_pixels=max_pixels)
        self.pixels = np.zeros((self.grid.height, self.grid.width, 4), np.uint8)
        self.tiles = [Tile(index, 0, 0.0) for index in range(count)]

    @staticmethod
    def _describe(wishes: Wishes, picture: Picture, count: int) -> tuple[Any, ...]:
        return wishes.mode, wishes.tile_width, wishes.slot if wishes.mode == "single" else -1, picture.shape, count

    def fits(self, wishes: Wishes, picture: Picture, count: int) -> bool:
        return self._key == self._describe(wishes, picture, count)

    def draw(self, index: int, picture: Picture, tile: Tile) -> None:
        self.pixels[self.grid.place(index)] = fit(picture, self.grid)
        self.tiles[index] = tile


class _Rate:
    """Steps a second over the last moments."""

    def __init__(self, global_step: Callable[[], int]) -> None:
        self._global_step = global_step
        self._at, self._step, self._value = time.monotonic(), global_step(), 0.0

    def now(self) -> float:
        elapsed_s = time.monotonic() - self._at
        if elapsed_s >= 1.0:
            step = self._global_step()
            self._value = (step - self._step) / elapsed_s
            self._at, self._step = time.monotonic(), step
        return self._value


def open_view(
    envs: VecEnv,
    options: LiveViewOptions,
    *,
    global_step: Callable[[], int],
    complain: Callable[[str], None],
    evaluation: bool = False,
) -> LiveView | None:
    """The view that a run's options ask for; without room in shared memory the run goes on without one."""
    if not options.fastlane_enabled or options.video_mode == "off":
        return None
    try:
        return LiveView(
            envs,
            grid_limit=options.grid_limit,
            global_step=global_step,
            complain=complain,
            evaluation=evaluation,
        )
    except OSError as error:
        complain(f"the live view is off: no room for its frames ({error}); the run goes on")
        return None
