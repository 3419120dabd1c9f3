"""`python -m mosaic.assistant`: the server as a process of its own; its host ends it by closing stdin."""

import sys

from mosaic.assistant.server import make_server

ALLOW_CONTROL = "--allow-control"

if __name__ == "__main__":
    make_server(allow_control=ALLOW_CONTROL in sys.argv[1:]).run("stdio")
