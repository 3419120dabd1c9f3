"""`mosaic tensorboard` serves what was chosen, says what is wrong, and leaves no process behind."""

import json
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from .conftest import MOSAIC


@pytest.fixture
def serve(mosaic) -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """`serve("@last")` starts the command."""
    started: list[subprocess.Popen[str]] = []

    def start(*words: str) -> "subprocess.Popen[str]":
        command = [MOSAIC, "tensorboard", *words, "--json"]
        started.append(
            subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def asked(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=300) as answer:
        return json.loads(answer.read())


def test_a_named_run_is_served_until_ctrl_c(serve, finished, until):
    process = serve(finished)
    told = json.loads(process.stdout.readline())
    assert told["runs"] == [finished]
    assert told["url"].startswith("http://127.0.0.1:")
    until(lambda: asked(f"{told['url']}data/runs") == ["short one"])
    tags = asked(f"{told['url']}data/plugin/scalars/tags")["short one"]
    assert {"charts/episodic_return", "charts/SPS", "losses/value_loss"} <= set(tags)
    family = psutil.Process(process.pid).children(recursive=True)
    assert family
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(300) == 0
    assert not psutil.wait_procs(family, timeout=300)[1]


def test_new_runs_of_a_filter_appear_and_a_board_that_dies_is_told(serve, mosaic, finished, until):
    process = serve("--text", "board", "--limit", "0")
    assert process.wait(300) == 2
    assert "no run matches" in process.stderr.read()
    mosaic("train", "ppo", "--total-timesteps", "600", "--label", "board one", "--follow")
    process = serve("--text", "board")
    url = json.loads(process.stdout.readline())["url"]
    mosaic("train", "ppo", "--total-timesteps", "600", "--label", "board two", "--follow")
    until(lambda: sorted(asked(f"{url}data/runs")) == ["board one", "board two"])
    (board, *_) = psutil.Process(process.pid).children()
    board.kill()
    assert process.wait(300) == 1
    assert "TensorBoard was killed by SIGKILL" in process.stderr.read()


def test_a_port_that_is_taken_and_flags_that_contradict_are_told(serve, mosaic, finished):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = serve(finished, "--port", str(taken.getsockname()[1]))
        assert process.wait(300) == 1
        said = process.stderr.read()
    assert "TensorBoard ended with exit code" in said
    assert "in use" in said
    assert mosaic("tensorboard", finished, "--text", "x").code == 2
    assert mosaic("tensorboard", "--port", "70000").code == 2
    assert mosaic("tensorboard", "no such run").code == 2
    assert mosaic("--target", "127.0.0.1:1", "tensorboard").code == 2
