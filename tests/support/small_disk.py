"""A disk of its own for a test: small, filled to the last byte or the last file, or read-only."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BALLAST = "ballast"


@contextmanager
def small_disk(folder: Path, *, size_mb: int = 260, files: int = 0) -> Iterator[Path]:
    """A tmpfs; 200 MiB are what a run needs before it starts."""
    if os.getuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    folder.mkdir(exist_ok=True)
    options = f"size={size_mb}m" + (f",nr_inodes={files}" if files else "")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {mounted.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> Path:
    """Use up every byte; the file to remove for room."""
    ballast = folder / BALLAST
    with ballast.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue
    return ballast


def use_up_files(folder: Path) -> Path:
    """Leave no inode; the folder to remove for room."""
    ballast = folder / f"{BALLAST}-files"
    ballast.mkdir()
    try:
        for number in range(1_000_000):
            (ballast / str(number)).touch()
    except OSError:
        return ballast
    raise AssertionError(f"{folder} has no end of inodes")


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Whatever is opened by its path from now on is read-only; files that are open already are not."""
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)
