"""The painter: a process of low priority that draws the twins of a run's environments while a viewer is connected.

    python -m cleanrl_worker.painter '{"env_id": …}'

`cleanrl_worker.sdk.live.twin_view` starts it and hands over a table of states; it ends when its stdin is closed, that
is, when the worker ends however it may end, or when no viewer was there for a while. Nothing here is in the learner's
time.
"""

import select
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mosaic import envs
from mosaic.envs.vector.twin import Twin
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.state_table import Job, Shown, StateTable
from mosaic.fastlane.tile_picture import TilePicture
from mosaic.fastlane.viewer_lease import Demand
from mosaic.operating_system import lower_priority

NICENESS = 14
"""Against a learner that needs the same core this gets a twentieth of it; a core that is free it gets whole."""
LOOK_S = 0.25
IDLE_S = 60.0
BUSY = 1.5
"""Elapsed over processor time from which on the machine is taken to have no core to spare."""
SMOOTHING = 0.2
NO_NEWS_S = 0.01
"""The learner is busy with an update: nothing moves."""


class Painter:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._table = StateTable(job.table, job.environments, job.floats)
        self._screen = TilePicture(
            RingWriter.attach(Path(job.ring)),
            environments=job.environments,
            grid_limit=job.grid_limit,
            mode=job.mode,
            slot=job.slot,
            fps=job.fps,
            budget=job.budget,
            evaluation=job.evaluation,
            smooth=True,
        )
        family = envs.family_of(job.env_id)
        assert family.twin is not None
        self._twin: Twin = family.twin
        self._env: Any = None
        self._width = 0
        self._drawn: dict[int, int] = {}
        self._next = 0
        self._stepped_back = False
        self._strain = 1.0

    def work(self) -> None:
        """Until the worker ends or no viewer is connected any more."""
        demand: Demand | None = None
        looked, wanted_at = -LOOK_S, time.monotonic()
        pause_s = 0.0
        while not _stdin_closed(max(pause_s, 0.0)):
            now = time.monotonic()
            if now - looked >= LOOK_S:
                looked, demand = now, self._screen.look()
                self._table.want(demand and self._wanted(demand))
            if demand is None:
                if now - wanted_at > IDLE_S:
                    return
                pause_s = LOOK_S
                continue
            wanted_at, cpu_s = now, time.process_time()
            drawn = self._paint(demand, now + 1 / demand.fps)
            if drawn:
                self._screen.publish(
                    demand, global_step=self._table.global_step, line=self._table.line, about=self._table.about
                )
                self._step_back(demand)
            rest_s = self._rest_s(time.monotonic() - now, time.process_time() - cpu_s, demand.budget)
            pause_s = max(1 / demand.fps, rest_s) - (time.monotonic() - now) if drawn else NO_NEWS_S

    def _wanted(self, demand: Demand) -> Shown:
        return Shown(self._screen.shown(demand.wishes), demand.fps, demand.budget, demand.wishes.explained)

    def _paint(self, demand: Demand, until: float) -> bool:
        """Draw the tiles that changed, going on where the time was over before."""
        wishes = demand.wishes
        slots = self._screen.shown(wishes)
        drawn = False
        for slot in self._turns(slots, wishes.slot):
            row = self._table.read(slot)
            if row is None or row.sequence == self._drawn.get(slot):
                continue
            env = self._env_of(self._screen.widest(wishes))
            self._twin.thaw(env.unwrapped, row.state)
            self._twin.follow(env.unwrapped)
            size = self._screen.tile_size(wishes)
            tile = None if size is None else self._twin.tile(env.unwrapped, *size)
            if tile is not None:
                self._screen.put(wishes, tile, row.tile)
            else:
                self._screen.draw(wishes, np.asarray(env.render(), np.uint8), row.tile)
            self._drawn[slot] = row.sequence
            drawn = True
            # Not behind the one in favour: the others would never be drawn where one takes that long.
            if slot != wishes.slot and time.monotonic() > until:
                break
        return drawn

    def _turns(self, slots: range, favourite: int | None) -> Iterator[int]:
        """The one in favour first, each time; then the others, from where the time was over before."""
        others = [slot for slot in slots if slot != favourite or len(slots) == 1]
        if favourite is not None and favourite in slots and len(slots) > 1:
            yield favourite
        for _ in others:
            self._next += 1
            yield others[(self._next - 1) % len(others)]

    def _rest_s(self, elapsed_s: float, cpu_s: float, budget: float) -> float:
        """From one beginning to the next: where every core is busy, the time that this took is a learner's."""
        self._strain += SMOOTHING * (elapsed_s / max(cpu_s, 1e-6) - self._strain)
        return cpu_s / budget if self._strain > BUSY else 0.0

    def _step_back(self, demand: Demand) -> None:
        """Not before every tile was drawn once: on a busy machine a viewer would wait long for the first pictures."""
        if not self._stepped_back and all(slot in self._drawn for slot in self._screen.shown(demand.wishes)):
            self._stepped_back = True
            lower_priority(NICENESS)

    def _env_of(self, width: int) -> Any:
        """The twin, made anew when its pictures must have another size."""
        arguments = self._twin.sized(width)
        if self._env is None or (arguments and width != self._width):
            if self._env is not None:
                self._env.close()
            self._env = envs.make(self._job.env_id, settings=self._job.settings, **arguments)
            self._env.reset(seed=0)
            self._twin.simplify(self._env.unwrapped)
            self._width = width
            self._drawn.clear()
        return self._env


def _stdin_closed(timeout_s: float) -> bool:
    """The worker writes nothing: readable means that it is gone."""
    return bool(select.select([sys.stdin], [], [], timeout_s)[0])


def main() -> int:
    # Signals are for the worker, whose end also ends this process.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_IGN)
    envs.headless_defaults()
    Painter(Job.from_text(sys.argv[1])).work()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
