"""The record of a script's run: what the hooks see becomes events, without a wait for the script.

The script's thread only appends to a deque. The recorder's thread, four times a second, joins neighbouring scalars of
one step into one event and makes an episode of each pair of episodic return and length. A script that logs no episodic
return has the episodes that were counted in its environments.
"""

import math
import os
import socket
import threading
import time
from collections import deque
from pathlib import Path

from cleanrl_worker.foreign.script_plan import ScriptPlan
from cleanrl_worker.foreign.step_counts import MOST_WAITING, EndedEpisode, StepCounts
from cleanrl_worker.foreign.unfenced_thread import UnfencedThread
from cleanrl_worker.sdk.record.event_recorder import HEARTBEAT_S, EventRecorder, Pulse
from cleanrl_worker.sdk.record.manifest_writer import ManifestWriter
from cleanrl_worker.sdk.record.spool import Spool
from mosaic.errors import UnsafePath
from mosaic.spec.events import (
    LENGTH_TAG,
    RETURN_TAG,
    Episode,
    EventBody,
    Heartbeat,
    LiveViewOpened,
    Number,
    PolicySaved,
    RunCompleted,
    RunFailed,
    RunStarted,
    Scalars,
    VideoSaved,
    Warned,
    number,
)
from mosaic.spec.manifest import Artifact, Manifest, common_artifacts
from mosaic.spec.processes.secret_keys import hidden
from mosaic.spec.run_dir import run_label

LAST_STEP = 2**63 - 1
"""What an index can hold."""
OWN_EPISODES_S = 5.0
"""So long after the first episode a script is waited for to log episodes itself, before the counted ones are taken."""
FEWEST_OWN_STEPS = 1 / 8
"""Of the counted steps: one who logs fewer logs by episodes or updates."""


class ScriptRecord:
    """Opened before the script begins, finished when it has ended."""

    def __init__(self, plan: ScriptPlan) -> None:
        self.run_dir = plan.run_dir
        self.plan = plan
        self.counts = StepCounts()
        """Of its environments."""
        self._logged_step = self._furthest_step = 0
        self._logs_episodes = False
        self._waits_since: float | None = None
        self._seen: deque[tuple[float, str, float, int]] = deque()
        self._turn = threading.Lock()
        self._open: tuple[float, int, dict[str, Number]] | None = None
        self._return: tuple[float, float, int] | None = None
        self._pulse = Pulse()
        spool = Spool(self.run_dir.events)
        self.attempt = spool.attempts + 1
        settings = plan.settings
        label = run_label(settings["env_id"], plan.script.stem, settings["seed"], int(time.time()))
        self._manifest_writer = ManifestWriter(
            self.run_dir,
            Manifest(
                run_id=self.run_dir.run_id,
                algo=plan.script.name,
                env_id=settings["env_id"],
                seed=settings["seed"],
                label=label,
                artifacts=common_artifacts(self.run_dir),
            ),
        )
        self._recorder = EventRecorder(spool, (), beat=self._beat)
        self.unfenced_thread = UnfencedThread()
        self._pid = os.getpid()

    @property
    def global_step(self) -> int:
        """How far the script is: the furthest step that it has logged, or else the steps of its environments."""
        logged, counted = self._logged_step, self.counts.steps
        step = logged if logged >= counted * FEWEST_OWN_STEPS else min(counted, LAST_STEP)
        # It never goes back, whichever of the two is right.
        self._furthest_step = max(self._furthest_step, step)
        return self._furthest_step

    @property
    def is_mine(self) -> bool:
        """False in a process that the script forked: only its parent keeps the record."""
        return os.getpid() == self._pid

    def begin(self) -> None:
        self._keep_source()
        settings = self.plan.settings
        self.emit(
            RunStarted(
                algo=self.plan.script.name,
                env_id=settings["env_id"],
                seed=settings["seed"],
                total_timesteps=settings["total_timesteps"],
                attempt=self.attempt,
                resumed_from_step=0 if self.attempt > 1 else None,
                exact=self.attempt == 1,
                pid=self._pid,
                host=socket.gethostname(),
            )
        )

    def _keep_source(self) -> None:
        """A copy of what is run: the file itself may be another one tomorrow."""
        kept = self.run_dir.root / "script" / self.plan.script.name
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        kept.write_bytes(self.plan.script.path.read_bytes())
        self._list(Artifact(kind="script", path=self.run_dir.relative(kept)))

    def emit(self, body: EventBody) -> None:
        if self.is_mine:
            self._recorder.emit(body)

    def scalar(self, tag: str, value: float, step: int | None) -> None:
        """A number that the script logged; ends the script if nothing can be recorded any more."""
        if self._recorder.error is not None:
            raise self._recorder.error
        if not self.is_mine:
            return  # Nothing would ever take it out of the queue.
        # A step that no event can have (-1 for "none") would cost the number.
        at = self.global_step if step is None else min(max(step, 0), LAST_STEP)
        if at > self._logged_step and step is not None and not tag.startswith("eval"):
            self._logged_step = at
        self._seen.append((time.time(), tag, value, at))

    def policy(self, path: Path) -> None:
        """A model file that the script saved."""
        relative = self._inside(path)
        if relative is not None:
            self._list(Artifact(kind="policy", path=relative, global_step=self.global_step))
            self.emit(PolicySaved(global_step=self.global_step, path=relative))

    def video(self, path: Path, episode: int, length: int) -> None:
        relative = self._inside(path)
        if relative is not None:
            self._list(Artifact(kind="video", path=relative, global_step=self.global_step))
            self.emit(VideoSaved(path=relative, episode_id=episode, episodic_return="nan", episodic_length=length))

    def board(self, folder: Path) -> None:
        """A folder of TensorBoard files."""
        if self.is_mine:
            self.unfenced_thread.do(lambda: self._manifest_writer.add_board(folder))

    def view(self, path: str, environments: int) -> None:
        self._list(Artifact(kind="fastlane", path=path))
        self.emit(LiveViewOpened(path=path, environments=environments))

    def view_closed(self, path: str) -> None:
        self.unfenced_thread.do(lambda: self._manifest_writer.remove(path))

    def warn(self, message: str) -> None:
        self.emit(Warned(message=message))

    def finish(self, failure: BaseException | None, *, stopped: bool, message: str = "") -> None:
        """The last event; every event is on disk when this returns, or it raises."""
        with self._turn:
            self._take()
            self._put_lone_return()
            self._close_row()
            self._take_counted(at_the_end=True)
        if failure is None:
            self.emit(RunCompleted(global_step=self.global_step, stopped=stopped))
        else:
            text = hidden(message or str(failure))
            self.emit(RunFailed(global_step=self.global_step, error=type(failure).__name__, message=text))
        self._recorder.close()
        self.unfenced_thread.close()
        if self._recorder.error is not None:
            raise self._recorder.error

    def _list(self, artifact: Artifact) -> None:
        self.unfenced_thread.do(lambda: self._manifest_writer.add(artifact))

    def _inside(self, path: Path) -> str | None:
        """Relative to the run; None for what lies elsewhere, or was done by a forked process."""
        try:
            return self.run_dir.relative(path.absolute()) if self.is_mine else None
        except UnsafePath:
            return None

    # In the recorder's thread, but for the end.

    def _beat(self) -> Heartbeat | None:
        with self._turn:
            self._take()
            self._close_row()
            self._take_counted()
        step = self.global_step
        rate = self._pulse.steps_per_s(step)
        return None if rate is None else Heartbeat(global_step=step, steps_per_s=rate)

    def _take(self) -> None:
        while self._seen:
            at, tag, value, step = self._seen.popleft()
            if tag == RETURN_TAG:
                self._logs_episodes = True
                self._put_lone_return()
                self._return = (at, value, step)
            elif tag == LENGTH_TAG and self._return is not None and self._return[2] == step and _is_length(value):
                _, episodic_return, _ = self._return
                self._return = None
                self._close_row()
                episode = Episode(
                    global_step=step, slot=0, episodic_return=number(episodic_return), episodic_length=int(value)
                )
                self._recorder.emit(episode, at=at)
            else:
                self._put(at, tag, value, step)

    def _take_counted(self, *, at_the_end: bool = False) -> None:
        """Episodes of the environments, unless the script logs its own."""
        ended = self.counts.ended
        if not ended:
            return
        if self._logs_episodes:
            ended.clear()
            return
        if self._waits_since is None:
            self._waits_since = time.monotonic()
        if not at_the_end and time.monotonic() - self._waits_since < OWN_EPISODES_S:
            return
        if len(ended) == MOST_WAITING:
            self.warn("episodes end faster than they can be recorded: some are left out")
        while ended:
            self._recorder.emit(_event_of(episode := ended.popleft()), at=episode.time)

    def _put(self, at: float, tag: str, value: float, step: int) -> None:
        if self._open is not None and (self._open[1] != step or tag in self._open[2]):
            self._close_row()
        if self._open is None:
            self._open = (at, step, {})
        self._open[2][tag] = number(value)

    def _put_lone_return(self) -> None:
        """A return whose length was never logged is a scalar like any other."""
        if self._return is not None:
            at, value, step = self._return
            self._return = None
            self._put(at, RETURN_TAG, value, step)

    def _close_row(self) -> None:
        if self._return is not None and not self._seen and time.time() - self._return[0] > HEARTBEAT_S:
            self._put_lone_return()
        if self._open is not None:
            at, step, values = self._open
            self._open = None
            self._recorder.emit(Scalars(global_step=step, values=values), at=at)


def _event_of(episode: EndedEpisode) -> Episode:
    return Episode(
        global_step=min(episode.global_step, LAST_STEP),
        slot=episode.slot,
        episodic_return=number(episode.episodic_return),
        episodic_length=episode.length,
    )


def _is_length(value: float) -> bool:
    return math.isfinite(value) and value >= 0
