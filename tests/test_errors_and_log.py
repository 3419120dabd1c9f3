"""The tree in errors.py is the tree there is; logs are JSON lines in files and key=value on terminals."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from inspect import getmembers, isclass
from pathlib import Path

import pytest

from mosaic import errors, log
from mosaic.errors import ConfigError, HomeUnusable, MissingExtra, MosaicError, Problem, RunNotFound, UnknownAlgorithm
from mosaic.installation import install_line


@pytest.fixture(autouse=True)
def default_logging() -> Iterator[None]:
    yield
    log.configure()


def drawn_tree() -> dict[str, str]:
    """Each class in the docstring's drawing, and the one that it hangs from."""
    assert errors.__doc__
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in errors.__doc__.splitlines():
        if found := re.match(r"([│├└─ ]*)([A-Z]\w+)(?: {2,}|$)", line):
            depth = len(found[1]) // 4
            branch[depth:] = [found[2]]
            parents[found[2]] = branch[depth - 1] if depth else "Exception"
    return parents


def defined_tree() -> dict[str, str]:
    return {
        name: member.__bases__[0].__name__
        for name, member in getmembers(errors, isclass)
        if issubclass(member, BaseException) and member.__module__ == errors.__name__
    }


def test_the_drawn_tree_is_the_tree_of_classes() -> None:
    assert drawn_tree() == defined_tree()


def test_every_error_has_an_exit_code_that_says_failure() -> None:
    for name in defined_tree():
        assert 1 <= getattr(errors, name).exit_code <= 125


def test_a_config_error_lists_every_problem() -> None:
    error = ConfigError([Problem("a.b", "is missing"), Problem("", "not JSON")], what="run config")
    assert str(error) == "run config: 2 problems\n  a.b: is missing\n  not JSON"
    assert str(ConfigError([Problem("a", "is missing")])).startswith("config: 1 problem\n")


def test_an_unknown_name_says_what_is_near_and_what_to_do() -> None:
    assert str(UnknownAlgorithm("poo", ["ppo", "pqn"])) == (
        "algorithm 'poo' is not known; did you mean ppo or pqn? 'mosaic algos' lists what there is"
    )
    assert str(RunNotFound("01K9")) == "run '01K9' is not known; 'mosaic runs' lists what is in this home"


def test_a_missing_extra_says_how_to_install_it() -> None:
    assert str(MissingExtra("ALE/Pong-v5", "atari")) == f"ALE/Pong-v5 needs the extra 'atari': {install_line('atari')}"


def test_every_error_is_a_mosaic_error() -> None:
    assert all(issubclass(getattr(errors, name), MosaicError) for name in defined_tree())


LOG_SOME = """
import sys
from pathlib import Path
from mosaic import log
log.configure(level="info", file=Path(sys.argv[1]) if len(sys.argv) > 1 else None)
logger = log.get_logger(run_id="R1")
logger.debug("run.detail")
logger.info("run.started", algo="ppo", note="two words\\nand é", step=3)
def divide(by, api_key):
    return 1 / by
try:
    divide(0, "a secret " * 2)
except ZeroDivisionError:
    logger.exception("run.failed")
"""


def log_some(*argv: str) -> subprocess.CompletedProcess[str]:
    # In a process of its own, which is what owns a log file for its whole life.
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(
        [sys.executable, "-c", LOG_SOME, *argv], capture_output=True, encoding="utf-8", check=True, env=environment
    )


def test_a_log_file_is_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "new" / "daemon.log"
    for _ in range(2):
        done = log_some(str(file))
        assert (done.stdout, done.stderr) == ("", "")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["event"] for line in lines] == ["run.started", "run.failed"] * 2
    started, failed = lines[:2]
    assert started["note"] == "two words\nand é"
    assert (started["run_id"], started["algo"], started["step"], started["level"]) == ("R1", "ppo", 3, "info")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", started["timestamp"])
    assert failed["exception"][0]["exc_type"] == "ZeroDivisionError"


def test_a_terminal_gets_key_value_lines_on_stderr() -> None:
    done = log_some()
    assert done.stdout == ""
    assert "run.detail" not in done.stderr
    first = done.stderr.splitlines()[0]
    assert "run.started" in first
    assert "algo=ppo" in first
    assert "run_id=R1" in first
    assert "step=3" in first
    assert "ZeroDivisionError" in done.stderr
    assert "\x1b" not in done.stderr


def test_a_log_beside_the_terminal_has_everything_and_the_terminal_what_matters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gui" / "window.log"
    log.configure(beside=file)
    try:
        log.get_logger().info("window.shown")
        log.get_logger().warning("window.slow")
    finally:
        log.configure()
    assert [json.loads(line)["event"] for line in file.read_text().splitlines()] == ["window.shown", "window.slow"]
    said = capsys.readouterr().err
    assert "window.slow" in said
    assert "window.shown" not in said


def test_a_process_that_asks_for_no_log_logs_between_what_it_prints() -> None:
    said = "from mosaic import log; print('one'); log.get_logger().info('run.two'); print('three')"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert re.fullmatch(r"one\n.* \[info     \] run.two *\nthree\n", done.stdout)


def test_a_traceback_shows_no_local_variables(tmp_path: Path) -> None:
    log_some(str(tmp_path / "log"))
    for written in (log_some().stderr, (tmp_path / "log").read_text()):
        assert "ZeroDivisionError" in written
        assert "a secret a secret" not in written


def test_the_log_follows_a_replaced_stderr(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    log.configure()
    logger = log.get_logger()
    logger.info("run.before")
    assert "run.before" in capsys.readouterr().err
    monkeypatch.setattr(sys, "stderr", sys.stdout)
    logger.info("run.after")
    assert "run.after" in capsys.readouterr().out


def test_the_level_hides_what_is_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure(level="WARNING")
    log.get_logger().info("run.quiet")
    log.get_logger().warning("run.loud")
    shown = capsys.readouterr().err
    assert "run.loud" in shown
    assert "run.quiet" not in shown


def test_bound_context_is_on_every_line(capsys: pytest.CaptureFixture[str]) -> None:
    log.configure()
    logger = log.get_logger(run_id="R2")
    logger.info("run.started", slot=1)
    assert "run_id=R2" in capsys.readouterr().err
    logger.warning("run.ended", slot=1)
    shown = capsys.readouterr().err
    assert "run_id=R2" in shown
    assert "slot=1" in shown


def test_a_log_file_that_cannot_be_opened_makes_the_home_unusable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for impossible in (tmp_path / "file" / "daemon.log", tmp_path):
        with pytest.raises(HomeUnusable, match=re.escape(str(impossible))):
            log.configure(file=impossible)
