"""`python -m mosaic.gui`: the window as a process of its own."""

import sys

from mosaic.gui.app import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
