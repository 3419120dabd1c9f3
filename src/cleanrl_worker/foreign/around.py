"""All that is put up around a script before its first line, and taken down after its last."""

from cleanrl_worker.foreign.board import Boards
from cleanrl_worker.foreign.hooks import Hooks
from cleanrl_worker.foreign.plan import ScriptPlan
from cleanrl_worker.foreign.record import Record
from cleanrl_worker.foreign.stopping import Stopping


class Surroundings:
    def __init__(self, plan: ScriptPlan, record: Record, stopping: Stopping) -> None:
        self._plan = plan
        self._record = record
        self._stopping = stopping
        self._hooks = Hooks()
        self._boards = Boards(record, files=plan.flags.tensorboard and not plan.options.fastlane_only)

    def put_up(self) -> None:
        self._hooks.install()
        self._boards.hook(self._hooks)

    def take_down(self) -> None:
        self._boards.close()
