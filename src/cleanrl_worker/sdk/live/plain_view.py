"""The live view of environments that must draw themselves: within a share of the learner's time.

When a picture is due the learner waits while the view's thread renders one environment: in the learner's time rather
than beside it, because both would fight for the interpreter, and in a thread of its own, because `render()` may never
return. The thread then fits the picture into its tile and publishes; what all of it cost decides when the next is due.
"""

import math
import threading
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.sdk.live.live_view import LiveView
from mosaic.envs import VecEnv
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import MAX_TILES, Tile
from mosaic.fastlane.tile_picture import TilePicture
from mosaic.fastlane.viewer_lease import Demand
from mosaic.spec.run_config import LiveView as LiveViewOptions

LOOK_S = 0.5
"""How often the view asks whether a viewer is connected."""
RENDER_TIMEOUT_S = 5.0
"""The learner waits no longer for one frame, ever: then the view is off for good."""

Picture = NDArray[np.uint8]


class PlainView(LiveView):
    """One thread, one ring; `due_at` and `show` are for the learner."""

    def __init__(
        self,
        envs: VecEnv,
        ring: RingWriter,
        options: LiveViewOptions,
        *,
        env_id: str = "",
        global_step: Callable[[], int],
        complain: Callable[[str], None],
        evaluation: bool = False,
    ) -> None:
        super().__init__(envs, ring, env_id=env_id, global_step=global_step, complain=complain)
        self._screen = TilePicture(
            ring,
            environments=envs.num_envs,
            grid_limit=min(options.grid_limit, MAX_TILES),
            mode=options.video_mode,
            slot=options.fastlane_slot,
            fps=options.fastlane_fps,
            budget=options.fastlane_budget,
            evaluation=evaluation,
        )
        self._asked = threading.Event()
        self._rendered = threading.Event()
        self._slot = -1
        self._offered = False
        self._to_explain: int | None = None
        self._about = ""
        self._pace = PictureBudget()
        self._turns = Turns()
        self._thread.start()

    def show(self) -> None:
        """Wait until the view has a picture of one environment."""
        self.due_at = math.inf
        began = time.perf_counter()
        self._asked.set()
        if not self._rendered.wait(RENDER_TIMEOUT_S):
            self._give_up(f"render() did not return within {RENDER_TIMEOUT_S:g} s")
        self._rendered.clear()
        # Here, because only the learner may ask the agent: it goes with the next picture.
        slot = self._to_explain
        self._about = self.explained.text(slot) if slot is not None and slot < self._envs.num_envs else ""
        self._pace.learner_paid(self._slot, time.perf_counter() - began)

    def close(self) -> None:
        gave_up = self._closing.is_set()
        self._closing.set()
        self.due_at = math.inf
        self._asked.set()
        # A render() that blocks would block this too.
        self._thread.join(0.1 if gave_up else RENDER_TIMEOUT_S)
        self._ring.close()
        self._screen.close()

    # In the view's thread.

    def _work(self) -> None:
        try:
            self._serve()
        except Exception as error:  # A border: whatever is wrong with a view, the run goes on.
            self._give_up(repr(error))
        finally:
            self._rendered.set()

    def _serve(self) -> None:
        demand: Demand | None = None
        looked = -LOOK_S
        while not self._closing.is_set():
            now = time.monotonic()
            if now - looked >= LOOK_S:
                looked, demand = now, self._screen.look()
                self._to_explain = demand.wishes.explained if demand is not None else None
            if demand is None:
                self._idle()
                continue
            slots = self._screen.shown(demand.wishes)
            wait_s = self._pace.wait_s(now, demand, len(slots))
            if wait_s > 0 and not self._offered:
                self._closing.wait(min(wait_s, LOOK_S))
                continue
            self._offer(slots, demand)
            if self._asked.wait(LOOK_S) and not self._closing.is_set():
                self._take_picture(demand)

    def _offer(self, slots: range, demand: Demand) -> None:
        """Ask the learner for a picture; it may be busy with an update for seconds, and the viewer change its mind."""
        if not self._offered or self._slot not in slots:
            self._slot = self._turns.next(slots, demand, time.monotonic())
        # Once: the learner may have taken it just now.
        if not self._offered:
            self._offered = True
            self.due_at = 0.0

    def _idle(self) -> None:
        self._offered = False
        self.due_at = math.inf
        # The learner may have seen the offer just before the last viewer left: it must not wait in vain.
        if self._asked.wait(LOOK_S) and not self._closing.is_set():
            self._asked.clear()
            self._rendered.set()

    def _take_picture(self, demand: Demand) -> None:
        self._asked.clear()
        self._offered = False
        slot = self._slot
        picture, problem = self._render(slot)
        episode_return, episode_length = self._envs.episode_so_far(slot)
        self._rendered.set()
        began = time.perf_counter()
        if picture is None:
            self._give_up(problem)
        elif not self._closing.is_set():
            self._screen.draw(demand.wishes, picture, Tile(slot, episode_length, episode_return))
            self._screen.publish(demand, global_step=self._global_step(), line=self.line, about=self._about)
            self._pace.view_paid(slot, time.perf_counter() - began)

    def _render(self, slot: int) -> tuple[Picture | None, str]:
        try:
            picture = self._envs.render_slot(slot)
        except Exception as error:  # A border: a user's environment may raise anything.
            return None, f"render() raised {error!r}"
        if picture is None:
            advice = "; use the bare backend" if self._envs.backend in ("envpool", "native") else ""
            return None, f"the {self._envs.backend} backend gives no picture of this environment{advice}"
        if picture.ndim not in (2, 3) or min(picture.shape[:2]) < 1 or picture.shape[2:] not in ((), (3,), (4,)):
            return None, f"render() returned an array of shape {picture.shape}, which is not a picture"
        return picture, ""


OTHERS_EVERY = 4
"""With one tile in favour, each fourth picture is of another, however small the budget is."""


class Turns:
    """Whose picture is next: each in turn, or the one in favour as often as it may be, and the others in between."""

    def __init__(self) -> None:
        self._last = -1
        self._favourite_at = -math.inf
        self._in_a_row = 0

    def next(self, slots: range, demand: Demand, now: float) -> int:
        favourite = demand.wishes.slot
        if favourite is not None and favourite in slots and len(slots) > 1:
            if self._in_a_row < OTHERS_EVERY - 1 and now - self._favourite_at >= 1 / demand.fps:
                self._favourite_at, self._in_a_row = now, self._in_a_row + 1
                return favourite
            self._in_a_row = 0
        self._last = self._last + 1 if self._last + 1 in slots else slots.start
        return self._last


SMOOTHING = 0.2
FIRST_PAUSE_FACTOR, FIRST_PAUSE_S = 20, 1.0
"""After a slot's first picture, which opens windows and contexts and is not a measure of the others: so many times its
cost, but at most so long."""


class PictureBudget:
    """Fitting and publishing hold the interpreter, so what the view's thread does counts as the learner's time too."""

    def __init__(self) -> None:
        self._learner, self._view = _Cost(), _Cost()
        self._last_end = 0.0
        self._not_before = 0.0

    def learner_paid(self, slot: int, seconds: float) -> None:
        """The learner waited so long for a picture of a slot to be taken."""
        if self._learner.is_first(slot, seconds):
            self._not_before = time.monotonic() + min(seconds * FIRST_PAUSE_FACTOR, FIRST_PAUSE_S)

    def view_paid(self, slot: int, seconds: float) -> None:
        """The view's thread took so long to fit and publish it."""
        self._view.is_first(slot, seconds)
        self._last_end = time.monotonic()

    def wait_s(self, now: float, demand: Demand, tiles: int) -> float:
        """Until the next picture is due: its cost must be no more than the budget's share of the time since."""
        cost_s = self._learner.mean_s + self._view.mean_s
        due = self._last_end + max(cost_s * (1 / demand.budget - 1), 1 / (demand.fps * tiles) - cost_s)
        return max(due, self._not_before) - now


class _Cost:
    """The mean over the last pictures, without the first one of each slot."""

    def __init__(self) -> None:
        self.mean_s = 0.0
        self._seen: set[int] = set()

    def is_first(self, slot: int, seconds: float) -> bool:
        if slot not in self._seen:
            self._seen.add(slot)
            return True
        self.mean_s = self.mean_s + SMOOTHING * (seconds - self.mean_s) if self.mean_s else seconds
        return False
