"""Zip files of runs: what is whole comes under its own id; what could do harm is refused before a byte is unpacked."""

import errno
import io
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic import cli
from mosaic.errors import MosaicError, UnsafePath
from mosaic.intake import sb3_monitors, write_run, zipped_runs
from mosaic.intake.found import NotImportable
from mosaic.spec.run_dir import Home, RunDir

ROOM = 10 * 2**30
RUN = "01M7RBEN3EK44V95BF3RFCKPXH"
MONITOR = '#{"t_start": 1700000000.0, "env_id": "E"}\nr,l,t\n1.0,5,0.5\n'


def zip_of(path: Path, files: dict[str, bytes], change: Callable[[zipfile.ZipInfo], None] = lambda _: None) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            change(info)
            archive.writestr(info, content)
    return path


def look(path: Path, *, room: int = ROOM) -> list[str]:
    with zipped_runs.opened(path, room=room) as zipped:
        return list(zipped.entries)


@pytest.fixture
def exported(tmp_path: Path) -> tuple[str, dict[str, bytes]]:
    """A run of another home: its id, and its files as `mosaic export` writes them."""
    other = Home(tmp_path / "other")
    other.create()
    folder = tmp_path / "monitors"
    folder.mkdir()
    (folder / "monitor.csv").write_text(MONITOR)
    run_dir: RunDir = other.run(write_run.write(other, sb3_monitors.read(folder)))
    files = {f"{run_dir.run_id}/{name}": (run_dir.root / name).read_bytes() for name, _ in run_dir.files()}
    return run_dir.run_id, files


@pytest.mark.parametrize(
    "name",
    [
        f"/{RUN}/run.json",
        f"{RUN}/../../x",
        f"../{RUN}/x",
        f"{RUN}/./x",
        f"{RUN}//x",
        f"{RUN}\\x",
        f"{RUN}/a\\..\\b",
        "config.json",
        RUN,
        f"{RUN.lower()}/run.json",
    ],
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnsafePath, match="nothing was unpacked"):
        look(zip_of(tmp_path / "x.zip", {f"{RUN}/events.jsonl": b"", name: b"x"}))


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK])
def test_a_link_and_a_device_are_refused(tmp_path: Path, kind: int) -> None:
    def become(info: zipfile.ZipInfo) -> None:
        info.external_attr = (kind | 0o777) << 16

    with pytest.raises(UnsafePath, match="link or a special file"):
        look(zip_of(tmp_path / "x.zip", {f"{RUN}/logs": b"/etc"}, become))


def test_a_name_twice_and_a_file_below_a_file_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        archive.writestr(f"{RUN}/a", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr(f"{RUN}/a", b"2")
    with pytest.raises(UnsafePath, match="twice"):
        look(tmp_path / "twice.zip")
    with pytest.raises(UnsafePath, match="below another file"):
        look(zip_of(tmp_path / "below.zip", {f"{RUN}/a": b"1", f"{RUN}/a/b": b"2"}))


def test_entries_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", {f"{RUN}/a": os.urandom(400), f"{RUN}/b": b"2"})
    data = bytearray(path.read_bytes())
    # The second entry of the directory points at the first one's place.
    second = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    data[second + 42 : second + 46] = (0).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UnsafePath, match="shares its bytes"):
        look(path)


def test_more_than_the_disk_holds_and_more_than_numbers_compress_to_is_refused(tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", {f"{RUN}/a": b"0" * 2**20})
    with pytest.raises(NotImportable, match="nothing was unpacked"):
        look(path, room=2**20)
    data = bytearray(path.read_bytes())
    entry = data.index(b"PK\x01\x02")
    data[entry + 24 : entry + 28] = (3 * 2**30).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(NotImportable, match="times as much"):
        look(path)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_zip_file_of_runs_is_said(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(NotImportable):
        look(tmp_path / "x.zip")


def test_a_zip_comes_once_and_damage_costs_its_own_run(
    home: Home, take_in, exported: tuple[str, dict[str, bytes]], tmp_path: Path
) -> None:
    run_id, files = exported
    path = zip_of(tmp_path / "runs.zip", {**files, f"{RUN}/run.json": b"{}", f"{RUN}/events.jsonl": b"x" * 500})
    data = bytearray(path.read_bytes())
    at = data.index(f"{RUN}/events.jsonl".encode()) + len(f"{RUN}/events.jsonl")
    data[at] ^= 0xFF
    path.write_bytes(data)
    code, said = take_in(str(path), "--dry-run")
    assert {line["result"] for line in said} == {"would", "skipped"}
    code, said = take_in(str(path))
    assert code == 0
    by_result = {line["result"]: line for line in said}
    assert by_result["imported"]["run_id"] == run_id
    assert RUN in by_result["skipped"]["path"]
    assert "damaged" in by_result["skipped"]["reason"]
    assert {name: (home.runs / name).read_bytes() for name in files} == files
    assert not home.imports.exists()
    assert not home.run(RUN).root.exists()
    _, said = take_in(str(path))
    assert [line["result"] for line in said if line["run_id"]] == ["known"]
    shutil.rmtree(home.run(run_id).root)


def test_a_full_disk_leaves_nothing_half(
    home: Home, exported: tuple[str, dict[str, bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    run_id, files = exported
    path = zip_of(tmp_path / "full.zip", files)

    def full(source: object, target: io.BufferedIOBase, *_: object) -> None:
        target.write(b"a piece")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(zipped_runs.shutil, "copyfileobj", full)
    assert cli.main(["import", str(path)]) == 4
    assert "No space left" in capsys.readouterr().err
    assert not home.imports.exists()
    assert not home.run(run_id).root.exists()
    assert not home.config(run_id).exists()


def test_another_import_is_waited_for_by_the_user(home: Home, exported, tmp_path: Path) -> None:
    path = zip_of(tmp_path / "x.zip", exported[1])
    with write_run.one_at_a_time(home):
        assert cli.main(["import", str(path)]) == 1
    with pytest.raises(MosaicError, match="under way"), write_run.one_at_a_time(home), write_run.one_at_a_time(home):
        pass
