"""A process is its pid, start time, boot and host together."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mosaic.errors import ConfigError
from mosaic.spec.processes import process_identity

RUN_UNTIL_STDIN_CLOSES = [sys.executable, "-c", "import sys; sys.stdin.read()"]


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(RUN_UNTIL_STDIN_CLOSES, stdin=subprocess.PIPE) as process:
        yield process


def test_this_process_is_alive_and_its_file_says_who_it_is(tmp_path: Path) -> None:
    process_identity.write_self(tmp_path / "worker.json", attempt=3)
    written = process_identity.read(tmp_path / "worker.json")
    assert written == process_identity.identify(os.getpid(), attempt=3)
    assert written.is_alive


def test_a_process_that_ended_is_not_alive_not_even_as_a_zombie(child: "subprocess.Popen[bytes]") -> None:
    who = process_identity.identify(child.pid)
    assert who.is_alive
    assert child.stdin
    child.stdin.close()
    # Wait for the end without reaping it, so that a zombie is left.
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not who.is_alive
    child.wait()
    assert not who.is_alive


def test_another_process_with_the_same_pid_is_not_it() -> None:
    me = process_identity.identify(os.getpid())
    for other in (
        replace(me, start_time=me.start_time - 5),
        replace(me, boot_id="another boot"),
        replace(me, host="another machine"),
        replace(me, pid=2**22 + 1),
    ):
        assert not other.is_alive


@pytest.mark.parametrize("text", ["", "{}", '{"pid": "1"}', "[]", '{"pid": 1, "sta'])
def test_a_broken_file_is_a_config_error_that_names_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "worker.json"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"worker\.json"):
        process_identity.read(path)
