"""Videos: what was asked for and no more, whole files with their sidecars, and never a fault of the run."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.sdk.live import video
from cleanrl_worker.sdk.live.video import Video, Videos, cubic
from mosaic.fastlane.video_file import VideoFile
from mosaic.spec.events import Episode


class Filmed:
    """One environment that renders what a test says."""

    num_envs = 1

    def __init__(self, picture: Any = None) -> None:
        self.picture = np.full((41, 61, 3), 200, np.uint8) if picture is None else picture
        self.rendered = 0

    def call(self, name: str) -> tuple[Any, ...]:
        return ({"render_fps": 25},)

    def render_slot(self, _: int) -> Any:
        self.rendered += 1
        return self.picture() if callable(self.picture) else self.picture


class Shoot:
    def __init__(self, envs: Any, folder: Path, **options: Any) -> None:
        self.saved: list[Video] = []
        self.complaints: list[str] = []
        self.videos = Videos(envs, folder, **options, saved=self.saved.append, complain=self.complaints.append)

    def episode(self, length: int = 5, episodic_return: float = 2.5) -> None:
        for _ in range(length - 1):
            self.videos.step()
        self.videos.end(Episode(global_step=0, slot=0, episodic_return=episodic_return, episodic_length=length))


def frames_of(path: Path) -> tuple[int, tuple[int, int], float]:
    import av

    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        count = sum(1 for _ in container.decode(stream))
        return count, (stream.height, stream.width), float(stream.average_rate or 0)


def test_the_schedule_is_upstreams() -> None:
    chosen = [episode for episode in range(4001) if cubic(episode)]
    assert chosen == [0, 1, 8, 27, 64, 125, 216, 343, 512, 729, 1000, 2000, 3000, 4000]


def test_scheduled_episodes_become_files_with_sidecars(tmp_path: Path) -> None:
    shoot = Shoot(Filmed(), tmp_path / "videos")
    shoot.videos.begin()
    for _ in range(9):
        shoot.episode()
    shoot.videos.close()
    assert [each.episode_id for each in shoot.saved] == [0, 1, 8]
    names = sorted(path.name for path in (tmp_path / "videos").iterdir())
    assert names == sorted(f"rl-video-episode-{n}.{kind}" for n in (0, 1, 8) for kind in ("meta.json", "mp4"))
    about = json.loads((tmp_path / "videos" / "rl-video-episode-8.meta.json").read_text())
    assert {key: about[key] for key in ("episode_id", "episode_return", "episode_length", "frames_dropped")} == {
        "episode_id": 8,
        "episode_return": 2.5,
        "episode_length": 5,
        "frames_dropped": 0,
    }
    assert about["timestamp"] > 1e9
    # The first picture of the episode and one a step but the last, after which it is the next episode's already.
    assert frames_of(tmp_path / "videos" / "rl-video-episode-0.mp4") == (5, (42, 62), 25.0)
    assert shoot.complaints == []


def test_an_episode_that_is_not_scheduled_is_not_rendered(tmp_path: Path) -> None:
    envs = Filmed()
    shoot = Shoot(envs, tmp_path)
    shoot.videos.begin()
    shoot.episode()
    shoot.episode()
    count = envs.rendered
    shoot.episode()
    shoot.videos.close()
    assert envs.rendered == count


def test_an_episode_that_does_not_count_is_neither_filmed_nor_numbered(tmp_path: Path) -> None:
    """Of an evaluation: environment 0 plays on while others have episodes left."""
    played: list[float] = []
    shoot = Shoot(Filmed(), tmp_path, counts=lambda: len(played) % 3 != 2)
    shoot.videos.begin()
    for place in range(5):
        played.append(place)
        shoot.episode(episodic_return=place)
    shoot.videos.close()
    assert [(each.episode_id, each.episodic_return) for each in shoot.saved] == [(0, 0), (1, 1)]
    assert shoot.videos._episode == 4


def test_an_episode_that_did_not_end_leaves_nothing(tmp_path: Path) -> None:
    shoot = Shoot(Filmed(), tmp_path)
    shoot.videos.begin()
    shoot.videos.step()
    shoot.videos.close()
    assert shoot.saved == []
    assert list(tmp_path.iterdir()) == []


def test_a_further_attempt_counts_on(tmp_path: Path) -> None:
    (tmp_path / "rl-video-episode-27.mp4").touch()
    (tmp_path / "rl-video-episode-8.mp4").touch()
    assert video.next_episode(tmp_path) == 28
    assert video.next_episode(tmp_path / "none") == 0


def test_a_slow_encoder_drops_frames_instead_of_growing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    class Slow(VideoFile):
        def add(self, *args: Any, **kwargs: Any) -> bool:
            go.wait()
            return super().add(*args, **kwargs)

    monkeypatch.setattr(video, "VideoFile", Slow)
    monkeypatch.setattr(video, "MAX_QUEUED", 10)
    shoot = Shoot(Filmed(), tmp_path)
    shoot.videos.begin()
    shoot.episode(length=100)
    go.set()
    shoot.videos.close()
    assert shoot.saved[0].frames_dropped >= 85
    assert frames_of(tmp_path / "rl-video-episode-0.mp4")[0] == 100 - shoot.saved[0].frames_dropped


@pytest.mark.parametrize("error", [OSError("No space left on device"), RuntimeError("codec")])
def test_an_encoder_that_fails_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    class Broken(VideoFile):
        def add(self, *args: Any, **kwargs: Any) -> bool:
            raise error

    monkeypatch.setattr(video, "VideoFile", Broken)
    envs = Filmed()
    shoot = Shoot(envs, tmp_path)
    shoot.videos.begin()
    shoot.videos.close()
    shoot.episode()
    count = envs.rendered
    shoot.episode()
    assert envs.rendered == count, "no more pictures are taken"
    assert shoot.complaints == [f"no more videos in this run: the video encoder failed ({error}); the run goes on"]
    assert shoot.saved == []


def raises() -> Any:
    raise ZeroDivisionError


@pytest.mark.parametrize("picture", [raises, lambda: None, np.zeros((4, 4), np.uint8)], ids=["raises", "none", "grey"])
def test_an_environment_that_cannot_render_is_a_warning(tmp_path: Path, picture: Any) -> None:
    shoot = Shoot(Filmed(picture), tmp_path)
    shoot.videos.begin()
    shoot.episode()
    shoot.videos.close()
    assert len(shoot.complaints) == 1
    assert shoot.saved == []


def test_a_film_takes_pictures_of_changing_size_and_keeps_time(tmp_path: Path) -> None:
    film = VideoFile(tmp_path / "a.mp4", fps=10)
    assert film.add(np.zeros((40, 60, 3), np.uint8), at_s=0.0)
    assert film.add(np.zeros((80, 30, 3), np.uint8), at_s=1.0)
    assert not film.add(np.zeros((40, 60, 3), np.uint8), at_s=1.01)
    film.close()
    assert frames_of(tmp_path / "a.mp4")[:2] == (2, (40, 60))
