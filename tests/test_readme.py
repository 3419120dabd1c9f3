"""Every command in the README does what it says, typed in a terminal as a newcomer would."""

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent


def commands() -> list[str]:
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", (ROOT / "README.md").read_text())
    return [line for block in blocks for line in block.splitlines() if line]


def type_in_terminal(command: str, home: Path) -> tuple[int, str]:
    """Run under a pseudo-terminal: what a person sees, not what a pipe gets."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "MOSAIC_HOME": str(home), "COLUMNS": "120"}
    with subprocess.Popen(
        ["bash", "-c", command], cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        output = b""
        while True:
            try:
                data = os.read(ours, 65536)
            except OSError:  # Linux says EIO when the other side has closed.
                break
            if not data:
                break
            output += data
        os.close(ours)
        return process.wait(), output.decode(errors="replace")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    folder = tmp_path_factory.mktemp("home")
    yield folder
    subprocess.run(
        [BIN / "mosaic", "daemon", "stop"], env={**os.environ, "MOSAIC_HOME": str(folder)}, check=False, timeout=300
    )


def test_the_readme_has_its_two_commands_and_six_next_steps() -> None:
    assert commands()[:2] == ["make run", "make test"]
    assert sum(command.startswith("mosaic ") for command in commands()) == 6


def test_the_readme_counts_the_algorithms() -> None:
    [said] = re.findall(r"\*\*(\d+) single-file algorithms\*\*", (ROOT / "README.md").read_text())
    files = {path.stem for path in (ROOT / "src/cleanrl_worker/algorithms").glob("*.py")} - {"__init__"}
    assert int(said) == len(files)


def test_make_test_is_the_whole_suite() -> None:
    """Not run here, for it would run this test."""
    assert "\n\t@tools/test.sh\n" in (ROOT / "Makefile").read_text()
    lines = (ROOT / "tools" / "test.sh").read_text().splitlines()
    [words] = [shlex.split(line) for line in lines if "pytest" in line and not line.startswith("#")]
    assert words == ["exec", ".venv/bin/pytest", "-m", "not slow and not cluster and not browser", "-n", "3", "$@"]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("command", [command for command in commands() if command != "make test"])
def test_readme_command_works(command: str, home: Path) -> None:
    if command.startswith("make") and (shutil.which("make") is None or not (ROOT / ".venv/bin/mosaic").exists()):
        pytest.skip("make and .venv are what this command is about")
    code, output = type_in_terminal(command, home)
    assert code == 0, output[-3000:]
    if command == "make run":
        for promised in ("Solved", "episodes: return", "What it made", "Try next"):
            assert promised in output
