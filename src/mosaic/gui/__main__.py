"""`python -m mosaic.gui`: the window as a process of its own."""

import signal
import sys

if __name__ == "__main__":
    # Until there is a window, Ctrl-C ends the process: an exception could be lost in a call of Qt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)

    from mosaic.gui.app import main

    sys.exit(main(sys.argv[1:]))
