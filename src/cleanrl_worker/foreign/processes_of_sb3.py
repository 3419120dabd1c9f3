"""Stable-Baselines3's SubprocVecEnv: its environments are stepped in other processes, so its steps are counted here."""

import functools
from types import ModuleType
from typing import Any

from cleanrl_worker.foreign.counted_classes import KEY, add
from cleanrl_worker.foreign.hooks import Hooks
from cleanrl_worker.foreign.step_counts import StepCounts, VectorCount

MODULE = "stable_baselines3.common.vec_env.subproc_vec_env"


def hook(hooks: Hooks, counts: StepCounts) -> None:
    hooks.when_imported(MODULE, functools.partial(_change, counts=counts))


def _change(module: ModuleType, *, counts: StepCounts) -> None:
    known: Any = module
    cls = known.SubprocVecEnv
    wait, restart = cls.step_wait, cls.reset

    @functools.wraps(wait)
    def step_wait(this: Any) -> Any:
        result = wait(this)
        if not hasattr(this, KEY):
            setattr(this, KEY, VectorCount(counts, this.num_envs, resets_by_a_step=False))
        if (count := getattr(this, KEY)) is not None:
            _, rewards, dones, infos = result
            add(this, count.take, rewards, dones, infos)
        return result

    @functools.wraps(restart)
    def reset(this: Any) -> Any:
        if (count := getattr(this, KEY, None)) is not None:
            count.reset()
        return restart(this)

    cls.step_wait, cls.reset = step_wait, reset
