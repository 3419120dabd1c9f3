"""The live view of environments whose state can be copied: microseconds of the learner's time, whatever is drawn.

The learner writes the states of the slots that are shown into a table (`mosaic.fastlane.state_table`); the painter, a
process of low priority that lives while a viewer looks, draws and publishes them, and says in the table what it needs
next. The view's own thread only waits for the first viewer, because each time that a thread wakes, the learner waits
for it.
"""

import math
import subprocess
import tempfile
import time
from collections.abc import Callable

from cleanrl_worker.sdk.live.live_view import LiveView
from mosaic.envs import VecEnv
from mosaic.envs.vector.twin import Freezer
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import MAX_TILES
from mosaic.fastlane.state_table import Job, StateTable
from mosaic.fastlane.viewer_lease import Lookout
from mosaic.spec.processes.python_child import PythonChild, own_path, wait_or_kill
from mosaic.spec.run_config import LiveView as LiveViewOptions

LOOK_S = 0.5
"""How often the view asks whether a viewer is connected, and the learner what it wants."""
FIRST_STATES_S = 0.05
END_S = 2.0


class TwinView(LiveView):
    """`due_at` and `show` are for the learner."""

    def __init__(
        self,
        envs: VecEnv,
        freezer: Freezer,
        ring: RingWriter,
        options: LiveViewOptions,
        *,
        env_id: str = "",
        global_step: Callable[[], int],
        complain: Callable[[str], None],
        evaluation: bool = False,
    ) -> None:
        super().__init__(envs, ring, env_id=env_id, global_step=global_step, complain=complain)
        self._freezer = freezer
        self._options = options
        self._limit = min(options.grid_limit, MAX_TILES, envs.num_envs)
        self._evaluation = evaluation
        self._table: StateTable | None = None
        self._painter: _Painter | None = None
        self._thread.start()

    def show(self) -> None:
        """Hand over the states of the slots that are shown."""
        began = time.monotonic()
        try:
            self._hand_over()
        except Exception as error:  # A border: a user's environment may raise anything.
            self._give_up(repr(error))
            return
        now = time.monotonic()
        wanted = self._table and self._table.wanted
        self.due_at = now + (max(1 / wanted.fps, (now - began) / wanted.budget) if wanted else LOOK_S)

    def _hand_over(self) -> None:
        table = self._table
        if table is None:
            # Only now: the length of a state is known once the environments have been reset.
            self._table = StateTable.create(self._envs.num_envs, len(self._freezer.freeze(0)))
        elif (wanted := table.wanted) is not None:
            for slot in wanted.slots:
                table.write(slot, self._freezer.freeze(slot), *self._envs.episode_so_far(slot))
            table.global_step = self._global_step()
            table.line = self.line
            table.about = "" if wanted.explained is None else self.explained.text(wanted.explained)

    def close(self) -> None:
        self._closing.set()
        self.due_at = math.inf
        self._thread.join()
        if self._painter is not None:
            self._painter.end()
        self._ring.close()
        if self._table is not None:
            self._table.close()

    # In the view's thread.

    def _work(self) -> None:
        lookout = Lookout(self._ring.path)
        while not self._closing.wait(LOOK_S if self.due_at else FIRST_STATES_S):
            code = None if self._painter is None else self._painter.code
            if self._painter is not None and code is None:
                continue
            if self._painter is not None and code:
                self._give_up(f"the process that draws ended with {code}: {self._painter.last_words}")
                return
            if lookout.look() is None:
                self.due_at = math.inf
            elif self._table is None:
                self.due_at = 0.0
            else:
                if self._painter is not None:
                    self._painter.end()
                self._painter = _Painter(self._job(self._table))
                self.due_at = 0.0

    def _job(self, table: StateTable) -> Job:
        return Job(
            env_id=self._freezer.env_id,
            settings=dict(self._freezer.settings),
            ring=self.path,
            table=table.descriptor,
            environments=self._envs.num_envs,
            floats=table.floats,
            grid_limit=self._limit,
            mode=self._options.video_mode,
            slot=self._options.fastlane_slot,
            fps=self._options.fastlane_fps,
            budget=self._options.fastlane_budget,
            evaluation=self._evaluation,
        )


class _Painter:
    def __init__(self, job: Job) -> None:
        # A file, not a pipe: it is not read unless the painter fails.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        # In the working directory of the run: MuJoCo writes its warnings into the current folder.
        child = PythonChild(module="cleanrl_worker.painter", words=(job.to_text(),), path=own_path(), cwd=None)
        self._process = child.popen(
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._stderr, pass_fds=(job.table,)
        )

    @property
    def code(self) -> int | None:
        """None while it lives; 0 once it ended because no viewer was left."""
        return self._process.poll()

    @property
    def last_words(self) -> str:
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        wait_or_kill(self._process, END_S)
        self._stderr.close()
