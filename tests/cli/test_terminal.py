"""What a person at a terminal sees: no wrapped lines, Ctrl-C lets the run go on, pipes close without a traceback."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from mosaic.cli.terminal.printing import width_of

MOSAIC = str(Path(sys.executable).parent / "mosaic")
SILENT_S = 300


def at_terminal(words: list[str], columns: int, *, interrupt_after: bytes = b"", keys: bytes = b"") -> tuple[int, str]:
    """A command on a terminal of this width: its exit code and all that it drew."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "TERM": "xterm"}
    process = subprocess.Popen([MOSAIC, *words], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    if keys:
        os.write(ours, keys)
    drawn, interrupted = b"", False
    while True:
        if not select.select([ours], [], [], SILENT_S)[0]:
            process.kill()
            process.wait()
            pytest.fail(f"nothing for {SILENT_S} s after {drawn.decode()!r}")
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux reports the end of a terminal so.
            break
        drawn += piece
        if interrupt_after and not interrupted and re.search(interrupt_after, drawn):
            interrupted = True
            process.send_signal(signal.SIGINT)
    os.close(ours)
    return process.wait(), drawn.decode()


def test_ctrl_c_while_following_detaches_and_no_line_wraps(mosaic, endless, state):
    for columns in (60, 80, 120):
        code, drawn = at_terminal(["follow", endless], columns, interrupt_after=rb"(?s)(% .*){2}")
        assert code == 130
        assert "the run goes on" in drawn
        assert f"mosaic cancel {endless[-8:]}" in drawn
        # Also \r and ESC[G go back to the first column: Ctrl-C may come in the middle of a line, which is drawn again.
        lines = [re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]|\x1b\[G", drawn)]
        assert any("%" in line for line in lines)
        assert max(width_of(line) for line in lines) < columns, drawn
        assert state(endless) == "running"


def test_train_follows_on_a_terminal_until_the_end(mosaic):
    code, drawn = at_terminal(["train", "ppo", "--total-timesteps", "2000"], 80)
    assert code == 0
    assert "finished after" in drawn


def test_delete_asks_on_a_terminal(mosaic):
    run_id = mosaic("train", "ppo", "--total-timesteps", "600", "--follow", "--json").objects[-1]["run_id"]
    code, drawn = at_terminal(["delete", run_id], 80, keys=b"n\n")
    assert code == 1
    assert "nothing was deleted" in drawn
    code, drawn = at_terminal(["delete", run_id], 80, keys=b"y\n")
    assert code == 0


def test_watch_redraws_the_table(mosaic, finished):
    for _ in range(4):  # Ctrl-C comes at the moment in which the stream is being opened.
        code, drawn = at_terminal(["runs", "--watch", "--text", "short one"], 80, interrupt_after=rb"short one")
        assert code == 130
        assert "label" in drawn


def test_colours_only_on_a_terminal_and_not_with_no_color(mosaic, finished, monkeypatch):
    assert "\x1b" not in mosaic("runs").out
    assert "\x1b[32m" in at_terminal(["runs"], 100)[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in at_terminal(["runs"], 100)[1]


def test_a_reader_that_goes_away_leaves_no_traceback(mosaic, finished):
    # More than a pipe holds, so that the writer meets the closed end.
    command = f"{MOSAIC} envs --json | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines()[1] in ("0", "141")


def test_listing_runs_loads_nothing_heavy(mosaic):
    code = (
        "import sys; from mosaic.cli import main; main(['runs']);"
        "print([name for name in ('torch', 'gymnasium', 'numpy', 'rich', 'structlog') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_importing_mosaic_is_cheap():
    code = "import sys, mosaic; print([name for name in ('grpc', 'pydantic') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
