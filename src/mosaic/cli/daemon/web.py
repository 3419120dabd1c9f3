"""`mosaic web`: the studio in a browser, served by a process of its own."""

from collections.abc import Sequence
from pathlib import Path

from mosaic.cli.daemon.connection import CERTIFICATE_VARIABLE, TARGET_VARIABLE, connect, current
from mosaic.spec.catalogue.extras import BROWSER
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild

MODULE = "mosaic.web"


def main(argv: Sequence[str]) -> int:
    chosen = current()
    if not any(word in ("-h", "--help") for word in argv):
        BROWSER.require("the studio in a browser")
        with connect():
            pass  # Here, where starting the daemon is told; the server itself only looks.
    reach = {TARGET_VARIABLE: chosen.target, CERTIFICATE_VARIABLE: chosen.certificate and Path(chosen.certificate)}
    PythonChild(
        module=MODULE,
        words=tuple(argv),
        keys=secret_keys.ALL,
        variables={name: str(value) for name, value in reach.items() if value},
        cwd=None,
    ).take_over()
