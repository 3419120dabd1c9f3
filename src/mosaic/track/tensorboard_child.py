"""The process that TensorBoard runs in: `python -m mosaic.track.tensorboard_child PARENT_PID …` ends with its parent.

However the parent ends: on Linux, when the thread that started this process is gone; elsewhere within a second.
"""

import os
import re
import sys
from pathlib import Path

from mosaic.operating_system import end_with_parent
from mosaic.spec.processes.python_child import PythonChild

RELOAD_S = 3
"""Between two looks of TensorBoard at its folder."""
ADDRESS = re.compile(r"TensorBoard \S+ at (http://\S+)")
"""What it prints once it can be asked."""
PACKAGE = "tensorboard"
MISSING = f"No module named '{PACKAGE}'"


def child(*options: str) -> PythonChild:
    """Of this process."""
    return PythonChild(module="mosaic.track.tensorboard_child", words=(str(os.getpid()), *options))


def options(folder: Path, port: int = 0) -> list[str]:
    """On this machine only; port 0 is any that is free."""
    return [
        *("--logdir", str(folder)),
        *("--host", "127.0.0.1"),
        *("--port", str(port)),
        *("--reload_interval", str(RELOAD_S)),
    ]


def main() -> None:
    parent = int(sys.argv[1])
    end_with_parent(parent)
    # It may have ended before that was asked for.
    if os.getppid() != parent:
        return
    sys.argv = ["tensorboard", *sys.argv[2:]]
    from tensorboard.main import run_main

    run_main()


if __name__ == "__main__":
    main()
