"""A log that lies on a full disk drops lines, says so when there is room, and never fails the thread that logs."""

import subprocess
import sys
from pathlib import Path

import pytest
from small_disk import fill, small_disk

LOG = """
import sys
from pathlib import Path
from mosaic import log
log.configure(file=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
logger = log.get_logger()
for line in sys.stdin:
    logger.error(line.strip(), note="x" * 5000)
    print("logged", flush=True)
"""


def start(*argv, stderr=None):
    return subprocess.Popen(
        [sys.executable, "-c", LOG, *argv],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def say(process, *words):
    for word in words:
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "logged\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("is_file", [True, False])
def test_lines_are_dropped_and_counted(tmp_path, monkeypatch, is_file, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    with small_disk(tmp_path / "disk", size_mb=1) as disk:
        path = disk / "daemon.log"
        with path.open("ab") as stream, start(*([str(path)] if is_file else []), stderr=stream) as process:
            say(process, "run.first")
            ballast = fill(disk)
            say(process, "run.second", "run.third", "run.fourth")
            ballast.unlink()
            say(process, "run.fifth")
            process.stdin.close()
            assert process.wait(120) == 0
        first, torn, gap, last = path.read_text().splitlines()
        assert "run.first" in first
        assert torn.endswith("x")
        assert gap == ('{"event": "log.dropped", "level": "warning", "lines": 3}' if is_file else "log.dropped lines=3")
        assert "run.fifth" in last


def test_a_stderr_that_takes_nothing_ends_no_process():
    with Path("/dev/full").open("wb") as full, start(stderr=full) as process:
        say(process, "run.first", "run.second")
        process.stdin.close()
        assert process.wait(120) == 0
