"""Modules that Gymnasium 0.29 had and 1.x has not: `gymnasium.wrappers.record_video` and its kin."""

from types import ModuleType
from typing import Any

from cleanrl_worker.foreign.hooks import Hooks

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


def change(hooks: Hooks) -> None:
    for name, classes in NAMES.items():
        hooks.if_missing(f"gymnasium.wrappers.{name}", _holding(classes))


def _holding(classes: tuple[str, ...]) -> Any:
    def fill(module: ModuleType) -> None:
        import gymnasium.wrappers

        for name in classes:
            setattr(module, name, getattr(gymnasium.wrappers, name, None) or getattr(gymnasium.wrappers.utils, name))

    return fill
