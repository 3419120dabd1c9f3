"""Rings of tests lie in a folder of their own, so that none can touch the rings of real runs."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mosaic.envs import headless_defaults
from mosaic.fastlane import ring, ring_files, ring_sweep

HERE = Path(__file__).parent
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(autouse=True, scope="session")
def headless() -> None:
    headless_defaults()


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Not tmp_path, which is too long for sockets.
    folder = Path(tempfile.mkdtemp(prefix="mt-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    for module in (ring, ring_files, ring_sweep):
        monkeypatch.setattr(module, "folders", lambda: (folder,))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start a script of this folder in a process of its own; ended with the test."""
    processes: list[subprocess.Popen[str]] = []

    def started(script: str, *words: object) -> "subprocess.Popen[str]":
        command = [sys.executable, str(HERE / script), *map(str, words)]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture
def writer(start: Start, folder: Path) -> Callable[..., tuple[Path, "subprocess.Popen[str]"]]:
    """A writer in a process of its own, and its ring."""

    def started(
        seconds: float, fps: float = 0, width: int = 160, height: int = 120, tiles: int = 4
    ) -> tuple[Path, "subprocess.Popen[str]"]:
        process = start("writer.py", folder, seconds, fps, width, height, tiles)
        assert process.stdout is not None
        return Path(process.stdout.readline().strip()), process

    return started
