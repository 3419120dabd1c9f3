"""Leases, the wake, the viewer and the sweep: who looks, at what, and what is left behind."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mosaic.fastlane import ring_sweep, viewer_lease
from mosaic.fastlane import viewer as viewer_module
from mosaic.fastlane.ring import RingWriter
from mosaic.fastlane.ring_layout import FrameHead, Tile
from mosaic.fastlane.tile_picture import ReaderWakeup
from mosaic.fastlane.viewer import Viewer
from mosaic.fastlane.viewer_lease import Lease, Wishes

HEAD = FrameHead(global_step=1, steps_per_s=1.0, columns=1, rows=1, tiles=(Tile(0, 1, 1.0),), grid=False)
PICTURE = np.zeros((2, 2, 4), np.uint8)
LONG_S = 3600.0
"""Writers go on until their test ends."""
Writer = Callable[..., tuple[Path, "subprocess.Popen[str]"]]


@pytest.fixture
def ring():
    made = RingWriter.create(max_pixels=100)
    yield made
    made.close()


def test_without_a_lease_there_is_no_viewer(ring: RingWriter) -> None:
    assert viewer_lease.current(ring.path) is None


def test_a_lease_counts_until_it_is_closed(ring: RingWriter, folder: Path) -> None:
    mine = Lease(ring.path, Wishes(mode="single", slot=3, fps=12, tile_width=99, budget=0.1, explain=True))
    demand = viewer_lease.current(ring.path)
    assert demand is not None
    assert demand.wishes == Wishes(mode="single", slot=3, fps=12, tile_width=99, budget=0.1, explain=True)
    assert demand.wishes.explained == 3
    mine.close()
    assert viewer_lease.current(ring.path) is None
    assert list(folder.iterdir()) == [ring.path]


def test_the_last_change_decides_and_the_highest_rate_is_served(ring: RingWriter) -> None:
    first, second = Lease(ring.path, Wishes(mode="grid", fps=60)), Lease(ring.path, Wishes(mode="single", fps=5))
    demand = viewer_lease.current(ring.path)
    assert demand is not None
    assert (demand.wishes.mode, demand.wishes.fps) == ("single", 60)
    first.ask(Wishes(mode="off", fps=60))
    second.renew()
    demand = viewer_lease.current(ring.path)
    assert demand is not None
    assert demand.wishes.mode == "off"
    first.close()
    second.close()


def test_what_a_reader_leaves_open_is_as_the_run_was_configured(ring: RingWriter) -> None:
    mine = Lease(ring.path, Wishes())
    demand = viewer_lease.current(ring.path, fps=7, budget=0.2)
    assert demand is not None
    assert (demand.fps, demand.budget) == (7, 0.2)
    other = Lease(ring.path, Wishes(fps=5, budget=0.01))
    demand = viewer_lease.current(ring.path, fps=7, budget=0.2)
    assert demand is not None
    assert (demand.fps, demand.budget) == (7, 0.01)
    mine.close()
    other.close()


def test_a_lease_of_a_killed_reader_is_forgotten(ring: RingWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = Lease(ring.path, Wishes())
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + viewer_lease.VALID_S + 1)
    assert viewer_lease.current(ring.path) is None
    monkeypatch.setattr(time, "monotonic", lambda: now + viewer_lease.FORGET_S + 1)
    assert viewer_lease.current(ring.path) is None
    assert list(ring.path.parent.glob("*.lease-*")) == []
    assert list(ring.path.parent.glob("*.wake-*")) == []
    monkeypatch.undo()
    mine.close()


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff\xfe", b"[]", b"{}", b"null", json.dumps({"at": "now"}).encode()]
    + [
        json.dumps(dict.fromkeys(("at", "changed", "fps", "tile_width", "budget"), 1e12) | wrong).encode()
        for wrong in ({"mode": "all", "slot": 0}, {"mode": "grid", "slot": "0"}, {"mode": [], "slot": 0})
    ]
    + [b'{"at":NaN,"changed":1,"mode":"grid","slot":0,"fps":1,"tile_width":1,"budget":1}'],
)
def test_a_lease_that_is_none_is_ignored(ring: RingWriter, text: bytes) -> None:
    ring.path.with_name(f"{ring.path.name}.lease-1-x").write_bytes(text)
    assert viewer_lease.current(ring.path) is None


def test_wishes_out_of_bounds_are_brought_back(ring: RingWriter) -> None:
    mine = Lease(ring.path, Wishes(mode="single", slot=-5, fps=1e9, tile_width=10**9, budget=7))
    demand = viewer_lease.current(ring.path)
    assert demand is not None
    assert demand.wishes == Wishes(mode="single", slot=0, fps=120, tile_width=1280, budget=1.0)
    mine.close()


def test_a_hundred_readers_share_one_ring(ring: RingWriter) -> None:
    viewers = [Viewer(ring.path) for _ in range(100)]
    demand, wakeup = viewer_lease.current(ring.path), ReaderWakeup()
    assert demand is not None
    assert len(demand.sockets) == 100
    ring.publish(HEAD, PICTURE)
    wakeup.ring(demand.sockets)
    assert all(viewer.wait(120) is not None for viewer in viewers)
    for viewer in viewers:
        viewer.close()
    wakeup.close()
    assert list(ring.path.parent.iterdir()) == [ring.path]


def test_a_datagram_wakes_a_viewer(ring: RingWriter, monkeypatch: pytest.MonkeyPatch) -> None:
    """How soon is measured by `make bench-live`."""
    monkeypatch.setattr(viewer_module, "LOOK_S", 1000.0)  # without a datagram it would not look before
    wakeup = ReaderWakeup()
    with Viewer(ring.path) as viewer:
        for number in range(1, 11):

            def publish() -> None:
                ring.publish(HEAD, PICTURE)
                wakeup.ring(viewer_lease.current(ring.path).sockets)  # type: ignore[union-attr]

            publisher = threading.Timer(0.02, publish)
            publisher.start()
            frame = viewer.wait(2000.0)
            publisher.join()
            assert frame is not None
            assert frame.number == number
    wakeup.close()


def test_a_bell_never_waits_for_a_reader_that_does_not_listen(ring: RingWriter) -> None:
    mine, wakeup = Lease(ring.path, Wishes()), ReaderWakeup()
    demand = viewer_lease.current(ring.path)
    assert demand is not None
    for _ in range(1000):
        wakeup.ring(demand.sockets)
    mine.close()
    wakeup.ring(demand.sockets)
    wakeup.close()


def test_what_was_published_before_is_not_shown_to_a_new_viewer(ring: RingWriter) -> None:
    ring.publish(HEAD, PICTURE)
    with Viewer(ring.path) as viewer:
        assert viewer.newest() is None
        ring.publish(HEAD, PICTURE)
        assert viewer.newest() is not None


def test_a_viewer_notices_that_the_worker_was_killed(writer: Writer) -> None:
    path, process = writer(LONG_S, 20)
    with Viewer(path) as viewer:
        assert viewer.wait(120) is not None
        process.kill()
        process.wait()
        deadline = time.monotonic() + 120
        while not viewer.closed and time.monotonic() < deadline:
            viewer.wait(0.2)
        assert viewer.closed


def test_the_sweep_removes_what_a_killed_worker_left(writer: Writer) -> None:
    path, process = writer(LONG_S, 20)
    mine = Lease(path, Wishes())
    assert ring_sweep.sweep([path.parent]) == [], "a living worker keeps its ring"
    process.kill()
    process.wait()
    removed = ring_sweep.sweep([path.parent])
    assert path in removed
    assert not path.exists()
    assert list(path.parent.glob(f"{path.name}.lease-*")) == []
    mine.close()


def test_the_sweep_leaves_other_files_and_rings_in_the_making_alone(ring: RingWriter, folder: Path) -> None:
    foreign = folder / "mosaic-999999-00.ring"
    young = folder / f"mosaic-{os.getuid()}-young.ring"
    for path in (foreign, young):
        path.touch()
    assert ring_sweep.sweep([folder]) == []
    os.utime(young, (1, 1))
    assert ring_sweep.sweep([folder]) == [young]


def test_a_reader_that_is_killed_leaves_the_writer_alone(
    writer: Writer, start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    path, process = writer(LONG_S, 0)
    assert start("reader.py", path, 10).wait() == 0  # by now another one would read too
    reader = start("reader.py", path)
    with Viewer(path) as viewer:
        assert viewer.wait(120) is not None
    reader.kill()
    reader.wait()
    with Viewer(path) as viewer:
        assert viewer.wait(120) is not None, "the writer goes on"
    assert process.poll() is None
