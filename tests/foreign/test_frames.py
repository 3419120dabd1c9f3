"""A viewer of a script's environments: frames come from every kind, and none are made without a viewer."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

KINDS = {"single": 1, "sync": 4, "async": 2, "envpool": 2, "sb3": 2}


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of(studio: Any, eventually: Callable[..., Any], kind: str) -> None:
    run = studio.submit("more/watched.py", "--kind", kind)
    run_dir = studio.home.run(run.run_id)
    eventually(lambda: run_dir.events.exists() and b"fastlane.opened" in run_dir.events.read_bytes(), what="a view")
    stream = studio.client.frames(run.run_id, fps=10)
    try:
        tiles, picture = next((one.head.tiles, one.image) for one in stream if one.image and _is_drawn(one, kind))
    finally:
        stream.close()
        studio.client.cancel(run.run_id)
    assert [tile.env for tile in tiles] == list(range(KINDS[kind]))
    assert np.asarray(Image.open(io.BytesIO(picture))).std() > 5
    assert studio.ended(run).state == "cancelled"


def _is_drawn(frame: Any, kind: str) -> bool:
    """Every tile has its picture."""
    return len(frame.head.tiles) == KINDS[kind] and np.asarray(Image.open(io.BytesIO(frame.image))).std() > 5


def test_nothing_is_drawn_without_a_viewer(studio: Any) -> None:
    run = studio.ended(studio.submit("more/watched.py", "--kind", "single", "--seconds", "1"))
    assert run.state == "finished", run.reason
    assert "drawn 0 times" in studio.home.run(run.run_id).stdout.read_text()
