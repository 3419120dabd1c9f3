"""Videos of a run: environment 0 filmed on a schedule, encoded in a thread of its own.

The learner renders the frames of an episode that is filmed (the user asked for that) and puts them into a queue of
bounded size; where the encoder cannot keep up frames are dropped and counted, so that neither time nor memory grows.
An error here is a warning of the run and the end of its videos, never an error of the run.
"""

import json
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.envs import VecEnv
from mosaic.fastlane.video_file import VideoFile
from mosaic.spec.events import Episode, VideoSaved, number
from mosaic.spec.files.shared_files import write_atomically
from mosaic.spec.run_dir import RunDir

QUEUE_BYTES = 64 * 2**20
MAX_QUEUED = 512
CLOSE_S = 30.0
FILMED_SLOT = 0
DEFAULT_FPS = 30
SIDECAR = ".meta.json"
"""As Gymnasium called its own before 1.0; fields in docs/protocols/run-directory.md."""

Picture = NDArray[np.uint8]


def cubic(episode: int) -> bool:
    """CleanRL's schedule, which is Gymnasium's: episodes 0, 1, 8, 27, …, 1000, 2000, …"""
    if episode < 1000:
        return round(episode ** (1 / 3)) ** 3 == episode
    return episode % 1000 == 0


@dataclass(frozen=True)
class Video:
    """A file that is complete."""

    path: Path
    episode_id: int
    episodic_return: float
    episodic_length: int
    frames_dropped: int

    def event(self, run_dir: RunDir) -> VideoSaved:
        return VideoSaved(
            path=run_dir.relative(self.path),
            episode_id=self.episode_id,
            episodic_return=number(self.episodic_return),
            episodic_length=self.episodic_length,
        )


def next_episode(folder: Path) -> int:
    """Where a further attempt goes on counting: behind the last video of the earlier ones."""
    names = [path.stem.rpartition("-")[2] for path in folder.glob("rl-video-episode-*.mp4")]
    return max((int(name) + 1 for name in names if name.isdigit()), default=0)


class Videos:
    """Told of every step by the learner; `saved` and `complain` are called in the encoder's thread."""

    def __init__(
        self,
        envs: VecEnv,
        folder: Path,
        *,
        counts: Callable[[], bool] = lambda: True,
        saved: Callable[[Video], None],
        complain: Callable[[str], None],
    ) -> None:
        """`counts` says of the episode that begins whether it is one; another is neither filmed nor numbered."""
        self._envs = envs
        self._counts = counts
        self._is_counted = False
        self._complain = complain
        self._episode = next_episode(folder)
        self._failed = False
        self._fps = _fps_of(envs)
        self._encoder = _Encoder(folder, saved=saved, failed=self._fail)
        self._filming = False
        self._dropped = 0

    def begin(self) -> None:
        """The environments were reset: the first episode begins."""
        self._is_counted = self._counts()
        self._filming = not self._failed and self._is_counted and cubic(self._episode)
        self._dropped = 0
        if self._filming:
            self._encoder.put(_Start(self._episode, self._fps))
            self._shoot()

    def step(self) -> None:
        """A step was made in which environment 0 did not end its episode."""
        if self._filming:
            self._shoot()

    def end(self, episode: Episode) -> None:
        """Environment 0 ended its episode, and is in its next one already."""
        if self._filming:
            self._encoder.put(_End(float(episode.episodic_return), episode.episodic_length, self._dropped))
        self._episode += self._is_counted
        self.begin()

    def close(self) -> None:
        """Let the encoder finish; an episode that did not end leaves no file."""
        self._encoder.close()

    def _shoot(self) -> None:
        try:
            picture = self._envs.render_slot(FILMED_SLOT)
        except Exception as error:  # A border: a user's environment may raise anything.
            self._fail(f"render() raised {error!r}")
            return
        if picture is None or picture.ndim != 3 or picture.shape[2] != 3:
            self._fail("the environment returns no colour picture")
        elif not self._encoder.offer(picture):
            self._dropped += 1

    def _fail(self, why: str) -> None:
        if not self._failed:
            self._failed, self._filming = True, False
            self._complain(f"no more videos in this run: {why}; the run goes on")


@dataclass(frozen=True)
class _Start:
    episode_id: int
    fps: int


@dataclass(frozen=True)
class _End:
    episodic_return: float
    episodic_length: int
    frames_dropped: int


class _Encoder:
    """The thread; it takes pictures in order, between a start and an end."""

    def __init__(self, folder: Path, *, saved: Callable[[Video], None], failed: Callable[[str], None]) -> None:
        self._folder = folder
        self._saved = saved
        self._failed = failed
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._film: VideoFile | None = None
        self._part = folder / ".part.mp4"
        self._start = _Start(0, DEFAULT_FPS)
        self._thread = threading.Thread(target=self._work, name="video", daemon=True)
        self._thread.start()

    def put(self, mark: "_Start | _End") -> None:
        self._queue.put(mark)

    def offer(self, picture: Picture) -> bool:
        """Take a picture if there is room."""
        if self._queue.qsize() >= min(MAX_QUEUED, QUEUE_BYTES // picture.nbytes + 1):
            return False
        self._queue.put(np.array(picture))
        return True

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join(CLOSE_S)

    def _work(self) -> None:
        try:
            while (item := self._queue.get()) is not None:
                self._take(item)
        except Exception as error:  # A border: no encoder's failure is an error of the run.
            self._failed(f"the video encoder failed ({error})")
        self._discard()

    def _take(self, item: Any) -> None:
        if isinstance(item, _Start):
            self._discard()
            self._start = item
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._film = VideoFile(self._part, fps=item.fps)
        elif self._film is not None and isinstance(item, _End):
            self._film.close()
            self._film = None
            self._save(item)
        elif self._film is not None:
            self._film.add(item)

    def _save(self, end: _End) -> None:
        """The sidecar first: a file that is there has its description."""
        path = self._folder / f"rl-video-episode-{self._start.episode_id}.mp4"
        about = {
            "episode_id": self._start.episode_id,
            "episode_return": number(end.episodic_return),
            "episode_length": end.episodic_length,
            "timestamp": time.time(),
            "frames_dropped": end.frames_dropped,
        }
        write_atomically(path.with_suffix(SIDECAR), json.dumps(about, indent=1) + "\n")
        self._part.replace(path)
        self._saved(Video(path, self._start.episode_id, end.episodic_return, end.episodic_length, end.frames_dropped))

    def _discard(self) -> None:
        """An unfinished film is not a film."""
        film, self._film = self._film, None
        if film is not None:
            try:
                film.close()
            except OSError as error:
                self._failed(f"the video encoder failed ({error})")
            self._part.unlink(missing_ok=True)


def _fps_of(envs: VecEnv) -> int:
    """What the environment says of itself, where it does."""
    try:
        metadata: Any = envs.call("metadata")[0]
        return max(1, round(metadata["render_fps"]))
    except (AttributeError, KeyError, TypeError, IndexError):
        return DEFAULT_FPS
