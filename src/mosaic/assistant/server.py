"""The server with its tools."""

from importlib import metadata

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

from mosaic.assistant import changing, looking
from mosaic.installation import DISTRIBUTION

LOOKING = """\
MOSAIC trains reinforcement-learning agents. A run is one training, with one seed; runs over seeds form a group.
A run is named by its id, the beginning or end of that, its label, or @last for the newest, @last-1 for the one before.
Results over fewer than five seeds have no interval: say so rather than calling one run better than another.
"""
ONLY_LOOKING = "Nothing can be started or ended here: the user allows it with 'mosaic mcp --allow-control'.\n"
CHANGING = "Runs can be started and ended. Ask the user before you end what you did not start.\n"


def make_server(*, allow_control: bool) -> "MCPServer[object]":
    server: MCPServer[object] = MCPServer(
        "mosaic",
        title="MOSAIC",
        instructions=LOOKING + (CHANGING if allow_control else ONLY_LOOKING),
        version=metadata.version(DISTRIBUTION),
        log_level="WARNING",
    )
    for tool in looking.TOOLS:
        server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=True), structured_output=False)
    if allow_control:
        for tool in changing.TOOLS:
            server.add_tool(tool, annotations=ToolAnnotations(read_only_hint=False), structured_output=False)
    return server
