"""The ring: whole frames only, newest wins, damaged files refused, gone when its owner is."""

import json
import os
import struct
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from mosaic.fastlane import ring as ring_module
from mosaic.fastlane.ring import RingReader, RingWriter
from mosaic.fastlane.ring_files import writer_lives
from mosaic.fastlane.ring_layout import FrameHead, RingRefused, Tile

LONG_S = 3600.0
"""Writers go on until their test ends."""

HEAD = FrameHead(
    global_step=7,
    steps_per_s=3.5,
    columns=2,
    rows=1,
    tiles=(Tile(0, 5, 1.5), Tile(1, 9, -2.0)),
    grid=True,
    evaluation=True,
    line="batch 1: 9.5 ± 0.1",
)


def picture(value: int, height: int = 4, width: int = 6) -> np.ndarray:
    return np.full((height, width, 4), value, np.uint8)


@pytest.fixture
def ring():
    made = RingWriter.create(max_pixels=100)
    yield made
    made.close()


@pytest.fixture
def reader(ring: RingWriter):
    made = RingReader(ring.path)
    yield made
    made.close()


def test_a_frame_comes_back_as_it_was_published(ring: RingWriter, reader: RingReader) -> None:
    assert reader.newest() is None
    ring.publish(HEAD, picture(3))
    frame = reader.newest()
    assert frame is not None
    assert (frame.number, frame.head) == (1, HEAD)
    assert np.array_equal(frame.pixels, picture(3))


def test_a_frame_that_is_peeked_at_lies_in_the_ring_until_it_is_overwritten(ring: RingWriter) -> None:
    reader = RingReader(ring.path)
    ring.publish(HEAD, picture(3))
    frame = reader.peek()
    assert frame is not None
    assert np.array_equal(frame.pixels, picture(3))
    assert not frame.pixels.flags.owndata
    assert reader.holds(frame)
    for value in range(4, 3 + ring_module.SLOTS):
        ring.publish(HEAD, picture(value))
    assert reader.holds(frame)
    ring.publish(HEAD, picture(9))
    assert not reader.holds(frame)
    # The map stays as long as a reader has a frame of it.
    reader.close()
    assert np.array_equal(frame.pixels, picture(9))


def test_the_newest_frame_wins_and_is_seen_once(ring: RingWriter, reader: RingReader) -> None:
    for value in range(10):
        ring.publish(HEAD, picture(value))
    frame = reader.newest()
    assert frame is not None
    assert (frame.number, int(frame.pixels[0, 0, 0])) == (10, 9)
    assert reader.newest(after=10) is None


def test_the_size_may_change_from_frame_to_frame(ring: RingWriter, reader: RingReader) -> None:
    for height, width in ((4, 6), (10, 10), (1, 1), (5, 20)):
        ring.publish(HEAD, picture(1, height, width))
        frame = reader.newest()
        assert frame is not None
        assert frame.pixels.shape == (height, width, 4)


def test_a_frame_that_is_too_large_is_refused(ring: RingWriter) -> None:
    with pytest.raises(RingRefused, match="20×10 with 2 tiles does not fit"):
        ring.publish(HEAD, picture(1, 10, 20))


def test_a_frame_being_written_is_not_seen(ring: RingWriter, reader: RingReader) -> None:
    ring.publish(HEAD, picture(1))
    ring._words[ring._geometry.slot_at(1) // 8] += 1  # as if the writer were killed in the middle
    assert reader.newest() is None


def test_long_texts_are_cut_between_characters(ring: RingWriter, reader: RingReader) -> None:
    ring.note("ä" * 300)
    assert reader.note == "ä" * 127


def test_the_file_is_private_and_has_a_random_name(ring: RingWriter, folder: Path) -> None:
    assert ring.path.stat().st_mode & 0o777 == 0o600
    other = RingWriter.create(max_pixels=100)
    assert other.path != ring.path
    other.close()
    assert not other.path.exists()


def test_a_closed_ring_is_gone_but_its_readers_live(folder: Path) -> None:
    ring = RingWriter.create(max_pixels=100)
    ring.publish(HEAD, picture(3))
    reader = RingReader(ring.path)
    ring.close()
    assert list(folder.iterdir()) == []
    assert reader.closed
    assert reader.newest() is not None
    reader.close()


def test_readers_cannot_write(reader: RingReader) -> None:
    with pytest.raises(TypeError, match=r"readonly|read-only"):
        reader._map[0] = 0


@pytest.mark.parametrize(
    ("offset", "value", "complaint"),
    [
        (0, b"WRONGMAG", "is not a FastLane ring"),
        (8, struct.pack("<I", 2), "has ring version 2, this reader knows 1"),
        (12, struct.pack("<I", 1000), "geometry"),
        (12, struct.pack("<I", 1), "geometry"),
        (16, struct.pack("<I", 4097), "geometry"),
        (20, struct.pack("<I", 9), "pixel format 9"),
        (24, struct.pack("<I", 2**31), "geometry"),
    ],
)
def test_a_damaged_header_is_refused(ring: RingWriter, offset: int, value: bytes, complaint: str) -> None:
    ring._map[offset : offset + len(value)] = value
    with pytest.raises(RingRefused, match=complaint):
        RingReader(ring.path)


def test_a_file_of_another_size_is_refused(ring: RingWriter) -> None:
    os.truncate(ring.path, 4096)
    with pytest.raises(RingRefused, match="4096 bytes"):
        RingReader(ring.path)
    os.truncate(ring.path, 10)
    with pytest.raises(RingRefused, match="too short"):
        RingReader(ring.path)


def test_a_missing_file_says_that_the_run_may_have_ended(tmp_path: Path) -> None:
    with pytest.raises(RingRefused, match="the run may have ended"):
        RingReader(tmp_path / "none.ring")


def test_another_process_of_the_worker_publishes_in_its_stead(ring: RingWriter, reader: RingReader) -> None:
    ring.publish(HEAD, picture(1))
    painter = RingWriter.attach(ring.path)
    painter.publish(HEAD, picture(2))
    painter.close()
    frame = reader.newest()
    assert frame is not None
    assert (frame.number, int(frame.pixels[0, 0, 0])) == (2, 2)
    assert not reader.closed
    assert ring.path.exists()


def test_a_full_or_absent_shared_memory_gives_way_to_the_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = tmp_path / "tiny"
    tiny.mkdir()
    if os.getuid() != 0 or subprocess.call(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(tiny)]) != 0:
        pytest.skip("only root can mount a tiny file system")
    try:
        monkeypatch.setattr(ring_module, "folders", lambda: (tmp_path / "absent", tiny, tmp_path))
        made = RingWriter.create(max_pixels=100_000)
        assert made.path.parent == tmp_path
        made.close()
        assert list(tiny.iterdir()) == []
        monkeypatch.setattr(ring_module, "folders", lambda: (tiny,))
        with pytest.raises(OSError, match="No space left"):
            RingWriter.create(max_pixels=100_000)
        assert list(tiny.iterdir()) == []
    finally:
        subprocess.check_call(["umount", str(tiny)])


def test_an_owner_lives_until_it_is_killed(writer: Callable[..., tuple[Path, "subprocess.Popen[str]"]]) -> None:
    path, process = writer(LONG_S, 10)
    assert writer_lives(path)
    reader = RingReader(path)
    while not reader.published:
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not writer_lives(path)
    frame = reader.newest()
    assert frame is not None, "the last whole frame stays readable"
    assert np.all(frame.pixels == frame.number % 256)
    reader.close()


def test_two_processes_at_full_speed_tear_no_frame(
    writer: Callable[..., tuple[Path, "subprocess.Popen[str]"]], start: Callable[..., "subprocess.Popen[str]"]
) -> None:
    path, process = writer(LONG_S, 0)
    readers = [start("reader.py", path, 400) for _ in range(3)]
    for reader in readers:
        found = json.loads(reader.communicate()[0])
        assert found == {"seen": 400, "torn": 0, "backwards": 0, "last": found["last"]}
    process.kill()
