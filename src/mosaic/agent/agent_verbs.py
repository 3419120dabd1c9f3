"""The program `python -m mosaic.agent`: what the daemon types on another machine. It answers with one line of JSON.

prepare --scratch FOLDER    make the folders; which version and which machine this is
start                       start the agent that the order on stdin describes, unless it lives already
run FOLDER                  be that agent
"""

import argparse
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from mosaic import __version__, config, log, operating_system
from mosaic.agent.agent_folder import AgentFolder, Order, make_private, remove_dead_sockets, scratch_of, sockets_of
from mosaic.errors import MosaicError
from mosaic.spec.files.shared_files import is_locked
from mosaic.spec.processes.python_child import PythonChild


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m mosaic.agent")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("prepare").add_argument("--scratch", required=True)
    verbs.add_parser("start")
    verbs.add_parser("run").add_argument("folder", type=Path)
    flags = parser.parse_args()
    try:
        if flags.verb == "run":
            return _run(AgentFolder(flags.folder))
        answer = _prepare(flags.scratch) if flags.verb == "prepare" else _start()
    except MosaicError as error:
        sys.stderr.write(f"error: {error.sentence}\n")
        return error.exit_code
    sys.stdout.write(json.dumps(answer) + "\n")
    return 0


def _prepare(scratch: str) -> dict[str, Any]:
    folder = scratch_of(scratch)
    make_private(folder)
    sockets = sockets_of(folder)
    remove_dead_sockets(sockets)
    return {
        "version": __version__,
        "sockets": str(sockets),
        "cores": operating_system.available_cores(),
        "free_bytes": shutil.disk_usage(folder).free,
    }


def _start() -> dict[str, Any]:
    order = config.from_json_text(Order, sys.stdin.buffer.read(), what="the order on stdin")
    folder = AgentFolder.of(order)
    folder.write_order(order)
    if is_locked(folder.lock):
        return {"already": True}
    child = PythonChild(module="mosaic.agent", words=("run", str(folder.root)))
    process = child.start_apart(folder.log)
    process.returncode = 0  # It outlives us, and Popen would warn.
    return {"agent_pid": process.pid}


def _run(folder: AgentFolder) -> int:
    # Only here: the other verbs answer before it is loaded.
    from mosaic.agent.run_agent import RunAgent
    from mosaic.errors import InvalidTransition
    from mosaic.spec.files.shared_files import one_at_a_time

    log.configure(file=folder.log)
    busy = InvalidTransition(f"an agent works in {folder.root} already")
    with one_at_a_time(folder.lock, busy=busy):
        os.chdir("/")
        RunAgent(folder, folder.read_order()).serve()
    return 0
