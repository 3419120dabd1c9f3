"""`mosaic mcp`: answer a person's assistant by the Model Context Protocol, on stdin and stdout."""

import sys
from collections.abc import Sequence

from mosaic.cli.daemon.connection import CERTIFICATE_VARIABLE, TARGET_VARIABLE, BadArguments, Parser, current
from mosaic.spec.catalogue.extras import ASSISTANT
from mosaic.spec.processes import secret_keys
from mosaic.spec.processes.python_child import PythonChild

MODULE = "mosaic.assistant"


def main(argv: Sequence[str]) -> int:
    words = Parser(prog="mosaic mcp", description="Answer an assistant by the Model Context Protocol (docs/mcp.md).")
    words.add_argument("--allow-control", action="store_true", help="it may start, end and evaluate runs and sweeps")
    flags = words.parse_args(argv)
    ASSISTANT.require("answering an assistant")
    if sys.stdin.isatty():
        raise BadArguments(
            "'mosaic mcp' talks to a program, not to a person: name it to your assistant as the command to start;"
            " docs/mcp.md says how"
        )
    chosen = current()
    reach = {TARGET_VARIABLE: chosen.target, CERTIFICATE_VARIABLE: chosen.certificate}
    PythonChild(
        module=MODULE,
        words=("--allow-control",) if flags.allow_control else (),
        keys=secret_keys.ALL,
        variables={name: str(value) for name, value in reach.items() if value},
        cwd=None,
    ).take_over()
