"""An atomic write leaves the old file or the new, and nothing beside it."""

import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from mosaic.spec.files.shared_files import share, sync_file, sync_folder, write_atomically


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """The kernel refuses to write past this size, as it would on a full disk; it bites for root too."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("content", ["", "text é\n", b"", b"\x00\xff"])
def test_the_file_has_the_content_and_nothing_else_is_there(content: str | bytes, tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_old_file_is_replaced_rather_than_written_into(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old and longer")
    with path.open() as reader:
        write_atomically(path, "new")
        assert reader.read() == "old and longer"
    assert path.read_text() == "new"


def test_a_write_that_fails_half_way_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with largest_file(1000), pytest.raises(OSError, match="File too large"):
        write_atomically(path, b"x" * 100_000)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_rename_that_fails_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_text("kept")
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "missing" / "file", "x")


def test_text_that_is_no_utf8_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "file", "\ud800")
    assert list(tmp_path.iterdir()) == []


def test_two_threads_that_write_the_same_file_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([65 + index]) * 50_000 for index in range(4)]

    def write_often(content: bytes) -> set[bytes]:
        seen: set[bytes] = set()
        for _ in range(10):
            write_atomically(path, content)
            seen.add(path.read_bytes())
        return seen

    with ThreadPoolExecutor(len(contents)) as pool:
        for seen in pool.map(write_often, contents):
            assert seen <= set(contents)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_files_and_folders_can_be_synced(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    sync_file(tmp_path / "file")
    sync_folder(tmp_path)
    with pytest.raises(FileNotFoundError):
        sync_file(tmp_path / "missing")


@pytest.mark.parametrize("has_links", [True, False])
def test_a_shared_file_keeps_its_content_when_the_other_name_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    if not has_links:

        def refuse(*_: object, **__: object) -> None:
            raise OSError("no links here")

        monkeypatch.setattr(os, "link", refuse)
    first, second = tmp_path / "first", tmp_path / "second"
    write_atomically(first, "accepted")
    share(first, second)
    assert second.read_text() == "accepted"
    assert first.samefile(second) is has_links
    write_atomically(second, "with all settings")
    assert first.read_text() == "accepted"
