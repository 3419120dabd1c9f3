"""The wheel stands alone: built, installed where no checkout is, and used there (`tools/wheel_check.py`)."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.slow
def test_the_wheel_stands_alone() -> None:
    """With this environment's packages: `make wheel-check` does the same with an installation of its own.

    CI runs it by itself, after the suite: it builds and starts a whole installation.
    """
    command = [sys.executable, str(ROOT / "tools" / "wheel_check.py"), "--borrow"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("ok: the wheel stands alone\n")
