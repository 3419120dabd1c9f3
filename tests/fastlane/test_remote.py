"""Frames for other machines: pictures over gRPC, the newest only, and what a wrong request is told."""

import io
import itertools
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from PIL import Image

from mosaic.errors import ConfigError
from mosaic.fastlane import viewer_lease
from mosaic.fastlane.ring import RingReader
from mosaic.rpc import trainer_pb2 as pb
from mosaic.rpc.client import Client, Refused
from mosaic.rpc.trainer_methods import answer_with
from mosaic.spec import manifest
from mosaic.spec.manifest import Artifact, Manifest
from mosaic.spec.run_dir import Home, RunDir, new_run_id
from mosaic.trainer.serving import live_frames
from mosaic.trainer.serving.change_signal import ChangeSignal
from mosaic.trainer.serving.interceptor import Interceptor

LONG_S = 3600.0
"""Writers go on until their test ends."""
Writer = Callable[..., tuple[Path, "subprocess.Popen[str]"]]


@pytest.fixture
def run_dir(tmp_path: Path) -> RunDir:
    run_dir = Home(tmp_path).run(new_run_id())
    run_dir.create()
    return run_dir


def announce(run_dir: RunDir, ring: Path) -> None:
    manifest.write(run_dir, Manifest(run_id=run_dir.run_id, artifacts=(Artifact(kind="fastlane", path=str(ring)),)))


@pytest.fixture
def client(run_dir: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """Of a server on loopback that has nothing but StreamFrames."""

    class Service:
        def StreamFrames(self, request: Any, context: Any) -> Any:  # noqa: N802
            return live_frames.stream(run_dir, live_frames.checked(request), ChangeSignal(), context)

    server = grpc.server(ThreadPoolExecutor(8), interceptors=[Interceptor(None)])
    answer_with(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    token = tmp_path / "token"
    token.write_text("x")
    monkeypatch.setenv("MOSAIC_TOKEN_FILE", str(token))
    with Client(f"127.0.0.1:{port}") as made:
        yield made
    server.stop(0).wait()


def test_frames_arrive_as_pictures_with_their_heads(client: Client, run_dir: RunDir, writer: Writer) -> None:
    ring, _ = writer(LONG_S, 100, 64, 48, 3)
    announce(run_dir, ring)
    coming = client.frames(run_dir.run_id, fps=60, quality=95)
    got = list(itertools.islice(coming, 5))
    coming.close()
    numbers = [frame.number for frame in got]
    assert numbers == sorted(set(numbers))
    for frame in got:
        assert frame.head.global_step == frame.number
        assert (len(frame.head.tiles), frame.head.grid) == (3, True)
        assert frame.head.line == f"frame {frame.number}"
        pixels = np.asarray(Image.open(io.BytesIO(frame.image)))
        assert pixels.shape == (48, 64, 3)
        assert abs(pixels.astype(int) - frame.number % 256).max() <= 3


def test_webp_is_offered_too(client: Client, run_dir: RunDir, writer: Writer) -> None:
    ring, _ = writer(LONG_S, 50)
    announce(run_dir, ring)
    coming = client.frames(run_dir.run_id, image_format="webp")
    assert Image.open(io.BytesIO(next(coming).image)).format == "WEBP"
    coming.close()


def test_a_slow_reader_misses_frames_and_sees_no_old_ones(client: Client, run_dir: RunDir, writer: Writer) -> None:
    ring, _ = writer(LONG_S, 100, 320, 240)
    announce(run_dir, ring)
    coming = client.frames(run_dir.run_id, fps=100)
    first = next(coming)
    reader = RingReader(ring)
    deadline = time.monotonic() + 120
    while reader.published < first.number + 200:
        assert time.monotonic() < deadline, "the writer is stuck"
        time.sleep(0.02)
    reader.close()
    late = list(itertools.islice(coming, 10))
    coming.close()
    # What the pipe holds may be old; behind it comes the newest, and what lies between is left out.
    assert late[-1].number - first.number > 100


def test_a_watcher_that_leaves_gives_up_its_lease(client: Client, run_dir: RunDir, writer: Writer) -> None:
    ring, _ = writer(LONG_S, 50)
    announce(run_dir, ring)
    coming = client.frames(run_dir.run_id, mode="single", slot=2, tile_width=99)
    next(coming)
    demand = viewer_lease.current(ring)
    assert demand is not None
    assert (demand.wishes.mode, demand.wishes.slot, demand.wishes.tile_width) == ("single", 2, 99)
    coming.close()
    deadline = time.monotonic() + 120
    while viewer_lease.current(ring) is not None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert viewer_lease.current(ring) is None


def test_the_stream_ends_with_the_run(client: Client, run_dir: RunDir, writer: Writer) -> None:
    ring, _ = writer(1.5, 50)
    announce(run_dir, ring)
    assert len(list(client.frames(run_dir.run_id))) > 0


def test_a_run_without_a_live_view_is_refused_with_the_reason(client: Client, run_dir: RunDir) -> None:
    with pytest.raises(Refused, match="has no live view now"):
        next(client.frames(run_dir.run_id))


def test_a_view_that_was_given_up_says_why(client: Client, run_dir: RunDir) -> None:
    from mosaic.fastlane.ring import RingWriter

    ring = RingWriter.create(max_pixels=100)
    ring.note("no live view: render() raised")
    announce(run_dir, ring.path)
    coming = client.frames(run_dir.run_id)
    frame = next(coming)
    assert (frame.image, frame.note) == (b"", "no live view: render() raised")
    coming.close()
    ring.close()


@pytest.mark.parametrize(
    ("request_", "complaint"),
    [
        (pb.StreamFramesRequest(mode="all"), "mode: 'all' is not one of single, grid, off"),
        (pb.StreamFramesRequest(format="gif"), "format: 'gif' is not one of jpeg, webp"),
        (pb.StreamFramesRequest(quality=101), "quality: 101 is not between 1 and 100"),
        (pb.StreamFramesRequest(fps=-1), "fps: -1 is not between 0.1 and 120"),
        (pb.StreamFramesRequest(tile_width=5), "tile_width: 5 is not between 16 and 1280"),
    ],
)
def test_a_wrong_request_is_told_what_is_wrong(request_: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        live_frames.checked(request_)


def test_the_sweep_runs_at_once_and_ends_with_the_daemon(writer: Writer) -> None:
    ring, process = writer(LONG_S, 10)
    process.kill()
    process.wait()
    ending = threading.Event()
    live_frames.start_sweeping(ending)
    deadline = time.monotonic() + 120
    while ring.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not ring.exists()
    ending.set()
