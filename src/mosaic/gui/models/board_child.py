"""The process that TensorBoard runs in: `python -m mosaic.gui.models.board_child WINDOW_PID …` ends with the window.

However the window ends: Linux sends SIGTERM to this process when the thread that started it is gone.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    window = int(sys.argv[1])
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    # It may have ended before that was asked for.
    if os.getppid() != window:
        return
    sys.argv = ["tensorboard", *sys.argv[2:]]
    from tensorboard.main import run_main

    run_main()


if __name__ == "__main__":
    main()
