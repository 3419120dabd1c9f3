"""Every new picture is announced, also one that was looked at before; a clip keeps all that it counts."""

from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.viewer_lease import Wishes
from mosaic.gui.models.live.clip_and_snapshot import Clip
from mosaic.gui.models.live.frame_source import LocalFrames
from mosaic.gui.models.live.picture import Picture

from ..event_loop import run_until

HEAD = FrameHead(global_step=1, steps_per_s=1.0, columns=1, rows=1, tiles=(Tile(0, 1, 1.0),), grid=False)
PIXELS = np.zeros((8, 8, 4), np.uint8)


def shown_by(frames: LocalFrames) -> int:
    picture = frames.peek()
    assert picture is not None
    return picture.number


def test_a_picture_that_was_looked_at_before_is_announced_too(application: QApplication) -> None:
    ring = RingWriter.create(max_pixels=100)
    frames = LocalFrames(ring.path, Wishes())
    announced: list[int] = []
    frames.came.connect(lambda: announced.append(shown_by(frames)))
    try:
        for number in (1, 2, 3):
            ring.publish(HEAD, PIXELS)
            # As a timer does, which asks why there is no picture.
            assert frames.peek() is not None
            run_until(lambda number=number: announced == list(range(1, number + 1)), "the announcement", 60.0)
        application.processEvents()
        assert announced == [1, 2, 3]
    finally:
        frames.close()
        ring.close()


def test_pictures_that_come_in_the_time_of_one_are_one_of_the_clip(
    application: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = Clip(tmp_path / "clip.mp4", fps=10)
    ended: list[str] = []
    clip.ended.connect(lambda _, problem: ended.append(problem))
    picture = Picture.of(1, HEAD, PIXELS)
    for seconds in (0.0, 0.01, 0.1, 0.12, 0.14, 0.3):
        monkeypatch.setattr(Clip, "seconds", seconds)
        clip.add(picture)
    clip.stop()
    run_until(lambda: ended, "the clip")
    application.processEvents()
    assert (ended, clip.pictures) == ([""], 3)
    container: Any = av.open(str(clip.path))
    with container:
        assert [round(frame.time, 2) for frame in container.decode(video=0)] == [0.0, 0.1, 0.3]
