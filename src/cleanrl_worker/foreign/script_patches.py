"""All that is put up around a script before its first line, and taken down after its last."""

import functools
import random
from types import ModuleType
from typing import Any

from cleanrl_worker.foreign import envpool_patches, old_gym, record_video
from cleanrl_worker.foreign.counted_classes import KEY, add
from cleanrl_worker.foreign.environment_patches import EnvironmentPatches
from cleanrl_worker.foreign.idioms import old_vector, old_wrappers
from cleanrl_worker.foreign.import_hooks import Hooks
from cleanrl_worker.foreign.saved_models import SavedModels
from cleanrl_worker.foreign.script_plan import ScriptPlan
from cleanrl_worker.foreign.script_record import ScriptRecord
from cleanrl_worker.foreign.shown_environments import ShownEnvironments
from cleanrl_worker.foreign.step_counts import StepCounts, VectorCount
from cleanrl_worker.foreign.stop_signals import Stopping
from cleanrl_worker.foreign.summary_writer import SummaryWriters
from cleanrl_worker.foreign.wandb_stand_in import Tracker
from mosaic import envs


class ScriptPatches:
    def __init__(self, plan: ScriptPlan, record: ScriptRecord, stopping: Stopping) -> None:
        self._plan = plan
        self._record = record
        self._hooks = Hooks()
        self._boards = SummaryWriters(record, files=plan.flags.tensorboard and not plan.options.fastlane_only)
        self._shown_environments = ShownEnvironments(record, stopping, plan.options)
        self._models = SavedModels(record)

    def put_up(self) -> None:
        envs.headless_defaults()
        if self._plan.idioms == "0.29":
            old_vector.change()
            old_wrappers.change()
            add_old_modules(self._hooks)
        EnvironmentPatches(self._shown_environments, self._record.counts, old=self._plan.idioms == "0.29").change()
        record_video.change(self._plan, self._record)
        self._models.change()
        self._hooks.install()
        self._boards.hook(self._hooks)
        envpool_patches.hook(self._hooks, self._shown_environments, self._record.counts)
        count_processes_of_sb3(self._hooks, self._record.counts)
        old_gym.hook(self._hooks)
        replace_cleanrl_utils(self._hooks, self._record)
        Tracker(self._plan, self._record).hook(self._hooks)
        if "seed" not in self._plan.script.named:
            _seed(self._plan.settings["seed"])

    def take_down(self) -> None:
        self._shown_environments.close()
        self._boards.close()
        self._models.find_rest(self._record.run_dir.root / "work")


def _seed(seed: int) -> None:
    """For a script that has no flag for it."""
    import numpy as np
    import torch

    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


EVALUATIONS = (
    "ppo",
    "dqn",
    "c51",
    "ddpg",
    "td3",
    "sac",
    "dqn_jax",
    "c51_jax",
    "ddpg_jax",
    "td3_jax",
    "ppo_envpool_jax",
)


def replace_cleanrl_utils(hooks: Hooks, record: ScriptRecord) -> None:
    """`cleanrl_utils` where there is none: a script that evaluates at its end must not fail after hours of training."""

    def evaluate(*_: Any, **__: Any) -> list[float]:
        record.warn(
            "no evaluation: the script asks for cleanrl_utils, which is neither beside it nor in the checkout's root;"
            " the model is saved"
        )
        return []

    def push_to_hub(*_: Any, **__: Any) -> None:
        record.warn("nothing was uploaded: the script asks for cleanrl_utils.huggingface, which is not here")

    def fill_evaluation(module: ModuleType) -> None:
        known: Any = module
        known.evaluate = evaluate

    def fill_upload(module: ModuleType) -> None:
        known: Any = module
        known.push_to_hub = push_to_hub

    def fill_package(module: ModuleType) -> None:
        known: Any = module
        known.__path__ = []

    for package in ("cleanrl_utils", "cleanrl_utils.evals"):
        hooks.if_missing(package, fill_package)
    for name in EVALUATIONS:
        hooks.if_missing(f"cleanrl_utils.evals.{name}_eval", fill_evaluation)
    hooks.if_missing("cleanrl_utils.huggingface", fill_upload)


NAMES = {
    "atari_preprocessing": ("AtariPreprocessing",),
    "autoreset": ("AutoResetWrapper",),
    "clip_action": ("ClipAction",),
    "filter_observation": ("FilterObservation",),
    "flatten_observation": ("FlattenObservation",),
    "frame_stack": ("FrameStack",),
    "gray_scale_observation": ("GrayScaleObservation",),
    "human_rendering": ("HumanRendering",),
    "normalize": ("NormalizeObservation", "NormalizeReward", "RunningMeanStd"),
    "order_enforcing": ("OrderEnforcing",),
    "record_episode_statistics": ("RecordEpisodeStatistics",),
    "record_video": ("RecordVideo",),
    "rescale_action": ("RescaleAction",),
    "resize_observation": ("ResizeObservation",),
    "time_aware_observation": ("TimeAwareObservation",),
    "time_limit": ("TimeLimit",),
    "transform_observation": ("TransformObservation",),
    "transform_reward": ("TransformReward",),
}


def add_old_modules(hooks: Hooks) -> None:
    """Modules that Gymnasium 0.29 had and 1.x has not: `gymnasium.wrappers.record_video` and its kin."""
    for name, classes in NAMES.items():
        hooks.if_missing(f"gymnasium.wrappers.{name}", _holding(classes))


def _holding(classes: tuple[str, ...]) -> Any:
    def fill(module: ModuleType) -> None:
        import gymnasium.wrappers

        for name in classes:
            setattr(module, name, getattr(gymnasium.wrappers, name, None) or getattr(gymnasium.wrappers.utils, name))

    return fill


MODULE = "stable_baselines3.common.vec_env.subproc_vec_env"


def count_processes_of_sb3(hooks: Hooks, counts: StepCounts) -> None:
    """SubprocVecEnv steps its environments in other processes, so its steps are counted here."""
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
