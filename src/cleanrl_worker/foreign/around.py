"""All that is put up around a script before its first line, and taken down after its last."""

import random

from cleanrl_worker.foreign import films, helpers, old_gym, pools, processes_of_sb3
from cleanrl_worker.foreign.board import Boards
from cleanrl_worker.foreign.hooks import Hooks
from cleanrl_worker.foreign.idioms import modules, vector, wrappers
from cleanrl_worker.foreign.making import Making
from cleanrl_worker.foreign.models import Models
from cleanrl_worker.foreign.plan import ScriptPlan
from cleanrl_worker.foreign.record import Record
from cleanrl_worker.foreign.stage import Stage
from cleanrl_worker.foreign.stopping import Stopping
from cleanrl_worker.foreign.trackers import Tracker
from mosaic import envs


class Surroundings:
    def __init__(self, plan: ScriptPlan, record: Record, stopping: Stopping) -> None:
        self._plan = plan
        self._record = record
        self._hooks = Hooks()
        self._boards = Boards(record, files=plan.flags.tensorboard and not plan.options.fastlane_only)
        self._stage = Stage(record, stopping, plan.options)
        self._models = Models(record)

    def put_up(self) -> None:
        envs.headless_defaults()
        if self._plan.idioms == "0.29":
            vector.change()
            wrappers.change()
            modules.change(self._hooks)
        Making(self._stage, self._record.counts, old=self._plan.idioms == "0.29").change()
        films.change(self._plan, self._record)
        self._models.change()
        self._hooks.install()
        self._boards.hook(self._hooks)
        pools.hook(self._hooks, self._stage, self._record.counts)
        processes_of_sb3.hook(self._hooks, self._record.counts)
        old_gym.hook(self._hooks)
        helpers.hook(self._hooks, self._record)
        Tracker(self._plan, self._record).hook(self._hooks)
        if "seed" not in self._plan.script.named:
            _seed(self._plan.settings["seed"])

    def take_down(self) -> None:
        self._stage.close()
        self._boards.close()
        self._models.find_rest(self._record.run_dir.root / "work")


def _seed(seed: int) -> None:
    """For a script that has no flag for it."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
