"""RecordVideo: films written by our own encoder, reported, and only where they were asked for."""

import argparse
import functools
from pathlib import Path
from typing import Any

import gymnasium as gym
from gymnasium import wrappers

from cleanrl_worker.foreign.script_plan import ScriptPlan
from cleanrl_worker.foreign.script_record import ScriptRecord
from cleanrl_worker.sdk.live.video import cubic
from mosaic.fastlane.video_file import VideoFile


def change(plan: ScriptPlan, record: ScriptRecord) -> None:
    """Without an encoder that is not installed, without a word where `capture_video` is off: upstream's evaluation
    films what it is told."""
    cls: Any = wrappers.RecordVideo
    cls.__init__ = _begin(_Wish(plan), record)
    cls.stop_recording = _stop(record)


class _Wish:
    """Whether films were asked for: the script's `capture_video`, as tyro's or argparse's flags say; yes without."""

    def __init__(self, plan: ScriptPlan) -> None:
        self.films = plan.settings.get("capture_video", True) is not False
        parser: Any = argparse.ArgumentParser
        original = parser.parse_args

        @functools.wraps(original)
        def parse_args(*args: Any, **kwargs: Any) -> Any:
            parsed = original(*args, **kwargs)
            if hasattr(parsed, "capture_video"):
                self.films = bool(parsed.capture_video)
            return parsed

        parser.parse_args = parse_args


def _begin(wish: _Wish, record: ScriptRecord) -> Any:

    @functools.wraps(wrappers.RecordVideo.__init__)
    def __init__(  # noqa: N807
        this: Any,
        env: gym.Env[Any, Any],
        video_folder: str,
        episode_trigger: Any = None,
        step_trigger: Any = None,
        video_length: int = 0,
        name_prefix: str = "rl-video",
        fps: int | None = None,
        disable_logger: bool = True,
        gc_trigger: Any = None,
    ) -> None:
        # The seventh argument of 0.29 was `disable_logger`.
        rate = None if isinstance(fps, bool) else fps
        gym.Wrapper.__init__(this, env)
        this._saved_kwargs = {"video_folder": video_folder, "name_prefix": name_prefix}
        nothing_said = episode_trigger is None and step_trigger is None
        can = env.render_mode in ("rgb_array", "rgb_array_list")
        if wish.films and not can:
            record.warn(f"no videos: the environment was made with render_mode={env.render_mode!r}, not 'rgb_array'")
        films = wish.films and can
        this.episode_trigger = (cubic if nothing_said else episode_trigger) if films else None
        this.step_trigger = step_trigger if films else None
        this.disable_logger, this.gc_trigger = disable_logger, gc_trigger
        this.video_folder = str(Path(video_folder).absolute())
        this.frames_per_sec = rate or this.metadata.get("render_fps", 30)
        this.name_prefix, this._video_name = name_prefix, None
        this.video_length = video_length or float("inf")
        this.recording, this.recorded_frames, this.render_history = False, [], []
        this.step_id = this.episode_id = -1

    return __init__


def _stop(record: ScriptRecord) -> Any:
    def stop_recording(this: Any) -> None:
        frames, name = this.recorded_frames, this._video_name
        this.recorded_frames, this.recording, this._video_name = [], False, None
        if not frames or name is None:
            return
        path = Path(this.video_folder) / f"{name}.mp4"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            film = VideoFile(path, fps=int(this.frames_per_sec))
            for frame in frames:
                film.add(frame)
            film.close()
        except Exception as error:  # A border: a picture that no film can be made of must not cost the training.
            record.warn(f"{path.name} could not be written: {error}; the run goes on")
            return
        number = name.rpartition("-")[2]
        record.video(path, int(number) if number.isdigit() else 0, len(frames) - 1)

    return stop_recording
