"""`mosaic watch`, `frame` and `clip`: what they show and save of a living run, and what they say without one."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mosaic import cli
from mosaic.cli.live import clip, frame, watch
from mosaic.spec.run_record import RunRecord
from mosaic.spec.states import RunState

Writer = Callable[..., tuple[Path, "subprocess.Popen[str]"]]


@dataclass
class FakeArtifact:
    kind: str
    path: str


class FakeClient:
    def __init__(self, ring: Path, state: RunState = RunState.RUNNING) -> None:
        self.ring = ring
        self.run = RunRecord(run_id="01K9CG05J5Y0FFQMT1T920EZK2", state=state)  # type: ignore[call-arg]

    def __enter__(self) -> "FakeClient":
        return self

    def __exit__(self, *_: object) -> None: ...

    def artifacts(self, _: str) -> list[FakeArtifact]:
        return [FakeArtifact("policy", "x"), FakeArtifact("fastlane", str(self.ring))]


@pytest.fixture
def living(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    client = FakeClient(writer(30, 40, 64, 48, 2)[0])
    for verb in (frame, clip, watch):
        monkeypatch.setattr(verb, "connect", lambda: client)
        monkeypatch.setattr(verb, "pick", lambda client, *_: client.run)
    return client


def test_frame_saves_a_picture(living: FakeClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["frame", "@last", str(tmp_path / "a.png")]) == 0
    pixels = np.asarray(Image.open(tmp_path / "a.png"))
    assert pixels.shape == (48, 64, 3)
    assert len(np.unique(pixels)) == 1
    assert "64×48, step" in capsys.readouterr().out


def test_clip_saves_a_film_of_the_asked_length(living: FakeClient, tmp_path: Path) -> None:
    import av

    assert cli.main(["clip", "@last", str(tmp_path / "a.mp4"), "--seconds", "1.5"]) == 0
    with av.open(str(tmp_path / "a.mp4")) as film:
        stream = film.streams.video[0]
        assert stream.duration is not None
        assert stream.time_base is not None
        assert 1.0 < float(stream.duration * stream.time_base) < 1.8


def test_watch_draws_half_blocks(living: FakeClient, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["watch", "@last", "--once"]) == 0
    out = capsys.readouterr().out
    assert "▀" in out
    assert "grid" in out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["frame", "@last", "a.gif"], "use one of .png"),
        (["frame", "@last", "a.png", "--fps", "999"], "--fps: must be from"),
        (["frame", "@last", "a.png", "--slot", "-1"], "--slot: must not be negative"),
        (["frame", "@last", "a.png", "--tile-width", "1"], "--tile-width: must be from"),
        (["clip", "@last", "a.avi"], "does not end in .mp4"),
        (["clip", "@last", "a.mp4", "--seconds", "0"], "--seconds: must be between"),
        (["watch", "@last"], "needs a terminal"),
        (["frame", "@last", "/absent/a.png"], "could not be written"),
        (["clip", "@last", "/absent/a.mp4"], "could not be written"),
    ],
)
def test_what_is_wrong_is_said(
    living: FakeClient, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) != 0
    assert complaint in capsys.readouterr().err


def test_an_ended_run_has_nothing_to_see(
    living: FakeClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    living.run = FakeClient(living.ring, RunState.FINISHED).run
    assert cli.main(["frame", "@last", str(tmp_path / "a.png")]) == 2
    assert "only a run that goes on has live frames" in capsys.readouterr().err
